from datetime import UTC, datetime

import pytest

from gpuward.contracts.envelope import Envelope

NOW = datetime(2026, 3, 2, 9, 0, 0, 5000, tzinfo=UTC)


@pytest.mark.parametrize("trace", [None, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"])
def test_headers_carry_the_whole_envelope(trace):
    envelope = Envelope(id="1", type="gpuward.fault.raised", source="streams/a", time=NOW, traceparent=trace)
    assert Envelope.from_headers(envelope.to_headers()) == envelope


def test_a_record_without_envelope_says_what_is_missing():
    with pytest.raises(ValueError, match="no ce_id, ce_time"):
        Envelope.from_headers([("ce_type", b"x"), ("ce_source", b"y")])
