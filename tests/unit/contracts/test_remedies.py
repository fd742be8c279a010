import pytest

from gpuward.contracts.remedies import Remedy, Severity, more_disturbing


def test_the_order_of_remedies_is_how_much_they_disturb():
    assert Remedy.RESET_GPU.rank < Remedy.REBOOT_NODE.rank < Remedy.POWER_CYCLE_NODE.rank < Remedy.REPLACE_NODE.rank
    assert Severity.INFO.rank < Severity.CRITICAL.rank


@pytest.mark.parametrize("mild", [Remedy.OBSERVE, Remedy.RESTART_APP, Remedy.RESTART_SERVICE, Remedy.APPLY_CONFIG])
def test_mild_remedies_need_no_token(mild):
    assert not mild.disturbs


def test_asking_a_person_cordons_and_beats_every_automatic_remedy():
    assert Remedy.ASK_PERSON.disturbs
    assert more_disturbing(Remedy.ASK_PERSON, Remedy.POWER_CYCLE_NODE) is Remedy.ASK_PERSON
    assert more_disturbing(Remedy.RESET_GPU, Remedy.REBOOT_NODE) is Remedy.REBOOT_NODE
