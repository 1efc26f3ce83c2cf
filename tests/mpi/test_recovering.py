"""FT-MPI's modes: what `Dup`, `Split` and `Create` make of a communicator that has lost ranks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.grids import Grid
from tools.on_grids import COMMAND, environment

pytestmark = pytest.mark.mpi


HEAD = """
    import os, signal, sys, time
    from mpi4py import MPI
    world = MPI.COMM_WORLD

    def with_modes(recovery, messages, strict="false"):
        info = MPI.Info.Create()
        info.Set("gcm_recovery", recovery)
        info.Set("gcm_recovery_messages", messages)
        info.Set("gcm_strict", strict)
        return world.Dup_with_info(info)

    def outcome(call, *args, **kwargs):
        try:
            return call(*args, **kwargs)
        except MPI.Exception as error:
            names = {getattr(MPI, one): one for one in
                     ("ERR_PROC_FAILED", "ERR_RANK", "ERR_REVOKED")}
            return names.get(error.Get_error_class(), error)

    def lose(rank):
        # everybody but that rank comes back once the loss is known
        if world.rank == rank:
            [world.recv(source=other) for other in range(world.size) if other != rank]
            os._exit(9)
        world.send("go on", rank)
        outcome(world.recv, source=rank, tag=77)
"""


def test_smaller_and_blank_communicators_with_all_or_no_messages_until_the_recovery(
    grid: Grid,
) -> None:
    said = grid(
        "1+1|1",
        HEAD
        + """
    comms = {f"{recovery} {messages}": with_modes(recovery, messages)
             for recovery in ("shrink", "blank") for messages in ("nop", "cont")}
    lose(1)
    for name, comm in comms.items():
        before = comm.Get_attr(MPI.FT_STATE)
        other = 2 - comm.rank
        word = outcome(comm.sendrecv, comm.rank, other, source=other)
        made = comm.Dup()
        gap = outcome(made.send, 1, 1, tag=5) if made.size == 3 else ""
        part = made.Split(made.rank % 2)
        again = made.Dup()
        print(part.size, again.size, again.allgather(world.rank) == made.allgather(world.rank))
        print(name, before, word == other or word, comm.Get_attr(MPI.FT_STATE), made.rank,
              made.size, made.allgather(world.rank), made.allreduce(1), gap,
              made.Get_info().Get("gcm_recovery"), made.Get_attr(MPI.FT_STATE), flush=True)
    """,
        failures="return",
    )
    rest = {
        "shrink": "{} 2 [0, 2] 2  shrink FT_OK",
        "blank": "{} 3 [0, None, 2] 2 ERR_RANK blank FT_OK",
    }
    for place, rank in enumerate((0, 2)):
        assert said[rank] == [
            line
            for recovery in ("shrink", "blank")
            for messages in ("nop", "cont")
            for line in (
                "1 2 True" if recovery == "shrink" else "2 3 True",
                f"{recovery} {messages} FT_DETECTED"
                f" {'ERR_PROC_FAILED' if messages == 'nop' else True} FT_RECOVERED "
                + rest[recovery].format(place if recovery == "shrink" else rank),
            )
        ]


def test_lost_ranks_are_started_again_and_join_each_communicator_that_is_recovered(
    grid: Grid,
) -> None:
    said = grid(
        "1+1|1",
        HEAD
        + """
    if world.Get_attr(MPI.FT_INCARNATION) == 1:
        comms = [with_modes("rebuild", one) for one in ("nop", "cont", "nop")]
        lose(1)
        (error,) = comms[0].Get_attr(MPI.FT_ERRORS)
        print(error["rank"], error["process"], "exit code 9" in error["why"], flush=True)
    else:
        print(outcome(world.bcast, 1), world.size, flush=True)
        comms = [world] * 3
    made = comms[0].Dup()
    print(comms[0].Get_attr(MPI.FT_STATE), made.Get_attr(MPI.FT_STATE), flush=True)
    print(made.allgather(world.rank), made.Get_info().Get("gcm_recovery_messages"), flush=True)
    made = comms[1].Create(comms[1].Get_group())
    print(made.allgather(world.rank), made.Get_info().Get("gcm_recovery_messages"), flush=True)
    part = comms[2].Split(world.rank % 2, -world.rank)
    print(part.allgather(world.rank), made.Split(made.rank % 2).size, made.Dup().allreduce(1))
    """,
        failures="return",
    )
    first = {0: "1 0:1:0 True", 1: "ERR_PROC_FAILED 3", 2: "1 0:1:0 True"}
    for rank in range(3):
        parts = "[1] 1 3" if rank == 1 else "[2, 0] 2 3"
        assert said[rank] == [
            first[rank],
            "FT_RECOVERED FT_OK",
            "[0, 1, 2] nop",
            "[0, 1, 2] cont",
            parts,
        ]


def test_gaps_are_filled_later_in_their_places_or_behind_the_others(grid: Grid) -> None:
    said = grid(
        "1+1|2",
        HEAD
        + """
    recoveries = ("rebuild", "rebuild-at-end")
    if world.Get_attr(MPI.FT_INCARNATION) == 1:
        comms = [with_modes("blank", "cont") for _ in recoveries]
        lose(1)
        comms = [one.Dup() for one in comms]
        print(*(one.allgather(world.rank) for one in comms), flush=True)
        for comm, recovery in zip(comms, recoveries):
            info = MPI.Info.Create()
            info.Set("gcm_recovery", recovery)
            comm.Set_info(info)
    else:
        comms = [world] * 2
    for comm in comms:
        made = comm.Dup()
        print(made.rank, made.allgather(world.rank), made.allreduce(1), made.Dup().size)
        print(comm.Create(comm.Get_group()).allgather(world.rank), flush=True)
    """,
        failures="return",
    )
    gap = "[0, None, 2, 3] [0, None, 2, 3]"
    for rank in range(4):
        assert said[rank] == [
            *([gap] if rank != 1 else []),
            f"{rank} [0, 1, 2, 3] 4 4",
            "[0, 1, 2, 3]",
            f"{[0, 3, 1, 2][rank]} [0, 2, 3, 1] 4 4",
            "[0, 2, 3, 1]",
        ]


@pytest.mark.parametrize("doomed", [1, 2], ids=["who fills the gap", "another one"])
def test_gaps_are_filled_although_others_are_lost_meanwhile(grid: Grid, doomed: int) -> None:
    said = grid(
        "1+1|2",
        HEAD
        + f"""
    incarnation, comm = world.Get_attr(MPI.FT_INCARNATION), world
    if incarnation == 1:
        comm = with_modes("blank", "nop")
        lose(1)
        comm = comm.Dup()
        info = MPI.Info.Create()
        info.Set("gcm_recovery", "rebuild")
        comm.Set_info(info)
    if world.rank == {doomed} and incarnation == (2 if world.rank == 1 else 1):
        os.kill(os.getpid(), 9)
    made = comm.Dup()
    print(made.rank, made.allgather(incarnation), flush=True)
    """,
        failures="return",
    )
    lives = [1, 3, 1, 1] if doomed == 1 else [1, 2, 2, 1]
    assert [said[rank][-1:] for rank in range(4)] == [[f"{rank} {lives}"] for rank in range(4)]


RING = """
    incarnation = world.Get_attr(MPI.FT_INCARNATION)
    def doomed(when):
        if (world.rank, incarnation, when) in DOOMED:
            os.kill(os.getpid(), 9)
    doomed("joining")
    comm, step = (with_modes("rebuild", "nop"), 0) if incarnation == 1 else (world, None)
    known = -1
    while step is None or step < 6:
        try:
            if step is None:
                comm = comm.Dup()
                step = max(comm.allgather(known))
            doomed(step)
            comm.allreduce(1)
            step += 1
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_PROC_FAILED:
                raise
            doomed("recovering")
            known, step = max(known, step or 0), None
    print(comm.rank, comm.allgather(incarnation), flush=True)
