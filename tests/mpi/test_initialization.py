"""`Init`, `Finalize` and `mpi4py.rc`: a program sees what it sees under plain MPI."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.commands import gcm_deploy
from tests.grids import Grid, Plain

pytestmark = pytest.mark.mpi


PROGRAM = """
    import mpi4py
    {asked}
    from mpi4py import MPI

    def tried(call):
        try:
            return call()
        except MPI.Exception as error:
            return MPI.Get_error_string(error.error_class)

    def shown():
        print(MPI.Is_initialized(), MPI.Is_finalized())

    shown()
    world = MPI.COMM_WORLD
    print({begin})
    shown()
    print(MPI.Query_thread(), MPI.Is_thread_main(), world.size, world.allreduce(1))
    print(tried(MPI.Init), tried(MPI.Init_thread))
    MPI.Finalize()
    shown()
"""


BEGINNINGS = [
    ("mpi4py.rc.initialize = False", "MPI.Init()"),
    ("mpi4py.rc(initialize=False, finalize=True)", "MPI.Init_thread()"),
    ("mpi4py.rc.initialize = False", "MPI.Init_thread(MPI.THREAD_SERIALIZED)"),
    ("mpi4py.rc.initialize = False", "MPI.Init_thread(required=1.5)"),
    ("mpi4py.rc.threads = False", "None"),
    ("mpi4py.rc.thread_level = 'funneled'", "None"),
    ("", "None"),
]


def near_and_once_far(cases: Sequence[tuple[str, ...]]) -> list[Any]:
    """Return all cases on this machine, and the first one with a cluster behind sshd too."""
    far = pytest.param("sshd", *cases[0], marks=pytest.mark.needs_sshd)
    return [*(("local", *case) for case in cases), far]


# In clusters of their own the ranks have the same entrance, so two of the cases will do.
@pytest.mark.parametrize(
    ("way", "asked", "begin", "comm_world"),
    near_and_once_far(
        [
            *((*case, "grid") for case in BEGINNINGS),
            *((*case, "cluster") for case in BEGINNINGS[1:6:4]),
        ]
    ),
    indirect=["way"],
)
def test_mpi_is_up_when_the_program_lets_it_be(
    grid: Grid, plain: Plain, asked: str, begin: str, comm_world: str
) -> None:
    program = PROGRAM.format(asked=asked, begin=begin)
    layout = "1+1" if comm_world == "grid" else "2"
    said = grid(layout, program, comm_world=comm_world)
    assert Counter(said[0] + said[1]) == Counter(plain(2, program))


def test_a_program_may_leave_its_mpi_alone(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        try:
            MPI.Query_thread()
        except MPI.Exception as error:
            print(MPI.Is_initialized(), "MPI.Init" in error.__notes__[0])
        """,
    )
    assert said == {rank: ["False True"] for rank in said}


