"""In which calls threads are, as they have written down, and whether it is the same call still."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from mpi4py import MPI

from runtime.home import HOME
from runtime.mpi.progress.latest_calls import LatestCall, begun, note, of_threads, write_down
from runtime.mpi.requests.requests import Prequest, started_in_cluster
from runtime.mpi.surface.line_calls import waits_for_a_thread
from runtime.mpi.surface.waiting_calls import CallOfThread, CallWatch, stacks

# As if they were of the package: what counts is the file of the code, and its name.
OURS = """
def Recv(self, come, go):
    write_down("Recv", self, 1, 7)
    come.set()
    assert go.wait(60)

def Iprobe(self, come, go):
    come.set()
    assert go.wait(60)

def Split(self, come, go):
    note("Split", self)
    Recv(self, come, go)
"""


class Program:
    """A thread that makes one call after another, each when the one before is let go."""

    def __init__(self, *names: str) -> None:
        self.functions: dict[str, Any] = {"note": note, "write_down": write_down}
        exec(compile(OURS, f"{HOME}/runtime/mpi/of_a_test.py", "exec"), self.functions)
        self.steps = [(name, threading.Event(), threading.Event()) for name in names]
        self.thread = threading.Thread(target=self.step, name="program")
        self.thread.start()

    def step(self) -> None:
        for name, come, go in self.steps:
            self.functions[name](self, come, go)

    def reach(self, number: int) -> None:
        assert self.steps[number][1].wait(60)

    def let_go(self, number: int) -> None:
        self.steps[number][2].set()


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    started: list[Program] = []
    yield started
    for program in started:
        for number in range(len(program.steps)):
            program.let_go(number)
        program.thread.join()


def seen(watch: CallWatch) -> list[CallOfThread]:
    return [one for one in watch.look().calls if " in step" in one.where]


def test_a_call_that_is_seen_again_is_the_same_and_the_next_one_is_another(
    programs: list[Program],
) -> None:
    programs.append(program := Program("Recv", "Recv"))
    watch = CallWatch()
    program.reach(0)
    first, again = (seen(watch)[0].mark.serial for _ in range(2))
    program.let_go(0)
    program.reach(1)
    (other,) = seen(watch)
    assert first == again != other.mark.serial
    line = Program.step.__code__.co_firstlineno + 2
    assert (other.name, other.where) == ("Recv", f"test_calls_of_threads.py:{line} in step")
    assert other.written == ("Recv", program, 1, 7)
    assert other.goes_on
    program.let_go(1)
    program.thread.join()
    assert not other.goes_on


def test_a_call_that_is_made_of_others_is_told_as_itself(programs: list[Program]) -> None:
    programs.append(program := Program("Split", "Recv"))
    program.reach(0)
    (call,) = seen(CallWatch())
    assert call.written == ("Split", program)
    program.let_go(0)
    program.reach(1)
    (call,) = seen(CallWatch())
    assert call.name == "Recv"


def test_a_call_that_only_asks_is_no_wait(programs: list[Program]) -> None:
    programs.append(program := Program("Recv", "Iprobe"))
    program.let_go(0)
    program.reach(1)
    assert seen(CallWatch()) == []
    assert CallWatch().look().may_act


def test_what_was_looked_at_keeps_nothing_of_a_thread_that_has_ended() -> None:
    watch, program = CallWatch(), Program("Recv")
    program.reach(0)
    assert len(seen(watch)) == 1
    program.let_go(0)
    program.thread.join()
    assert seen(watch) == []
    assert program.thread.ident not in of_threads
    assert not watch._marks


class Held:
    """Something that a thread has in a variable."""


@pytest.mark.parametrize("look", [lambda: CallWatch().look(), stacks], ids=["calls", "stacks"])
def test_what_threads_have_on_their_stacks_goes_with_them_and_waits_for_no_garbage_collector(
    look: Callable[[], object],
) -> None:
    come, go, known = threading.Event(), threading.Event(), list[weakref.ref[Held]]()

    def hold() -> None:
        held = Held()
        known.append(weakref.ref(held))
        come.set()
        go.wait(60)

    gc.disable()
    try:
        thread = threading.Thread(target=hold)
        thread.start()
        come.wait(60)
        look()
        go.set()
        thread.join()
        assert known[0]() is None
    finally:
        gc.enable()


def test_a_thread_that_begins_while_others_are_looked_at_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frames, number = sys._current_frames, -1  # of no thread

    def current_frames() -> Any:
        found = frames()
        of_threads[number] = LatestCall()
        return found

    monkeypatch.setattr(sys, "_current_frames", current_frames)
    CallWatch().look()
    assert of_threads.pop(number, None) is not None


ONE_THREAD_AND_MORE = """
import _thread, threading
from runtime.mpi.progress.latest_calls import expect_one_thread, of_threads, sole, write_down

def starting(start):
    began = threading.Event()
    def other():
        write_down("Recv", None, 1)
        began.set()
    expect_one_thread()
    write_down("Send", None, 1)
    start(other)
    assert began.wait(60)
    return of_threads[threading.main_thread().ident].call[0], sole.latest is None