"""


@pytest.mark.parametrize(
    ("layout", "doomed", "incarnations"),
    [
        ("1+2", [(1, 1, 2), (0, 1, "recovering")], [2, 2, 1]),
        ("1+1|1", [(1, 1, 2), (1, 2, "joining"), (2, 1, 4)], [1, 3, 2]),
    ],
    ids=["the-leader-during-recovery", "one-that-joins"],
)
def test_the_size_stays_whoever_is_lost_and_whenever(
    grid: Grid, layout: str, doomed: list[object], incarnations: list[int]
) -> None:
    said = grid(
        layout,
        (HEAD + RING).replace("DOOMED", repr(doomed)),
        failures="return",
    )
    assert {rank: lines[-1] for rank, lines in said.items()} == {
        rank: f"{rank} {incarnations}" for rank in said
    }


def test_a_frozen_rank_is_ended_before_another_one_takes_its_place(grid: Grid) -> None:
    said = grid(
        "1+1",
        HEAD
        + """
    from runtime.membership.rank_link import current
    link, comm = current(), with_modes("rebuild", "nop") if not current().is_again else world
    if link.incarnation == 1:
        if world.rank == 1:
            world.ssend(os.getpid(), 0)
            os.kill(os.getpid(), signal.SIGSTOP)
        frozen = world.recv(source=1)
        link.wrapper.appeals.replace(link.wrapper.member, ["0:1:0#1"])  # as one that has lost it
        print(outcome(comm.recv, source=1), comm.Get_attr(MPI.FT_ERRORS)[0]["why"], flush=True)
    comm = comm.Dup()
    if world.rank == 0:
        try:
            os.kill(frozen, signal.SIGCONT)
        except ProcessLookupError:
            print("it is gone", flush=True)
    print(comm.allgather(link.incarnation))
    """,
        failures="return",
    )
    assert said[0][0].startswith("ERR_PROC_FAILED rank 1 (site0/cluster1 0) on")
    assert "was killed by SIGKILL" in said[0][0]
    assert said[0][1:] == ["it is gone", "[1, 2]"]
    assert said[1] == ["[1, 2]"]


def test_what_is_told_late_of_the_end_of_a_process_is_not_taken_for_that_of_its_successor(
    grid: Grid,
) -> None:
    """Its parent is stopped, too, and tells of it when another one has taken its place."""
    said = grid(
        "1+1",
        HEAD
        + """
    import time
    from runtime.membership.rank_link import current
    link, comm = current(), with_modes("rebuild", "nop") if not current().is_again else world
    if link.incarnation == 1:
        if world.rank == 1:
            world.ssend(os.getppid(), 0)
            os.kill(os.getppid(), signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGKILL)
        parent = world.recv(source=1)
        print(outcome(comm.recv, source=1), flush=True)
    comm = comm.Dup()
    if world.rank == 0:
        os.kill(parent, signal.SIGCONT)
        time.sleep(1)
    print(comm.allgather(link.incarnation))
    """,
        failures="return",
    )
    assert [lines[-1] for lines in said.values()] == ["[1, 2]", "[1, 2]"]


def test_what_cannot_be_started_again_is_an_error_everywhere_and_nobody_hangs(grid: Grid) -> None:
    said = grid(
        "1+1|1",
        HEAD
        + """
    if world.Get_attr(MPI.FT_INCARNATION) > 1:
        os._exit(5)
    comm = with_modes("rebuild", "nop")
    lose(1)
    try:
        comm.Dup()
    except MPI.Exception as error:
        print(error.Get_error_class() == MPI.ERR_PROC_FAILED, "3 attempts" in str(error),
              comm.Get_attr(MPI.FT_STATE), comm.Shrink().size)
    """,
        failures="return",
    )
    assert [said[0], said[2]] == [["True True FT_FAILED 2"]] * 2


@pytest.mark.parametrize("messages", ["nop", "cont"])
def test_a_loss_ends_the_run_where_the_mode_is_abort_whatever_the_program_catches(
    grid: Grid, messages: str
) -> None:
    said = grid(
        "1+1",
        HEAD
        + f"""
    comm = with_modes("abort", "{messages}")
    lose(1)
    time.sleep(20)
    print("not reached")
    """,
        failures="return",
        code=range(1, 256),
    )
    assert said[0] == []


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("os._exit(9)", "failed first: exit code 9"),
        ("os.kill(os.getpid(), 9)", "failed first: killed by SIGKILL"),
        ("sys.exit(9)", "failed first: exit code 9"),
        ("raise KeyError(9)", "failed first: KeyError: 9"),
    ],
)
def test_nothing_can_be_caught_where_the_command_says_that_a_loss_ends_the_run(
    tmp_path: Path, end: str, told: str
) -> None:
    (tmp_path / "loss.py").write_text(
        "import os, sys, time\n"
        "from mpi4py import MPI\n"
        "world = MPI.COMM_WORLD\n"
        "world.barrier()\n"
        "if world.rank == 1:\n"
        f"    {end}\n"
        "try:\n"
        "    world.barrier()\n"
        "except MPI.Exception:\n"
        "    print('caught', flush=True)\n"
        "    time.sleep(20)\n"
    )
    command = [*COMMAND, "--quiet", "--emulate", "2x1x2", "--recovery", "abort", "loss.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    assert done.returncode == {"raise": 1, "os.ki": 137}.get(end[:5], 9)
    assert "(process" in done.stderr
    assert "Abort(" not in done.stderr  # native MPI has nothing to add
    assert told in done.stderr


def test_a_rank_that_has_ended_well_is_no_loss(grid: Grid) -> None:
    said = grid(
        "1+1|1",
        HEAD
        + """
    comms = [with_modes(one, "nop") for one in ("shrink", "abort")]
    if world.rank < 2:
        print(outcome(world.recv, source=2))
        for comm in comms:
            other = 1 - comm.rank
            print(comm.sendrecv(comm.rank, other, source=other), comm.Get_attr(MPI.FT_STATE),
                  *comm.Get_attr(MPI.FT_PROCESSES), len(comm.Get_attr(MPI.FT_ERRORS)),
                  comm.Get_failed().size, comm.Ack_failed())
    """,
        failures="return",
    )
    for rank in (0, 1):
        assert said[rank] == ["ERR_PROC_FAILED", *[f"{1 - rank} FT_OK OK OK OK 0 0 0"] * 2]


def test_a_strict_collective_fails_at_all_members_if_it_fails_at_one(grid: Grid) -> None:
    said = grid(
        "1+1|1",
        HEAD
        + """
    comm = with_modes("none", "cont", strict="true")
    print(comm.gather(world.rank, root=2), comm.allreduce(1), flush=True)
    if world.rank == 1:
        os._exit(9)
    print(outcome(comm.gather, world.rank), flush=True)  # rank 2 has nothing to wait for
    """,
        failures="return",
    )
    assert said[0] == ["None 3", "ERR_PROC_FAILED"]
    assert said[2] == ["[0, 1, 2] 3", "ERR_PROC_FAILED"]


def test_a_request_from_any_source_outlives_a_loss_and_goes_on_once_that_is_acknowledged(
    grid: Grid,
) -> None:
    said = grid(
        "1+1|1",
        HEAD
        + """
    comm = world.Dup()
    if world.rank == 0:
        data = bytearray(2)
        waiting, testing = comm.irecv(source=MPI.ANY_SOURCE, tag=1), comm.Irecv(data, tag=2)
    lose(1)
    if world.rank == 2:
        comm.recv(source=0)
        comm.send("at last", 0, tag=1)
        comm.Send(b"ok", 0, tag=2)
    if world.rank == 0:
        def word(call):
            try:
                return call()
            except MPI.Exception as error:
                return error.Get_error_class() == MPI.ERR_PROC_FAILED_PENDING, error.process
        print(word(waiting.wait), word(testing.Test), word(waiting.test), bool(waiting))
        comm.Ack_failed()
        print(testing.Test(), waiting.test())
        comm.send("go on", 2)
        print(word(waiting.wait), word(testing.Wait), bytes(data), bool(testing))
    """,
        failures="return",
    )
    pending = "(True, '0:1:0')"
    assert said[0] == [
        f"{pending} {pending} {pending} True",
        "False (False, None)",
        "at last True b'ok' False",
    ]


CODES = """<deployment name="codes">
  <application name="one" script="lives.py" recovery="rebuild" clusters="s/one"/>
  <application name="two" script="lives.py" recovery="rebuild" clusters="s/two"/>
  <grid><site name="s">
    <cluster name="one"><mpi ranks="2"/></cluster>
    <cluster name="two"><mpi ranks="2"/></cluster>
  </site></grid></deployment>"""

LIVES = """
import os, time
from mpi4py import MPI
world = MPI.COMM_WORLD
life = world.Get_attr(MPI.FT_INCARNATION)
if life > 1:
    time.sleep(0.3)  # what it is told at its start is heard before it joins
    world = world.Dup()