def test_the_communicators_of_the_machine_are_there_once_plain_mpi_is_up(plain: Plain) -> None:
    said = plain(
        2,
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from runtime import MPI
        print(hasattr(MPI, "COMM_GRID"), MPI.Is_initialized())
        MPI.Init()
        print(MPI.COMM_GRID.size, MPI.COMM_WORLD.my_cluster.size)
        MPI.Finalize()
        """,
    )
    assert said == ["2 2", "2 2", "False False", "False False"]


SESSIONS = """
    from mpi4py import MPI

    session, other = MPI.Session.Init(), MPI.Session.Init()
    made = MPI.Intracomm.Create_from_group(session.Create_group("mpi://SELF"))
    print(f"{made.allreduce(1)} {session.Get_num_psets() > 0} {type(session) is MPI.Session}")
    if MPI.COMM_WORLD.rank == 0:
        other.Finalize()
"""


LEFT_TO_DEL = """
    import os
    import tempfile
    from mpi4py import MPI

    class Owner:
        def __init__(self, owned):
            self.owned = owned

        def __del__(self):
            (getattr(self.owned, "Free", None) or self.owned.Close)()
            print("freed", flush=True)

    world = MPI.COMM_WORLD
    used = Owner(world.Dup())
    used.owned.allreduce(1)
    unused, split = Owner(world.Dup()), Owner(world.Split(0))
    win = Owner(MPI.Win.Allocate(8, comm=world))
    path = os.path.join(tempfile.gettempdir(), f"gcm-left-{world.bcast(os.getpid())}")
    mode = MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE
    file = Owner(MPI.File.Open(world, path, mode))
    print(path)
"""


def test_objects_may_be_freed_by_del_when_the_modules_of_the_program_have_gone(grid: Grid) -> None:
    said = grid("1+1", LEFT_TO_DEL)
    path = said[0][0]
    assert said == {rank: [path, *["freed"] * 5] for rank in range(2)}
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("layout", "comm_world"), [("2", "grid"), ("2", "cluster"), ("1+1", "grid")]
)
def test_a_program_may_leave_sessions_open(grid: Grid, layout: str, comm_world: str) -> None:
    # Not compared with plain MPI: there Hydra ends all ranks as soon as one left a session open.
    said = grid(layout, SESSIONS, comm_world=comm_world)
    assert said == {0: ["1 True True"], 1: ["1 True True"]}


HANDLERS = """
    import os, tempfile
    import mpi4py
    mpi4py.rc.errors = "{errors}"
    from mpi4py import MPI

    def of(made):
        found = made.Get_errhandler()
        names = ("ERRORS_RETURN", "ERRORS_ARE_FATAL", "ERRORS_ABORT")
        return [name for name in names if found == getattr(MPI, name)]

    path = os.path.join(tempfile.gettempdir(), f"errors-{{os.getpid()}}")
    session = MPI.Session.Init()
    given = MPI.Session.Init(errhandler=MPI.ERRORS_RETURN)
    windows = [MPI.Win.Create(bytearray(8), comm=MPI.COMM_SELF), MPI.Win.Allocate(8),
        MPI.Win.Create_dynamic(comm=MPI.COMM_SELF)]
    file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    print(of(session), of(given), *map(of, windows), of(file))
    for one in windows:
        one.Free()
    file.Close()
    os.remove(path)
    session.Finalize()
    given.Finalize()
"""


@pytest.mark.parametrize(
    ("way", "errors"),
    near_and_once_far([("exception",), ("default",), ("abort",), ("fatal",)]),
    indirect=["way"],
)
def test_sessions_windows_and_files_have_the_error_handler_that_is_asked_for(
    grid: Grid, plain: Plain, errors: str
) -> None:
    program = HANDLERS.format(errors=errors)
    said = grid("1+1", program)
    assert Counter(said[0] + said[1]) == Counter(plain(2, program))


def test_an_error_policy_that_there_is_none_of_is_warned_of(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        import warnings
        import mpi4py
        mpi4py.rc.errors = "ignore"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            from mpi4py import MPI
        print(*(one.message for one in caught))
        print(MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_RETURN)
        """,
    )
    assert said == {rank: ["mpi4py.rc.errors: unexpected value 'ignore'", "True"] for rank in said}


def test_objects_have_the_room_that_is_asked_for(grid: Grid) -> None:
    said = grid(
        "2+1",
        """
        import mpi4py
        mpi4py.rc.irecv_bufsz = 1 << 20
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        text = "long" * 50_000
        if world.rank == 0:
            requests = [comm.irecv(source=1) for comm in (world, MPI.COMM_CLUSTER)]
            print([request.wait() == text for request in (*requests, world.irecv(source=2))])
        elif world.rank == 1:
            world.send(text, 0)
            MPI.COMM_CLUSTER.send(text, 0)
        else:
            world.send(text, 0)
        """,
    )
    assert said[0] == ["[True, True, True]"]


def test_errors_of_lost_processes_have_their_texts_after_the_end_of_mpi(grid: Grid) -> None:
    said = grid(
        "1+1",
        """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        world.Barrier()
        MPI.Finalize()
        print(MPI.Get_error_string(MPI.ERR_PROC_FAILED))
        error = MPI.Exception(MPI.ERR_REVOKED)
        print(error, "|", error.error_string, "|", error.Get_error_string())
        print(MPI.Exception(MPI.ERR_RANK), "|", MPI.Exception())
        """,
    )
    for lines in said.values():
        assert lines[0] == "a process has failed"
        assert lines[1] == " | ".join(["the communicator was revoked"] * 3)
        assert lines[2].startswith("Invalid rank")


def test_an_mpi4py_that_is_too_old_is_refused_with_its_version(tmp_path: Path) -> None:
    text = 'import mpi4py\nmpi4py.__version__ = "3.1.4"\nfrom mpi4py import MPI\n'
    (tmp_path / "program.py").write_text(text)
    done = gcm_deploy("-n", "2", "program.py", cwd=tmp_path)
    first = done.stderr.splitlines()[0]
    assert done.returncode == 1
    assert re.search(r"ImportError: mpi4py 3\.1\.4 in \S+ is too old: ranks need 4\.0", first)


def test_threads_that_a_program_leaves_send_and_receive_until_they_end(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import threading, time\n"
        "from mpi4py import MPI\n"
        "world = MPI.COMM_WORLD\n"
        "other = 1 - world.rank\n"
        "world.Barrier()\n"
        "def exchange():\n"
        "    time.sleep(0.5)\n"
        "    print(world.sendrecv(world.rank, other, source=other))\n"
        "threading.Thread(target=exchange).start()\n"
    )
    done = gcm_deploy("--quiet", "--emulate", "2x1", program)
    assert (done.returncode, sorted(done.stdout.split()), done.stderr) == (0, ["0", "1"], "")
