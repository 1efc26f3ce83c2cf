"""Communicators that are derived on grids: split, joined, arranged, duplicated and freed."""

from __future__ import annotations

import pytest

from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


HEAD = "from runtime import MPI\nworld = MPI.COMM_GRID\n"


def test_a_grid_is_split_by_cluster_and_by_site(grid: Grid) -> None:
    said = grid(
        "1+2|3",
        HEAD
        + """
def ranks(comm):
    if comm == MPI.COMM_NULL:
        return "none"
    return comm.group.Translate_ranks(None, world.group)

print("cluster", ranks(world.Split_type(MPI.COMM_TYPE_CLUSTER)))
print("site", ranks(world.Split_type(MPI.COMM_TYPE_SITE, key=-world.rank)))
mine = MPI.UNDEFINED if world.rank == 2 else MPI.COMM_TYPE_SITE
print("some", ranks(world.Split_type(mine)))
inside = MPI.UNDEFINED if world.rank == 5 else MPI.COMM_TYPE_CLUSTER
print("inside", ranks(MPI.COMM_CLUSTER.Split_type(inside)))
site = world.Split_type(MPI.COMM_TYPE_SITE)
print("again", ranks(site.Split_type(MPI.COMM_TYPE_SITE)), site.allgather(world.rank))
""",
    )
    site = ["some [0, 1]", "again [0, 1, 2] [0, 1, 2]"]
    assert said[0] == ["cluster [0]", "site [2, 1, 0]", site[0], "inside [0]", site[1]]
    assert said[1] == ["cluster [1, 2]", "site [2, 1, 0]", site[0], "inside [1, 2]", site[1]]
    assert said[2] == ["cluster [1, 2]", "site [2, 1, 0]", "some none", "inside [1, 2]", site[1]]
    rest = ["cluster [3, 4, 5]", "site [5, 4, 3]", "some [3, 4, 5]", "inside [3, 4]"]
    assert said[3] == said[4] == [*rest, "again [3, 4, 5] [3, 4, 5]"]
    assert said[5] == [*rest[:3], "inside none", "again [3, 4, 5] [3, 4, 5]"]


@on("1+1")
def test_different_types_at_once_are_refused(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
try:
    world.Split_type([MPI.COMM_TYPE_CLUSTER, MPI.COMM_TYPE_SITE][world.rank])
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_ARG)
""",
    )
    assert said == {0: ["True"], 1: ["True"]}


@on("2+2")
def test_disjoint_groups_make_communicators_at_once(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
mine = world.group.Incl([0, 3] if world.rank in (0, 3) else [2, 1])
for made in (world.Create(mine), world.Create_group(mine), MPI.Intracomm.Create_from_group(mine)):
    print(made.rank, made.allgather(world.rank))
    made.Free()
""",
    )
    assert said[0] == ["0 [0, 3]"] * 3
    assert said[1] == ["1 [2, 1]"] * 3
    assert said[2] == ["0 [2, 1]"] * 3
    assert said[3] == ["1 [0, 3]"] * 3