def ours(function):
    threading.Thread(target=function, name="gcm-of-ours").start()

print(starting(START))
"""


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("lambda function: threading.Thread(target=function).start()", "('Send', True)"),
        ("lambda function: _thread.start_new_thread(function, ())", "('Send', True)"),
        ("ours", "('Recv', False)"),  # which makes no calls of the program
    ],
)
def test_a_program_writes_to_one_place_until_it_starts_a_thread(start: str, told: str) -> None:
    code = ONE_THREAD_AND_MORE.replace("START", start)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == told


class Requests:
    """Stands for a communicator whose requests wait in no frame of Python, as mpi4py's do."""

    def __init__(self, lock: threading.Lock) -> None:
        self.made = SimpleNamespace(Wait=lock.acquire, wait=lock.acquire)

    def Ibarrier(self) -> Any:
        return self.made

    def Iallreduce(self) -> Any:
        return self.made


def step_at_once(comm: Requests) -> None:
    comm.Ibarrier().Wait()


def step_with_a_variable(comm: Requests) -> None:
    request = comm.Iallreduce()
    request.Wait()


def step_with_either(comm: Requests) -> None:
    request = comm.Ibarrier()
    if comm.made.Wait:
        request = comm.Iallreduce()
    request.wait()


def step_with_an_attribute(comm: Any) -> None:
    comm.left = comm.Iallreduce()
    comm.left.wait()


def step_over_several(comm: Requests) -> None:
    request = comm.Ibarrier()
    for request in [comm.made]:  # any request
        request.wait()


def step_over_lines(comm: Requests) -> None:
    for request in [comm.made]:
        request.Wait(
            True,
        )


def step_in_a_lock(comm: Requests) -> None:
    acquire = comm.made.wait
    acquire()


@pytest.mark.parametrize(
    ("step", "found"),
    [
        (step_at_once, ("Wait", "Ibarrier")),
        (step_with_a_variable, ("Wait", "Iallreduce")),
        (step_with_either, ("wait", "")),
        (step_with_an_attribute, ("wait", "Iallreduce")),
        (step_over_several, ("wait", "")),
        (step_over_lines, ("Wait", "")),
        (step_in_a_lock, None),
    ],
)
def test_a_wait_of_native_mpi_is_named_by_the_line_that_calls_it(
    step: Callable[[Any], None], found: tuple[str, str] | None
) -> None:
    lock, watch, looked = threading.Lock(), CallWatch(), list[CallOfThread]()
    lock.acquire()
    thread = threading.Thread(target=step, args=(Requests(lock),), name="program")
    thread.start()
    try:
        for _ in range(1 if found is None else 100_000):
            if looked := seen(watch):
                break
        assert [(one.name, one.began) for one in looked] == ([] if found is None else [found])
        if found is not None:
            (first,), (again,) = looked, seen(watch)
            assert first.mark.serial == again.mark.serial
            assert again.goes_on
            begun.comm = "a communicator"  # as what begins something does
            (other,) = seen(watch)
            assert other.mark.serial != first.mark.serial
    finally:
        lock.release()
        thread.join()


def waiting(*args: float, **options: float) -> Callable[[threading.Event], threading.Thread]:
    def wait(event: threading.Event) -> threading.Thread:
        return threading.Thread(target=lambda: event.wait(*args, **options))

    return wait


def waiting_for_ever(event: threading.Event) -> threading.Thread:
    return threading.Thread(target=lambda: event.wait())  # noqa: PLW0108 - the line counts


@pytest.mark.parametrize(
    ("make", "is_at_rest"),
    [
        (waiting_for_ever, True),
        (waiting(60), False),
        (waiting(timeout=60), False),
        (lambda _: threading.Timer(1, lambda: None), False),
    ],
)
def test_a_thread_that_waits_for_a_time_may_act(
    make: Callable[[threading.Event], threading.Thread], is_at_rest: bool
) -> None:
    event, found = threading.Event(), False
    thread = make(event)
    thread.start()
    for _ in range(10_000):
        frame = sys._current_frames().get(thread.ident or 0)
        found = frame is not None and waits_for_a_thread(frame)
        if found:
            break
    assert found == is_at_rest
    event.set()
    thread.join()


def test_persistent_requests_that_are_started_together_are_seen_to_begin() -> None:
    requests = [
        started_in_cluster(MPI.COMM_SELF.Send_init(bytearray(1), 0), MPI.COMM_SELF),
        started_in_cluster(MPI.COMM_SELF.Recv_init(bytearray(1), 0), MPI.COMM_SELF),
    ]
    assert begun.comm == MPI.COMM_SELF  # where messages are looked for that nobody receives
    begun.comm = None  # as who looks does
    Prequest.Startall(requests)
    assert begun.comm is not None
    begun.comm = None
    MPI.Request.Waitall(requests)
    for one in requests:
        one.Free()
