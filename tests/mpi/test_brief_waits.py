"""Waits of collectives on little data: what goes on beside them, and what ends them."""

from __future__ import annotations

import pytest

from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


@on("2+1")
def test_native_messages_and_windows_go_on_while_they_wait(shared: SharedGrid) -> None:
    """The sender of a large message comes late, and needs the help of the receiver."""
    said = shared(
        """
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    near = world.Split_type(MPI.COMM_TYPE_SHARED)
    large, window = np.zeros(5_000_000), MPI.Win.Create(bytearray(8), comm=near)
    if world.rank == 0:
        world.recv(source=2)
        world.Send(large, 1)
        window.Lock(1)
        window.Put(b"12345678", 1)
        window.Unlock(1)
    if world.rank == 1:
        coming = world.Irecv(large, 0)
        world.send(None, 2)
    if world.rank == 2:
        world.recv(source=1)
        world.send(None, 0)
    world.Barrier()
    if world.rank == 1:
        coming.Wait()
        world.send(None, 2)
        world.recv(source=2)
    if world.rank == 2:
        world.recv(source=1)
        world.send(None, 1)
    print("right")
    window.Free()
    world.Barrier()
""",
    )
    assert said == {rank: ["right"] for rank in range(3)}


@on("1+1")
def test_they_are_done_where_large_messages_fill_the_window(shared: SharedGrid) -> None:
    said = shared(
        """
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    large, little = np.zeros(2 << 20), np.ones(1)
    begun = [world.Isend(large, 1) for _ in range(2)] if world.rank == 0 else []
    for _ in range(3):
        world.Barrier()
        world.Allreduce(MPI.IN_PLACE, little)
        world.Bcast(little, 0)
    print(little[0])
    for _ in range(2 * world.rank):
        world.Recv(large, 0)
    MPI.Request.Waitall(begun)
""",
    )
    assert said == {rank: ["8.0"] for rank in range(2)}


IN_THE_WAIT = """
    import pathlib, signal, threading, time
    from mpi4py import MPI
    from runtime.mpi.progress.waiting import Waits
    world = MPI.COMM_WORLD
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    there = pathlib.Path(__file__).with_name("interrupted")
    def once_it_waits(then, wait=Waits.wait_for_wire):
        def wait_once(waits, ready):
            Waits.wait_for_wire = wait
            then()
            return wait(waits, ready)
        Waits.wait_for_wire = wait_once
    def wait_for_the_interruption():
        while not there.exists():
            time.sleep(0.01)
"""


@pytest.mark.parametrize("seconds", [0.003, 0.1, 0.4])
@on("2+1")
def test_one_that_was_interrupted_is_done_for_the_others(
    shared: SharedGrid, seconds: float
) -> None:
    said = shared(
        IN_THE_WAIT
        + f"""
    world.Barrier()
    if world.rank == 0:
        once_it_waits(lambda: signal.setitimer(signal.ITIMER_REAL, {seconds}))
        try:
            world.Barrier()
        except KeyboardInterrupt:
            print("interrupted")
        there.touch()
    else:
        wait_for_the_interruption()
        world.Barrier()
    world.Barrier()
    print("done")
""",
    )
    assert said == {0: ["interrupted", "done"], 1: ["done"], 2: ["done"]}


@on("2+1")
def test_native_messages_go_on_while_a_program_asks_again_and_again(shared: SharedGrid) -> None:
    said = shared(
        """
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    large = np.zeros(5_000_000)
    if world.rank == 1:
        coming = world.Irecv(large, 0)
    if world.rank == 0:
        world.Send(large, 1)
    begun = world.Ibarrier()
    while not begun.Test():
        pass
    if world.rank == 1:
        coming.Wait()
    print("right")
""",
    )
    assert said == {rank: ["right"] for rank in range(3)}


@on("2+1")
def test_a_wait_for_a_far_message_takes_the_near_ones_that_it_waits_for_too(
    shared: SharedGrid,
) -> None:
    """The far one is sent only once the near one has been taken."""
    said = shared(
        """
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    if world.rank == 0:
        world.recv(source=2)
        world.Ssend(b"near", 1)
        world.send(None, 2)
    if world.rank == 1:
        both = [world.Irecv(bytearray(4), source) for source in (2, 0)]
        world.send(None, 2)
        MPI.Request.Waitall(both)
    if world.rank == 2:
        world.recv(source=1)
        world.send(None, 0)
        world.recv(source=0)
        world.Send(b"far!", 1)
    print("right")
""",
    )
    assert said == {rank: ["right"] for rank in range(3)}


@on("2+1")
def test_many_that_are_begun_wait_for_one_who_comes_late(shared: SharedGrid) -> None:
    said = shared(
        """
    import time
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    time.sleep(1.5 * (world.rank == 1))  # longer than others wait before they ask why
    sums = [np.full(1, float(turn)) for turn in range(2000)]
    MPI.Request.Waitall([world.Iallreduce(MPI.IN_PLACE, one) for one in sums])
    print(all(one[0] == world.size * turn for turn, one in enumerate(sums)))
""",
    )
    assert said == {rank: ["True"] for rank in range(3)}


@on("1+1")
def test_a_root_is_held_up_by_one_who_lags_far_behind(shared: SharedGrid) -> None:
    said = shared(
        """
    import time
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    data = np.zeros(128)
    if world.rank:
        time.sleep(1)  # the root fills its window meanwhile, and may not be done before
    begun = time.monotonic()
    for turn in range(12_000):
        world.Bcast(data, 0)
    ended = time.monotonic()
    print((world.bcast(ended, 0) > begun) if world.rank else world.bcast(ended, 0) == ended)
""",
    )
    assert said == {0: ["True"], 1: ["True"]}