@on("1+1")
def test_messages_of_communicators_do_not_meet(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
comms = [world, world.Dup(), world.Split(0), world.Create_group(world.group)]
comms += [comms[1].Dup(), world.Create_cart([2])]
other = 1 - world.rank
requests = [comm.isend(number, other) for number, comm in enumerate(comms)]
print([comm.recv(source=other) for comm in reversed(comms)])
MPI.Request.waitall(requests)
""",
    )
    assert said == {0: ["[5, 4, 3, 2, 1, 0]"], 1: ["[5, 4, 3, 2, 1, 0]"]}


def test_two_groups_talk_over_clusters_and_inside_them(grid: Grid) -> None:
    said = grid(
        "1+3",
        HEAD
        + """
def report(comm, first, last):
    mine = comm.Split(comm.rank in first)
    leader = last[0] if comm.rank in first else first[0]
    both = mine.Create_intercomm(0, comm, leader)
    print(both.size, both.remote_size, both.allgather(world.rank), end=" ")
    one = both.Merge(comm.rank in first)
    print(one.allgather(world.rank), both.Dup().Compare(both) == MPI.CONGRUENT)

report(world, [0, 2], [1, 3])
if world.rank > 0:
    report(MPI.COMM_CLUSTER, [0], [1, 2])
""",
    )
    assert said[0] == ["2 2 [1, 3] [1, 3, 0, 2] True"]
    assert said[1] == ["2 2 [0, 2] [1, 3, 0, 2] True", "1 2 [2, 3] [2, 3, 1] True"]
    assert said[2] == ["2 2 [1, 3] [1, 3, 0, 2] True", "2 1 [1] [2, 3, 1] True"]
    assert said[3] == ["2 2 [0, 2] [1, 3, 0, 2] True", "2 1 [1] [2, 3, 1] True"]


@on("2+2")
def test_a_pending_receive_of_any_tag_takes_nothing_of_an_intercommunicator(
    shared: SharedGrid,
) -> None:
    said = shared(
        HEAD
        + """
for peer in (MPI.COMM_CLUSTER, world):
    other = (peer.rank + 1) % peer.size
    room = bytearray(3)
    pending = peer.Irecv(room, MPI.ANY_SOURCE, MPI.ANY_TAG)
    both = MPI.COMM_SELF.Create_intercomm(0, peer, peer.rank ^ 1, 7)
    peer.Send(b"abc", other, 9)
    status = MPI.Status()
    pending.Wait(status)
    print(both.allgather(world.rank), bytes(room).decode(), status.tag)
""",
    )
    assert said == {rank: [f"[{rank ^ 1}] abc 9"] * 2 for rank in range(4)}


@on("2+2")
def test_leaders_refuse_a_tag_that_no_message_may_have(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
for peer in (MPI.COMM_CLUSTER, world):
    try:
        MPI.COMM_SELF.Create_intercomm(0, peer, peer.rank ^ 1, -7)
    except MPI.Exception as error:
        print(error.Get_error_class() == MPI.ERR_TAG)
""",
    )
    assert said == {rank: ["True"] * 2 for rank in range(4)}


@on("2+2")
def test_nobody_waits_for_a_leader_who_gave_up(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
for mine in (MPI.COMM_CLUSTER, world.Split(world.rank % 2)):
    try:
        mine.Create_intercomm(0, world, 99)
    except MPI.Exception as error:
        print(error.Get_error_class() == MPI.ERR_RANK)
    except Exception as error:
        print(error)
""",
    )
    text = "rank 0 could not agree with the other group. It raised an error that says why"
    assert said == {0: ["True"] * 2, 1: [text, "True"], 2: ["True", text], 3: [text] * 2}


@on("2+2")
def test_groups_of_an_intercommunicator_are_split_and_chosen(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
high = world.rank % 2
mine = world.Split(high)
both = mine.Create_intercomm(0, world, 1 - high)
for made in (
    both.Split(both.rank, 0),
    both.Split(0, -both.rank),
    both.Split(5 if (high, both.rank) == (0, 0) else 6),
    both.Create(both.group.Incl([1])),
    both.Split_type(MPI.COMM_TYPE_CLUSTER),
):
    print("none" if made == MPI.COMM_NULL else (made.rank, made.allgather(world.rank)))
""",
    )
    assert said[0] == ["(0, [1])", "(1, [3, 1])", "none", "none", "(0, [1])"]
    assert said[1] == ["(0, [0])", "(1, [2, 0])", "(0, [2])", "none", "(0, [0])"]
    assert said[2] == ["(0, [3])", "(0, [3, 1])", "(0, [1, 3])", "(0, [3])", "(0, [3])"]
    assert said[3] == ["(0, [2])", "(0, [2, 0])", "(1, [2])", "(0, [2])", "(0, [2])"]


def test_neighbours_of_a_cartesian_communicator_share_a_cluster(grid: Grid) -> None:
    said = grid(
        "2x2",
        HEAD
        + """
scattered = world.Split(0, world.rank % 2)
for comm in (world, scattered):
    cart = comm.Create_cart([4, 2], reorder=True)
    where = cart.allgather(str(cart.my_cluster.identifier))
    print(comm.Cart_map([4, 2]) == cart.rank, where)
""",
    )
    pairs = [name for name in ("0:0", "0:1", "1:0", "1:1") for _ in range(2)]
    assert said == dict.fromkeys(range(8), [f"True {pairs}"] * 2)


