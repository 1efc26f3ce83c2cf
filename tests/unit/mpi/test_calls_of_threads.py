"""In which calls threads are, read from their stacks: whether it is the same call still."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from mpi4py import MPI

from runtime.home import HOME
from runtime.mpi.surface.observed_calls import _counting
from runtime.mpi.surface.traced_calls import _complete_one, _rows
from runtime.mpi.surface.waiting_calls import (
    CallOfThread,
    CallWatch,
    _fingerprint,
    begun_by,
    receiver,
)

# As if they were of the package: what counts is the file of the code, and its name.
OURS = """
def Recv(self, come, go):
    come.set()
    assert go.wait(60)

def Iprobe(self, come, go):
    come.set()
    assert go.wait(60)
"""


class Program:
    """A thread that makes one call after another, each when the one before is let go."""

    def __init__(self, *names: str) -> None:
        self.functions: dict[str, Any] = {}
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
    return [one for one in watch.look().calls if one.caller.f_code.co_name == "step"]


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


def test_a_look_leaves_the_variables_of_the_program_as_they_are() -> None:
    class Large:
        pass

    def look(thread: int) -> None:
        looking = threading.Thread(target=lambda: _fingerprint(sys._current_frames()[thread]))
        looking.start()
        looking.join()

    def program() -> bool:
        large = Large()
        freed = weakref.ref(large)
        look(threading.get_ident())
        del large
        return freed() is None

    def other_program() -> list[str]:
        first = 1
        taken = locals()
        second = first
        look(threading.get_ident())
        del second
        return list(taken)

    assert program()
    assert "second" not in other_program()


def test_a_call_that_only_asks_is_no_wait(programs: list[Program]) -> None:
    programs.append(program := Program("Iprobe"))
    program.reach(0)
    assert seen(CallWatch()) == []
    assert CallWatch().look().may_act


def test_what_was_looked_at_keeps_nothing_of_the_call(programs: list[Program]) -> None:
    programs.append(program := Program("Recv"))
    program.reach(0)
    watch = CallWatch()
    assert len(seen(watch)) == 1
    program.let_go(0)
    program.thread.join()
    assert seen(watch) == []
    assert not watch._unmarked


def test_a_native_call_is_known_where_it_is_counted_and_traced() -> None:
    lock = threading.Lock()
    native: Any = partial(lock.acquire)  # it waits in no frame of Python, as mpi4py does
    native.__name__ = "Wait"
    counted = _counting(native, "Wait")
    traced: Any = _complete_one(counted, _rows.call("Wait", "wait"), "Wait")

    class Blocking(int):
        _posted = None

    def step() -> None:
        traced(Blocking(True), -1)

    lock.acquire()
    thread = threading.Thread(target=step, name="program")
    thread.start()
    watch = CallWatch()
    while not (calls := seen(watch)):
        pass
    lock.release()
    thread.join()
    assert [(one.name, one.frame) for one in calls] == [("Wait", None)]


class FakeComm:
    """Stands for a communicator and its requests: what it is asked waits on its frame."""

    def __init__(self) -> None:
        self.began: list[str] = []

    def Ibarrier(self) -> FakeComm:
        return self

    def Iallreduce(self) -> FakeComm:
        return self

    def Wait(self) -> None:
        self.began.append(begun_by(sys._getframe(1)))


def test_the_call_that_began_a_request_is_known_where_the_bytecode_shows_it() -> None:
    comm, (held, both) = FakeComm(), (FakeComm(), FakeComm())
    comm.Ibarrier().Wait()
    request = comm.Iallreduce()
    request.Wait()
    held.Wait()
    either = comm.Ibarrier()
    either = comm.Iallreduce()
    either.Wait()
    assert (comm.began, held.began, both.began) == (["Ibarrier", "Iallreduce", ""], [""], [])


class Asked(MPI.Request):
    """A request that notes what is found where it is waited for."""

    def __init__(self) -> None:
        self.found: list[object] = []

    def wait(self, *_: object) -> None:
        self.found.append(receiver(sys._getframe(1)))


class Halo:
    def __init__(self) -> None:
        self.request = Asked()


def waits_for_requests(halo: Halo, one: Asked) -> None:
    """Make the calls in a function that `pytest` does not rewrite to look at its locals."""
    held = {"left": one, "right": one}
    halo.request.wait()
    for request in held.values():
        request.wait(halo)
    held["right"].wait()
    [one][0].wait()  # not of a variable


def test_the_request_that_is_waited_for_is_found_in_plain_expressions() -> None:
    halo, one = Halo(), Asked()
    waits_for_requests(halo, one)
    assert halo.request.found == [halo.request]
    assert one.found == [one, one, one, None]
