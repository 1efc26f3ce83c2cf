"""What processes answer about their bindings, and how long those that are silent are waited for."""

from __future__ import annotations

import time
from typing import Any

from gcm.errors import NoSuchComponentError
from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.processes.launcher.bindings import answered_bindings
from runtime.processes.launcher.tree import machine_tree
from tests.unit.engine.test_machine_tree import NAMED, plan


def test_silent_processes_are_waited_for_together() -> None:
    asked: list[str] = []

    def nobody(call: Invocation) -> Future[Any]:
        asked.append(call.component)
        return Future(call)

    machine = machine_tree(plan(NAMED).components(), nobody)
    began = time.monotonic()
    found, silent = answered_bindings(machine, nobody, timeout=0.2)
    assert time.monotonic() - began < 0.2 * len(set(asked))  # one after another it was that
    assert found == set()
    assert len(silent) == len(set(asked))
    assert set(silent.values()) == {"no answer within 0.2 s"}


def test_a_process_that_is_not_there_leaves_the_answers_of_the_others() -> None:
    def some(call: Invocation) -> Future[Any]:
        answer: Future[Any] = Future(call)
        if "site0" in call.component:
            answer.set_exception(NoSuchComponentError("it has gone", component=call.component))
        else:
            answer.set_result(["/elsewhere.door"])
        return answer

    found, silent = answered_bindings(
        machine_tree(plan(NAMED).components(), some), some, timeout=10.0
    )
    assert {one.server for one in found} == {"/elsewhere.door"}
    assert silent
    assert all("it has gone" in why for why in silent.values())
