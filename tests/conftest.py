"""What holds for every test: nothing may be left behind, and a skipped test says what it misses."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

from tests.leftovers import await_end

# What a busy machine takes long for is no fault of the code: no test has a time limit per example.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")

pytest.register_assert_rewrite("tests.scripts")

GRACE_SECONDS = 20.0
"""How long threads and processes that a test already told to end may take to do so."""

STANDARD_ERROR = 2
HERE = Path(__file__).parent

QUICK = (
    "unit",
    "contract",
    "fractal",
    "fuzz",
    "examples/test_documents.py",
    "examples/test_recipes.py",
    "faults/test_endings.py",
    "integration/coupling/test_coupled_example.py",
    "integration/deploy/test_one_line_runs.py",
    "integration/engine/test_rank_contracts.py",
    "integration/gcm/test_bad_input.py",
    "integration/hosting/test_node_processes.py",
    "integration/nodes/test_example_on_nodes.py",
    "integration/wire/test_peer_connections.py",
    "mpi/test_communicators.py",
    "mpi/test_means.py",
    "mpi/test_messages_on_grids.py",
    "mpi/test_worlds.py",
    "security/test_where_the_secret_is.py",
)
"""The tests of `make test`: all pure logic, and a few of each seam with the real thing."""

LONGEST = (
    "worlds/test_worlds.py",
    "examples/test_documents.py",
    "faults/test_waits_explained.py",
    "faults/test_first_cause.py",
    "faults/test_far_end.py",
    "faults/test_random_faults.py",
    "faults/test_requests_to_the_ended.py",
    "integration/batch/test_late_clusters.py",
    "integration/batch/test_two_slurms.py",
    "integration/results/test_results_come_home.py",
    "mpi/test_checked_programs.py",
    "security/test_doors_under_attack.py",
    "network/test_runs_between_hosts.py",
    "mpi/test_arguments.py",
    "mpi/test_recovering.py",
    "security/test_where_the_secret_is.py",
    "unit/drawing/test_drawing_properties.py",
    "fuzz/test_adl_parser_fuzz.py",
)
"""The files that take longest; they are begun first, so that none is left alone at the end."""


@dataclass(frozen=True, slots=True)
class Belongings:
    """What this process has at one moment; /proc is Linux only, elsewhere threads alone count."""

    threads: frozenset[threading.Thread]
    children: frozenset[int]
    files: frozenset[tuple[int, str]]

    @classmethod
    def now(cls) -> Belongings:
        return cls(frozenset(threading.enumerate()), _children(), _open_files())

    def minus(self, before: Belongings) -> Belongings:
        return Belongings(
            self.threads - before.threads,
            self.children - before.children,
            self.files - before.files,
        )

    def __bool__(self) -> bool:
        return bool(self.threads or self.children or self.files)

    def __str__(self) -> str:
        return "\n".join(
            [
                *(f"  {_describe_thread(thread)}" for thread in self.threads),
                *(f"  process {pid}: {_command_of(pid)}" for pid in sorted(self.children)),
                *(f"  file descriptor {fd}: {_describe_file(fd, to)}" for fd, to in self.files),
            ]
        )


def _children() -> frozenset[int]:
    found: set[int] = set()
    with contextlib.suppress(FileNotFoundError):
        for task in os.listdir("/proc/self/task"):
            # The thread may have ended since; its children then belong to another one.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found.update(map(int, _read(f"/proc/self/task/{task}/children").split()))
    return frozenset(found)


def _open_files() -> frozenset[tuple[int, str]]:
    found: set[tuple[int, str]] = set()
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir("/proc/self/fd"):
            # Standard input and output are moved about by pytest itself.
            if int(name) <= STANDARD_ERROR:
                continue
            # The descriptor that listed the folder is closed again by now.
            with contextlib.suppress(FileNotFoundError):
                found.add((int(name), os.readlink(f"/proc/self/fd/{name}")))
    return frozenset(found)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 65536)
    finally:
        os.close(descriptor)


def _describe_thread(thread: threading.Thread) -> str:
    kind = "daemon thread" if thread.daemon else "thread"
    frame = sys._current_frames().get(thread.ident or 0)
    place = f", now at {frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""
    return f"{kind} '{thread.name}'{place}"


def _command_of(pid: int) -> str:
    try:
        command = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")
    except OSError as error:
        return f"unknown command ({error.strerror})"
    return command.strip() or "has ended, but nobody waited for it"


def _describe_file(descriptor: int, target: str) -> str:
    if not target.startswith("socket:"):
        return target
    try:
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            return f"{target} {copy.family.name} at {copy.getsockname()!r}"
    except OSError as error:
        return f"{target} ({error.strerror})"


def _what_stays(before: Belongings) -> Belongings:
    """Return what came since `before` and does not go away by itself within the grace time."""
    left = Belongings.now().minus(before)
    if not left:
        return left
    deadline = time.monotonic() + GRACE_SECONDS
    for thread in left.threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    for pid in left.children:
        await_end(pid, deadline)
    gc.collect()
    return Belongings.now().minus(before)


def _end_processes(left: Belongings) -> None:
    """Spare the following tests what an earlier one started."""
    for pid in left.children:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _guard(whose: str, config: pytest.Config) -> Iterator[None]:
    if config.getoption("--on-nodes"):
        yield  # the threads and connections of the machine come and go meanwhile
        return
    before = Belongings.now()
    yield
    if left := _what_stays(before):
        message = f"{whose} left behind:\n{left}"
        _end_processes(left)
        pytest.fail(message, pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def no_leaks_of_the_session(pytestconfig: pytest.Config) -> Iterator[None]:
    """Catch what fixtures that outlive one test forget to clean up."""
    yield from _guard("A fixture of a module or of the session", pytestconfig)


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, a process, a socket or another open file behind."""
    yield from _guard(request.node.name, request.config)


