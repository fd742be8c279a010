"""The catalogues row by row, against the tables that people read."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from gpuward.contracts.catalogue import nvlink4, nvlink5
from gpuward.contracts.catalogue.sxids import SxidSeverity, is_fatal, sxid, sxids
from gpuward.contracts.catalogue.xids import XidAction, XidSeverity, xid, xids


def cells(name: str) -> list[dict[str, str]]:
    text = (files("gpuward.contracts.catalogue") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.parametrize("row", cells("xid.csv"), ids=lambda row: row["code"])
def test_each_xid(row):
    found = xid(int(row["code"]))
    assert found.known
    assert found.mnemonic == row["mnemonic"]
    assert found.description
    assert found.source
    assert found.severity == row["severity"]
    published = row["immediate_action"] or row["default_action"] or "CONTACT_SUPPORT"
    assert found.action == published


@pytest.mark.parametrize("row", cells("sxid.csv"), ids=lambda row: row["code"])
def test_each_sxid(row):
    found = sxid(int(row["code"]))
    assert found is not None
    assert (found.mnemonic, found.severity, found.action) == (row["mnemonic"], row["severity"], row["action"])
    assert is_fatal(found.code, None) == (found.severity is SxidSeverity.FATAL)
    assert is_fatal(found.code, "fatal")
    assert not is_fatal(found.code, "non_fatal")


@pytest.mark.parametrize("row", nvlink5.decode_rows(), ids=lambda row: f"{row.xid}-{row.v1.unit}-{row.error_status}")
@pytest.mark.parametrize("driver", [570, 575, None])
def test_each_nvlink5_row_decodes_to_itself(row, driver):
    layout = row.v1 if driver == 570 else row.v2
    status = row.error_status[0] if row.error_status else 0xDEAD
    found = nvlink5.decode(row.xid, (layout.first.value, status, 0, 0), unit=layout.unit, driver_major=driver)
    assert found.action is row.action
    assert found.row is not None
    assert layout.unit in (found.row.v1.unit, found.row.v2.unit)


def test_sizes():
    assert (len(xids()), len(sxids()), len(nvlink5.decode_rows()), len(nvlink4.bit_rules())) == (176, 400, 95, 42)


@pytest.mark.parametrize(
    ("code", "action", "severity"),
    [
        (79, XidAction.RESTART_BM, XidSeverity.FATAL),
        (48, XidAction.WORKFLOW_XID_48, XidSeverity.CRITICAL),
        (31, XidAction.RESTART_APP, XidSeverity.WARN),
        (43, XidAction.IGNORE, XidSeverity.INFO),
        (154, XidAction.XID_154, XidSeverity.DECODE),
        (163, XidAction.DRAIN_AND_RESET_WHEN_IDLE, XidSeverity.DEGRADED),
        (175, XidAction.RESET_GPU, XidSeverity.CRITICAL),
    ],
)
def test_the_codes_that_matter_most(code, action, severity):
    assert (xid(code).action, xid(code).severity) == (action, severity)


def test_an_unknown_xid_asks_a_person():
    found = xid(999)
    assert not found.known
    assert found.action is XidAction.CONTACT_SUPPORT


def test_second_action_wins_where_its_mask_matches():
    assert nvlink5.decode(145, (0x4C2, 1), driver_major=570).action is XidAction.RESET_GPU
    assert nvlink5.decode(145, (0x0C2, 1), driver_major=570).action is XidAction.IGNORE
    assert nvlink5.decode(145, (0x086, 1), driver_major=580).action is XidAction.RESET_GPU


def test_fatal_in_the_line_is_not_the_action():
    found = nvlink5.decode(149, (0x026001C6, 0), unit="NETIR_LINK_EVT")
    assert found.action is XidAction.IGNORE
    assert nvlink5.decode(149, (0x020001C6, 0), unit="NETIR_LINK_EVT").sympathetic


@pytest.mark.parametrize("registers", [(), (0xFFFFFFFF,), (0x3FF, 0x12345)])
def test_what_no_row_decodes_asks_a_person(registers):
    assert nvlink5.decode(145, registers) == (XidAction.CONTACT_SUPPORT, None)


def test_nvlink4_words():
    rule = nvlink4.Nvlink4Rule
    assert nvlink4.decode_words((0,) * 7) == ()
    assert nvlink4.decode_words((0b10001, 0, 0, 0, 0, 0, 0)) == (rule.VENDOR_IF_MORE_THAN_2, rule.IGNORE)
    assert nvlink4.decode_words((0, 0, 1 << 31)) == (rule.VENDOR,)
    assert nvlink4.decode_words((0, 0, 0, 1 << 18)) == (rule.RESET_FABRIC_IF_ALONE,)
