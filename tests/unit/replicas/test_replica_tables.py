"""Which process is which replica."""

import pytest

from runtime.replicas.table import Replica, ReplicaTable, TooFewHosts, replica_table


@pytest.mark.parametrize("sizes", [[4, 4], [1, 2, 2, 1], [2, 1, 3], [3, 3, 3], [1] * 12])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_no_host_has_two_replicas_of_a_rank(sizes: list[int], replicas: int) -> None:
    if sum(sizes) % replicas or max(sizes) > sum(sizes) // replicas:
        with pytest.raises(TooFewHosts):
            replica_table(sizes, replicas)
        return
    table = replica_table(sizes, replicas)
    hosts = [host for host, size in enumerate(sizes) for _ in range(size)]
    for rank in range(table.ranks):
        processes = table.processes_of(rank)
        assert len({hosts[one] for one in processes}) == replicas
    everybody = {table.replica_at(process) for process in range(sum(sizes))}
    assert everybody == {Replica(r, n) for r in range(table.ranks) for n in range(replicas)}


def test_the_first_replicas_of_all_ranks_come_before_the_second_ones() -> None:
    table = ReplicaTable(ranks=3, replicas=2)
    assert table.replica_at(5) == Replica(2, 1)
    assert (table.rank_of(5), table.processes_of(2)) == (2, (2, 5))


def test_the_host_with_too_many_processes_is_named() -> None:
    with pytest.raises(TooFewHosts) as caught:
        replica_table([1, 3], 2)
    assert caught.value.host == 1
    with pytest.raises(TooFewHosts, match="5 processes cannot be 2 replicas") as caught:
        replica_table([5], 2)
    assert caught.value.host is None