def _lacks_root() -> str:
    return "" if os.geteuid() == 0 else "needs root: run the tests as root to include it"


def _lacks_sshd() -> str:
    found = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return "" if found else "needs sshd: install an OpenSSH server to include it"


def _lacks_oath() -> str:
    modules = [*Path("/usr/lib").glob("*/security/pam_oath.so"), Path("/lib/security/pam_oath.so")]
    found = any(one.exists() for one in modules)
    return "" if found else "needs pam_oath: install libpam-oath to include it"


def _lacks_mpi() -> str:
    if find_spec("mpi4py") is None:
        return "needs mpi4py: pip install 'gcm-grid[mpi]' to include it"
    beside_python = Path(sys.executable).parent
    if not shutil.which("mpiexec", path=f"{beside_python}:{os.environ.get('PATH', '')}"):
        return "needs mpiexec: pip install 'gcm-grid[mpi]' to include it"
    return ""


def _lacks_slurm() -> str:
    if Path("/usr/sbin/slurmctld").exists() and Path("/usr/sbin/munged").exists():
        return ""
    return "needs Slurm and munge (apt-get install slurm-wlm munge)"


def _lacks_grid_engine() -> str:
    if Path("/usr/sbin/sge_qmaster").exists() and Path("/usr/sbin/sge_execd").exists():
        return ""
    return "needs Grid Engine (apt-get install gridengine-master gridengine-exec gridengine-client)"


def _lacks_oar() -> str:
    if Path("/usr/lib/oar/Almighty").exists() and any(Path("/usr/lib/postgresql").glob("*/bin")):
        return ""
    return "needs OAR (apt-get install oar-server oar-server-pgsql oar-node oar-user-pgsql)"


LACKS: dict[str, Callable[[], str]] = {
    "needs_root": _lacks_root,
    "needs_sshd": _lacks_sshd,
    "needs_oath": _lacks_oath,
    "needs_slurm": _lacks_slurm,
    "needs_grid_engine": _lacks_grid_engine,
    "needs_oar": _lacks_oar,
    "mpi": _lacks_mpi,
}


PROMISED = {"needs_slurm": "slurm", "needs_grid_engine": "grid-engine", "needs_oar": "oar"}
"""Marks of what docs/batch.md promises of a system: where CI is set, no such test is skipped."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only",
        choices=("quick", "slow"),
        help="the tests of `make test`, or all the others",
    )
    parser.addoption(
        "--on-nodes",
        action="store_true",
        help="a machine runs in this process, and primitives live on it (tests/on_nodes.py)",
    )
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write the scripts that tests compare with what happens again (tests/scripts.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    missing = [name for name in (*QUICK, *LONGEST) if not (HERE / name).exists()]
    if missing and config.getoption("--only"):
        raise pytest.UsageError(
            f"QUICK or LONGEST in {__file__} names what is not there: {missing}"
        )
    state = tempfile.TemporaryDirectory(prefix="gcm-state-")
    config.add_cleanup(state.cleanup)
    os.environ["XDG_STATE_HOME"] = state.name  # where runs that fail leave their logs


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the other tests unread: to import them all takes a good part of `make test`."""
    if not (wanted := config.getoption("--only")):
        return None
    quick = [HERE / name for name in QUICK]
    is_quick = any(collection_path.is_relative_to(path) for path in quick)
    if wanted == "slow":
        return is_quick or None
    leads_there = any(path.is_relative_to(collection_path) for path in quick)
    return None if is_quick or leads_there else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        cells = [cell for mark in item.iter_markers("shows") for cell in mark.args]
        systems = [name for need, name in PROMISED.items() if item.get_closest_marker(need)]
        item.user_properties += [("real", f"{one}: {cell}") for one in systems for cell in cells]
    places = {HERE / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, lacks in LACKS.items():
        if item.get_closest_marker(marker) and (reason := lacks()):
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    is_promised = os.environ.get("CI") and any(map(item.get_closest_marker, PROMISED))
    if report.skipped and is_promised and call.excinfo is not None:
        report.outcome = "failed"
        report.longrepr = f"with CI set this is not skipped: {call.excinfo.value}"
    return report