@on("1+2")
def test_a_distributed_graph_is_put_together_from_edges_of_all(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
after = (world.rank + 1) % 3
# Each gives the edge that leads to the next one, and the one that leads away from there.
graph = world.Create_dist_graph([world.rank, after], [1, 1], [after, world.rank], [1, 2])
sources, destinations, weights = graph.Get_dist_neighbors()
print(sorted(zip(sources, weights[0])), sorted(zip(destinations, weights[1])))
print(sorted(graph.neighbor_allgather(world.rank)))
""",
    )
    assert said == {
        0: ["[(1, 2), (2, 1)] [(1, 1), (2, 2)]", "[1, 2]"],
        1: ["[(0, 1), (2, 2)] [(0, 2), (2, 1)]", "[0, 2]"],
        2: ["[(0, 2), (1, 1)] [(0, 1), (1, 2)]", "[0, 1]"],
    }


@on("1+2")
def test_duplicates_may_be_begun_in_any_order(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
two = [world.Dup(), world.Dup()]
order = [0, 1] if world.rank < 2 else [1, 0]
made = {number: two[number].Idup() for number in order}
MPI.Request.Waitall([request for _, request in made.values()])
print([made[number][0].allgather((number, world.rank)) for number in (0, 1)])
""",
    )
    text = str([[(number, rank) for rank in range(3)] for number in (0, 1)])
    assert said == {rank: [text] for rank in range(3)}


@on("1+2")
def test_nothing_waits_for_a_duplicate_that_others_begin_later(shared: SharedGrid) -> None:
    """Rank 1 is alone in its cluster where it makes communicators without rank 2."""
    said = shared(
        HEAD
        + """
apart = world.Split(MPI.UNDEFINED if world.rank == 2 else 0)
if world.rank == 2:
    world.recv(source=1)
copy, request = world.Idup()
if world.rank != 2:
    made = apart.Dup().Split(0)
    again, another = made.Idup()
    another.Wait()
    print(again.allgather(world.rank))
if world.rank == 1:
    world.send("begin it", 2)
MPI.Request.Waitall([request, world.Ibarrier()])
print(copy.allgather(world.rank))
"""
    )
    assert said == {0: ["[0, 1]", "[0, 1, 2]"], 1: ["[0, 1]", "[0, 1, 2]"], 2: ["[0, 1, 2]"]}


@on("1+2")
def test_a_function_that_copies_attributes_of_a_begun_duplicate_may_call_mpi(
    shared: SharedGrid,
) -> None:
    said = shared(
        HEAD
        + """
def copied(comm, key, value):
    return value, world.iprobe(tag=77), comm.rank == world.rank
parent = world.Dup()
key = MPI.Comm.Create_keyval(copy_fn=copied)
parent.Set_attr(key, "it")
copy, request = parent.Idup()
request.Wait()
print(copy.Get_attr(key))
"""
    )
    assert said == {rank: ["('it', False, True)"] for rank in range(3)}


@on("1+2")
def test_what_goes_on_is_still_done_when_a_communicator_is_freed(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
import array
copy = world.Dup()
if world.rank == 0:
    into = [array.array("i", [0]) for _ in range(2)]
    requests = [copy.Irecv(one, MPI.ANY_SOURCE) for one in into]
    total = array.array("i", [0])
    requests.append(copy.Iallreduce(array.array("i", [world.rank]), total))
    copy.Free()
    print(copy == MPI.COMM_NULL)
    world.barrier()
    MPI.Request.Waitall(requests)
    print(sorted(one[0] for one in into), total[0])
else:
    world.barrier()
    copy.Send(array.array("i", [world.rank]), 0)
    copy.Iallreduce(array.array("i", [world.rank]), array.array("i", [0])).Wait()
    copy.Free()
    print(copy == MPI.COMM_NULL)
world.barrier()
""",
    )
    assert said == {0: ["True", "[1, 2] 3"], 1: ["True"], 2: ["True"]}


@on("1+1")
def test_communicators_that_were_there_from_the_start_stay(shared: SharedGrid) -> None:
    said = shared(
        HEAD
        + """
for comm in (world, MPI.COMM_SITE):
    try:
        comm.Free()
    except MPI.Exception as error:
        print(error.Get_error_class() == MPI.ERR_COMM, comm.size)
    comm.free()
print(world.allgather(world.rank))
""",
    )
    assert said == {rank: ["True 2", "True 2", "[0, 1]"] for rank in range(2)}
