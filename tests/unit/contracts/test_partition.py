from hypothesis import given
from hypothesis import strategies as st

from gpuward.contracts.partition import murmur2, partition_of
from gpuward.contracts.topics import INVENTORY, TOPICS


def test_known_hashes_of_the_java_client():
    # From Apache Kafka's own UtilsTest: murmur2 as a signed 32-bit number.
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}
    assert {key: (murmur2(key) ^ 0x80000000) - 0x80000000 for key in known} == known


@given(st.binary(max_size=64), st.integers(1, 64))
def test_a_partition_is_always_one_of_them(key, partitions):
    assert 0 <= partition_of(key, partitions) < partitions


def test_all_sources_of_one_node_meet_on_one_partition():
    topic = TOPICS[INVENTORY]
    assert topic.partition(b"n1|simulated") == topic.partition(b"n1|aws") == partition_of(b"n1", topic.partitions)
