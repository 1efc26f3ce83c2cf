"""Errors of calls on communicators of the grid: who hears of them, and that nobody hangs."""

from __future__ import annotations

import pytest

from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


TRIED = """
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    far = (me + size // 2) % size

    def tried(call):
        try:
            return call()
        except MPI.Exception as error:
            return MPI.Get_error_string(error.error_class).split(",")[0]
        except Exception as error:
            return type(error).__name__
"""


@on("1+1", "2+2")
def test_collectives_refuse_to_send_from_where_they_receive(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + """
    a, ones = np.arange(float(size)), [1] * size
    calls = [
        lambda: world.Allreduce(a, a),
        lambda: world.Iallreduce(a, a),
        lambda: world.Allreduce_init(a, a),
        lambda: world.Scan(a, a),
        lambda: world.Exscan(a, a),
        lambda: world.Alltoall(a, a),
        lambda: world.Reduce_scatter_block(a, a[:1]),
        lambda: world.Reduce_scatter(a, a[:1], ones),
        lambda: world.Allgather(a[me : me + 1], a),
    ]
    print({tried(call) for call in calls})
    print(tried(lambda: world.Allreduce(a[:0], a[:0])))
    """,
    )
    assert said == {rank: ["{'Invalid buffer pointer'}", "None"] for rank in said}


@pytest.mark.parametrize("call", ["Reduce(a,", "Gather(a[me : me + 1],"])
def test_a_root_alone_refuses_to_send_from_where_it_receives(grid: Grid, call: str) -> None:
    said = grid(
        "2+2",
        TRIED
        + f"""
    a = np.arange(float(size))
    print(tried(lambda: world.{call} a if me == 0 else None)))
    """,
    )
    assert said.pop(0) == ["Invalid buffer pointer"]
    for lines in said.values():
        assert lines in (["None"], ["OutOfStep"])  # who has sent does not wait to be told


@on("1+1")
def test_an_exchange_whose_send_is_refused_receives_nothing(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + """
    b = bytearray(1)
    print(tried(lambda: world.Sendrecv(object(), me, 9, b, far, 9)))
    print(tried(lambda: world.Sendrecv(b"x", me, -5, b, far, 9)))
    sent = world.Isend(b"m", far, 9)
    found = bytearray(1)
    world.Recv(found, far, 9)
    sent.Wait()
    print(bytes(b), bytes(found))
    """,
    )
    assert said == {rank: ["TypeError", "Invalid tag", r"b'\x00' b'm'"] for rank in said}


@on("1+1", "2+2")
def test_calls_return_whose_error_handler_returns(shared: SharedGrid) -> None:
    said = shared(
        TRIED
        + """
    heard = []
    comm = world.Dup()
    handler = MPI.Comm.Create_errhandler(lambda one, code: heard.append(MPI.Get_error_class(code)))
    comm.Set_errhandler(handler)
    classes = [MPI.ERR_RANK, MPI.ERR_TAG, MPI.ERR_ROOT, MPI.ERR_TRUNCATE, MPI.ERR_BUFFER]
    names = ["RANK", "TAG", "ROOT", "TRUNCATE", "BUFFER"]

    def shown(call):
        found = tried(call)
        print(found, *(names[classes.index(one)] for one in heard))
        heard.clear()

    b = bytearray(1)
    for peer in (me, far):
        shown(lambda: comm.Send(b"", peer, -5))
        shown(lambda: comm.Isend(b"", peer, -5).Wait())
        shown(lambda: comm.Sendrecv(b"", peer, -5, b, peer, 3))
    sent = comm.Isend(b"long", far, 3)
    shown(lambda: comm.Recv(b, far, 3))
    sent.Wait()
    sent = comm.Isend(b"long", far, 3)
    shown(lambda: comm.Irecv(b, far, 3).Wait())
    sent.Wait()
    shown(lambda: comm.send(None, 77))
    shown(lambda: comm.Iprobe(77))
    shown(lambda: comm.Probe(77))
    shown(lambda: comm.Bcast(b, 77))
    shown(lambda: comm.Ibcast(b, 77).Wait())
    shown(lambda: comm.Allreduce(b, b))
    shown(lambda: comm.recv(None, 77))
    shown(lambda: comm.bcast(None, 77))
    comm.Barrier()
    """,
    )
    of_peers = ["None TAG", "True TAG", "None TAG"] * 2
    rest = [
        "None TRUNCATE",
        "True TRUNCATE",
        "None RANK",
        "False RANK",
        "True RANK",
        "None ROOT",
        "True ROOT",
        "None BUFFER",
    ]
    objects = ["Invalid rank RANK", "Invalid root ROOT"]
    assert said == {rank: [*of_peers, *rest, *objects] for rank in said}


