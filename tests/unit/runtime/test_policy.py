import pytest

from gpuward.contracts.errors import Permanent
from gpuward.contracts.remedies import Remedy
from gpuward.runtime import policy


def test_the_shipped_policy_disturbs_nothing_until_a_pool_is_switched():
    shipped = policy.load()
    assert [pool.mode for pool in shipped.pools] == ["watch"]
    assert shipped.faults[-1].classes == ("*",)
    assert shipped.faults[-1].ladder == (Remedy.OBSERVE,)


def test_the_version_is_the_content(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("pools: []\n")
    first = policy.load(file).version
    file.write_text("pools: []\n\n")
    assert first != policy.load(file).version


@pytest.mark.parametrize(
    ("text", "said"),
    [("pools: [", "is not YAML"), ("pool: []", "is not a policy"), ("faults: [{classes: [a]}]", "is not a policy")],
)
def test_a_wrong_file_is_said_in_a_sentence(tmp_path, text, said):
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(Permanent, match=said):
        policy.load(file)


def test_a_missing_file_is_said_in_a_sentence(tmp_path):
    with pytest.raises(Permanent, match="cannot be read: No such file"):
        policy.load(tmp_path / "none.yaml")
