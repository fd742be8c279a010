import socket
from pathlib import Path

from gpuward.local.ports import choose_ports, is_free


def test_ports_are_distinct_and_kept_from_the_last_run():
    first = choose_ports(["kafka", "temporal", "ui"], {})
    assert len(set(first.values())) == 3
    assert choose_ports(["kafka", "temporal", "ui"], first) == first


def test_a_port_that_someone_took_meanwhile_is_replaced_and_the_others_stay():
    first = choose_ports(["kafka", "temporal"], {})
    with socket.create_server(("127.0.0.1", first["kafka"])):
        assert not is_free(first["kafka"])
        second = choose_ports(["kafka", "temporal"], first)
    assert second["temporal"] == first["temporal"]
    assert second["kafka"] != first["kafka"]


def test_a_client_that_hammers_a_closed_port_is_never_given_it():
    # Within the ephemeral range this connects to itself sooner or later, and then the server can't bind.
    first_ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    assert all(port < first_ephemeral for port in choose_ports(map(str, range(20)), {}).values())


def test_two_names_that_claim_one_previous_port_get_two():
    (port,) = choose_ports(["a"], {}).values()
    assert len(set(choose_ports(["a", "b"], {"a": port, "b": port}).values())) == 2
