import pytest

from gpuward.contracts.errors import Permanent
from gpuward.runtime import settings


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    import os

    for name in [name for name in os.environ if name.startswith("GPUWARD_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_the_environment_beats_the_file_and_the_file_beats_the_defaults(monkeypatch, tmp_path):
    (tmp_path / "gpuward.toml").write_text('log_level = "debug"\nagent_tick_s = 3\n[kafka]\nbootstrap = "k:1"\n')
    monkeypatch.setenv("GPUWARD_AGENT_TICK_S", "7")
    found = settings.load(tmp_path)
    assert (found.log_level, found.agent_tick_s, found.kafka.bootstrap) == ("debug", 7, "k:1")


def test_run_json_fills_what_nobody_set(monkeypatch, tmp_path):
    (tmp_path / "run.json").write_text('{"kafka": "127.0.0.1:1", "temporal": "127.0.0.1:2", "temporal_ui": "http://x"}')
    assert settings.load(tmp_path).kafka.bootstrap == "127.0.0.1:1"
    assert settings.load(tmp_path).temporal.ui == "http://x"
    monkeypatch.setenv("GPUWARD_TEMPORAL_ADDRESS", "cloud:7233")
    assert settings.load(tmp_path).temporal.address == "cloud:7233"


def test_a_missing_file_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUWARD_CONFIG", str(tmp_path / "no.toml"))
    with pytest.raises(Permanent, match=r"no\.toml, which is not a file"):
        settings.load()


def test_a_secret_comes_from_its_file_and_is_not_shown(tmp_path):
    (tmp_path / "password").write_text("hunter2\n")
    found = settings.KafkaSettings(sasl_password_file=tmp_path / "password")
    assert found.sasl_password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(found)