def test_an_error_handler_hears_of_a_loss_in_a_collective(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        import os
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        def handle(comm, code):
            print(MPI.Get_error_class(code) == MPI.ERR_PROC_FAILED)
        world.Set_errhandler(MPI.Comm.Create_errhandler(handle))
        world.Barrier()
        if world.rank == 1:
            world.recv(source=0)  # which may still be in the barrier
            os.kill(os.getpid(), 9)
        world.send("go on", dest=1)
        for call in (world.Barrier, lambda: world.allreduce(1)):
            try:
                call()
            except MPI.ProcessGone:
                print("gone", flush=True)
        """,
        code=137,
    )
    assert said[0][-4:] == ["True", "gone", "True", "gone"]


@on("1+1", "2+2")
@pytest.mark.parametrize("sender", [0, 1, -1])
def test_blocks_that_are_too_long_are_truncated_with_an_error(
    shared: SharedGrid, sender: int
) -> None:
    said = shared(
        TRIED
        + f"""
    mine = np.zeros(3 if me == {sender} % size else 1)
    room = [np.zeros(size), [1] * size]
    print(tried(lambda: world.Gatherv(mine, room if me == 0 else None)))
    print(tried(lambda: world.Allgatherv(mine, room)))
    """,
    )
    wrong, size = "Message truncated", len(said)
    for rank, lines in said.items():
        at_root = wrong if rank == 0 else "None"
        assert lines == [at_root, wrong if rank == sender % size else "None"]


@pytest.mark.parametrize(
    ("shared", "wrong"), [("1+1", 1), ("2+2", 2), ("2+2", 3)], indirect=["shared"]
)
def test_so_are_those_that_come_in_pieces_and_shorter_ones_and_the_next_call_is_right(
    shared: SharedGrid, wrong: int
) -> None:
    said = shared(
        TRIED
        + f"""
    from runtime.collectives.turns import PIECE
    whole, wrong = PIECE // 8, {wrong}

    def gather(sent, room):
        mine = np.full(sent if me == wrong else 7, 1.0 + me)
        into = np.zeros(room + 7 * size)
        counts = [room if rank == wrong else 7 for rank in range(size)]
        world.Gatherv(mine, [into, counts] if me == 0 else None)
        wanted = np.repeat(1.0 + np.arange(size), counts)
        assert me or (into[:len(wanted)] == wanted).all()

    def scatter(sent, room):
        counts = [sent if rank == wrong else 7 for rank in range(size)]
        mine = np.zeros(room if me == wrong else 7)
        whole = np.repeat(1.0 + np.arange(size), counts)
        world.Scatterv([whole, counts] if me == 0 else None, mine)
        assert (mine == 1.0 + me).all()

    def exchange(sent, room):
        out = [sent if me == 0 and rank == wrong else 7 for rank in range(size)]
        into = [room if me == wrong and rank == 0 else 7 for rank in range(size)]
        found = np.zeros(sum(into))
        world.Alltoallv([np.full(sum(out), 1.0 + me), out], [found, into])
        assert (found == np.repeat(1.0 + np.arange(size), into)).all()

    for move in (gather, scatter, exchange):
        for sent, room in ((2, 1), (1, 2), (3, 1), (1, 3), (80, 1), (2.5, 2), (2, 2.5)):
            print(tried(lambda: move(int(sent * whole), int(room * whole))))
            print(tried(lambda: move(3 * whole, 3 * whole)))
    """,
    )
    for rank, lines in said.items():
        for number, line in enumerate(lines):
            is_receiver = rank == (0 if number < 14 else wrong)  # of a block of another size
            is_wrong = number % 2 == 0 and is_receiver
            assert line == ("Message truncated" if is_wrong else "None")
        assert len(lines) == 42


def test_who_makes_too_many_communicators_learns_what_to_do(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        from mpi4py import MPI
        made = []
        try:
            while True:
                made.append(MPI.COMM_WORLD.Dup())
        except MPI.Exception as error:
            print(*error.__notes__)
        """,
    )
    for lines in said.values():
        assert len(lines) == 1
        assert lines[0].endswith("free communicators that are not needed any more.")


def test_nobody_waits_for_ever_for_who_gives_as_much_as_the_others_do_not(grid: Grid) -> None:
    said = grid(
        "2+2+2",
        TRIED
        + """
    def tried(call):
        try:
            return call()
        except MPI.OutOfStep as error:
            return "32 bytes" in error.cause and "72000 bytes" in error.cause
    one, two = world.Dup(), world.Dup()
    mine = np.zeros(4 if me == 0 else 9000)
    print(tried(lambda: one.Allgather(mine, np.zeros(len(mine) * size))))
    mine = np.zeros(4 if me == 3 else 9000)  # whose cluster sends for it
    print(tried(lambda: two.Gather(mine, np.zeros((size, len(mine))) if me == 0 else None)))
    print(tried(two.Barrier))
    world.Barrier()
    """,
    )
    for rank, (first, second, third) in said.items():
        assert (first, third) == ("True", "True")
        assert second == "True" or (second == "None" and rank != 0)  # who has sent may be done