def test_a_root_that_is_ahead_waits_for_nobody(grid: Grid) -> None:
    said = grid(
        "2+2",
        """
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    if world.rank:
        world.recv(source=0)  # which is sent after all broadcasts
    found = []
    for turn in range(1500):
        data = np.full(turn % 3, -1.0 if world.rank else float(turn))
        world.Bcast(data, 0)
        found.append((data == turn).all())
    if world.rank == 0:
        for rank in range(1, 4):
            world.send(None, rank)
    print(all(found))
    world.Barrier()
""",
    )
    assert said == {rank: ["True"] for rank in range(4)}


def test_a_lost_member_ends_the_wait_of_those_who_wait_for_others(grid: Grid) -> None:
    said = grid(
        "1+2",
        """
    import os, time
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    world.Barrier()
    if world.rank == 0:
        for other in (1, 2):  # some may still be in the barrier
            world.recv(source=other)
        os._exit(3)
    world.send("go on", dest=0)
    try:
        world.Barrier()
    except MPI.ProcessGone as error:
        print(str(error).split(" on ")[0], flush=True)
    time.sleep(1)  # all learn of it before anybody ends
""",
        code=3,
    )
    named = ["rank 0 (site0/cluster0 0)"]
    assert said == {0: [], 1: named, 2: named}


@pytest.mark.parametrize("seconds", [0.004, 0.012])
@on("2+1")
def test_native_messages_and_windows_go_on_while_one_waits_again_and_again(
    shared: SharedGrid, seconds: float
) -> None:
    """No single wait is long, and only the waits give native MPI a chance."""
    said = shared(
        f"""
    import threading, time
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    aside = world.Dup()
    near = world.Split_type(MPI.COMM_TYPE_SHARED)
    large = np.zeros(1_000_000)
    window = MPI.Win.Create(np.zeros(1_000_000), comm=near)
    def talk():
        for _ in range(10):
            if world.rank == 0:
                aside.Send(large, 1)
                window.Lock(1)
                window.Put(large, 1)
                window.Unlock(1)
            if world.rank == 1:
                aside.Recv(large, 0)
    talking = threading.Thread(target=talk)
    talking.start()
    goes_on = np.ones(1)
    while goes_on[0]:
        if world.rank == 2:
            time.sleep({seconds})  # for which the others wait
        goes_on[0] = talking.is_alive()
        world.Allreduce(MPI.IN_PLACE, goes_on)
    print("right")
    window.Free()
""",
    )
    assert said == {rank: ["right"] for rank in range(3)}


def test_threads_that_wait_for_different_things_do_not_miss_theirs(grid: Grid) -> None:
    said = grid(
        "1+2|1",
        """
    import threading
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    wrong = []
    def brief(comm):
        mine, result = np.ones(4), np.zeros(4)
        for turn in range(100):
            comm.Allreduce(mine, result)
            comm.Barrier()
            data = np.full(3, float(comm.rank))
            comm.Bcast(data, turn % size)
            wrong.append((result != size).any() or (data != turn % size).any())
    def ring(comm):
        for turn in range(100):
            data, room = np.full(5000, me), np.zeros(5000, int)
            comm.Sendrecv(data, (me + 1) % size, 0, room, (me - 1) % size, 0)
            wrong.append((room != (me - 1) % size).any())
    def tasks(comm):
        for turn in range(50):
            large, into = np.ones(20_000), np.zeros(20_000)
            comm.Iallreduce(large, into).Wait()
            wrong.append((into != size).any() or comm.allgather(turn) != [turn] * size)
    threads = [threading.Thread(target=one, args=(world.Dup(),))
               for one in (brief, brief, ring, tasks)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    world.Barrier()
    print("wrong" if any(wrong) else "right", len(wrong))
""",
    )
    assert said == {rank: ["right 350"] for rank in range(4)}


@on("1+1")
def test_an_interruption_while_another_thread_has_the_lock_is_only_that(shared: SharedGrid) -> None:
    said = shared(
        IN_THE_WAIT
        + """
    engine = world._members.engine
    def interrupt_with_the_lock():
        with engine.lock:
            time.sleep(0.15)  # in which the wait comes to want it
            signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
            time.sleep(0.15)
    world.Barrier()
    if world.rank == 0:
        once_it_waits(threading.Timer(0.05, interrupt_with_the_lock).start)
        try:
            world.Barrier()
        except KeyboardInterrupt:
            print("interrupted")
        there.touch()
    else:
        wait_for_the_interruption()
        world.Barrier()
    world.Barrier()
    print(len(engine.waiting))
""",
    )
    assert said == {0: ["interrupted", "0"], 1: ["0"]}


@on("1+1")
def test_what_was_heard_before_an_interruption_is_not_lost(shared: SharedGrid) -> None:
    said = shared(
        """
    import signal, time
    from mpi4py import MPI
    from runtime.mpi.progress.collective_mailbox import CollectiveBox
    world = MPI.COMM_WORLD
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    def interrupt_when_taken(take_all=CollectiveBox.take_all):
        def taken(box, ranks, tag):
            found = take_all(box, ranks, tag)
            if found is not None:
                CollectiveBox.take_all = take_all
                signal.raise_signal(signal.SIGALRM)
            return found
        CollectiveBox.take_all = taken
    world.Barrier()
    if world.rank == 0:
        interrupt_when_taken()
        try:
            world.Barrier()
        except KeyboardInterrupt:
            print("interrupted")
    else:
        time.sleep(0.005)  # so that the other one is in its wait
        world.Barrier()
    world.Barrier()
    print("done")
""",
    )
    assert said == {0: ["interrupted", "done"], 1: ["done"]}