while True:
    try:
        lives = world.allgather(life)
        if lives[-1] == 3:
            break
        if world.rank == world.size - 1:
            os._exit(9)
    except MPI.Exception:
        world = world.Dup()
print(*lives, flush=True)
"""


def test_codes_that_lose_the_same_rank_twice_each_go_on_with_a_third(tmp_path: Path) -> None:
    (tmp_path / "lives.py").write_text(LIVES)
    (tmp_path / "codes.xml").write_text(CODES)
    done = subprocess.run(
        [*COMMAND, "--quiet", "codes.xml"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [line.rpartition("] ")[2] for line in done.stdout.splitlines()] == ["1 3"] * 4


PARTNERS = """<deployment name="codes">
  <application name="ocean" script="ocean.py" recovery="rebuild" clusters="s/one"/>
  <application name="air" script="air.py" clusters="s/two"/>
  <grid><site name="s">
    <cluster name="one"><mpi ranks="2"/></cluster>
    <cluster name="two"><mpi ranks="1"/></cluster>
  </site></grid></deployment>"""

OCEAN = """
import os
from mpi4py import MPI
from runtime import coupling
world = MPI.COMM_WORLD
life = world.Get_attr(MPI.FT_INCARNATION)
if life > 1:
    world = world.Dup()
if world.rank == 1:
    for _ in range(3):
        coupling.send((life, coupling.recv(code="air")), code="air")
    if life < 3:
        coupling.recv(code="air")  # the answers have come; this one is asked again
        os._exit(9)
while True:
    try:
        if world.allgather(life)[1] == 3:
            break
    except MPI.Exception:
        world = world.Dup()
"""

AIR = """
import time
from runtime import coupling
got = []
while len(got) < 9:
    try:
        coupling.send(len(got), code="ocean", rank=1)
        got.append(coupling.recv(code="ocean", rank=1))
    except coupling.CodeEnded:
        time.sleep(0.05)
print(got)
"""


def test_a_rank_that_was_started_again_alone_is_reached_again_by_other_codes(
    tmp_path: Path,
) -> None:
    (tmp_path / "ocean.py").write_text(OCEAN)
    (tmp_path / "air.py").write_text(AIR)
    (tmp_path / "codes.xml").write_text(PARTNERS)
    done = subprocess.run(
        [*COMMAND, "--quiet", "codes.xml"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [(1 + number // 3, number) for number in range(9)]
    assert done.stdout.splitlines()[-1].rpartition("] ")[2] == str(told)
