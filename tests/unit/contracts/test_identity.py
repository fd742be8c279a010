import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from gpuward.contracts.identity import Entity, EntityKind, GpuId, Slot

UUID = "GPU-11111111-2222-3333-4444-555555555555"


@pytest.mark.parametrize(
    "text",
    ["PCI:0000:03:00", "0000:03:00.0", "00000000:03:00.0", "03:00.0", "0000:03:00", "pci:0000:03:00".upper()],
)
def test_every_form_of_a_pci_address_has_one_normal_form(text):
    assert Slot.parse(text) == "0000:03:00.0"


def test_domains_above_zero_and_functions_are_kept():
    assert Slot.parse("PCI:0018:01:00.2") == "0018:01:00.2"


@pytest.mark.parametrize("text", ["", "03:00:zz", "GPU-0", "0000:03:00.9", "0000:03"])
def test_what_is_not_a_pci_address_is_refused(text):
    with pytest.raises(ValueError, match="not a PCI address"):
        Slot.parse(text)


@given(st.integers(0, 0xFFFF), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7))
def test_parsing_a_normal_form_changes_nothing(domain, bus, device, function):
    normal = f"{domain:04x}:{bus:02x}:{device:02x}.{function}"
    assert Slot.parse(normal) == normal


def test_an_entity_is_its_workflow_id():
    entity = Entity.gpu(UUID)
    assert (str(entity), entity.kind, entity.name) == (f"gpu/{UUID}", EntityKind.GPU, UUID)
    assert Entity.remediation("n1", "p1", 2) == "remediation/n1/p1/2"


@pytest.mark.parametrize("text", ["gpu", "gpu/", "car/x", "gpu/ x", "../etc/passwd"])
def test_an_entity_follows_its_grammar(text):
    with pytest.raises(ValueError, match="is not a Entity"):
        Entity(text)


def test_ids_are_checked_where_they_come_in_and_are_strings_where_they_go_out():
    adapter = TypeAdapter(GpuId)
    assert adapter.dump_json(adapter.validate_python(UUID)) == f'"{UUID}"'.encode()
    with pytest.raises(ValidationError):
        adapter.validate_python("GPU-upper-CASE")
