"""What a window keeps of accesses that are not done, and what becomes of late answers."""

from __future__ import annotations

from typing import cast

from runtime.mpi.progress.engine import Engine
from runtime.mpi.progress.losses import LossHandler
from runtime.mpi.progress.operations import Finished, Operation
from runtime.mpi.windows.waiting import Answered, Unfinished


class Pending(Operation):
    """An operation that counts how often it is tested."""

    tests = 0

    def test(self) -> bool:
        Pending.tests += 1
        return False


def test_many_pending_accesses_are_tested_a_few_times_each_at_most() -> None:
    Pending.tests = 0
    kept = Unfinished()
    for _ in range(4096):
        kept.add(Pending())
    assert len(kept.operations) == 4096
    assert Pending.tests <= 2 * 4096


def test_accesses_that_are_done_are_forgotten() -> None:
    kept = Unfinished()
    for _ in range(1000):
        kept.add(Finished())
    assert len(kept.operations) <= 64


def test_an_answer_that_comes_after_the_call_has_failed_stays_out_of_its_buffer() -> None:
    buffer = bytearray(4)
    engine = cast("Engine", None)  # it asks for losses only when it is tested
    answered = Answered(engine, LossHandler(), 1, "data", memoryview(buffer))
    answered.finish(OSError("lost"))
    answered.answer(memoryview(b"late"))
    assert answered.into is None
    assert isinstance(answered.error, OSError)
    assert buffer == bytes(4)
