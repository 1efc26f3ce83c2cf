"""What processes answer about their bindings, and how long those that are silent are waited for."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gcm.components.controller import BINDING
from gcm.components.membrane import control_name
from gcm.errors import NoSuchComponentError
from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from gcm.membranes.lifecycle import State
from runtime.machine.contracts import BINDING_CONTROLLER
from runtime.processes.launcher.bindings import answered_bindings
from runtime.processes.launcher.tree import machine_tree
from runtime.processes.member_host import names_in
from tests.unit.processes.test_machine_tree import NAMED, plan


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
            why = "it has gone\nRemote traceback of the front-end:\nTraceback ..."
            answer.set_exception(NoSuchComponentError(why, component=call.component))
        else:
            answer.set_result(["/elsewhere.door"])
        return answer

    for state, said in (
        (State.STARTED, "it has gone"),
        (State.STOPPED, "it does not run: it is stopped"),
    ):

        def life(_: str, now: State = state) -> State:
            return now

        machine = machine_tree(plan(NAMED).components(), some, life)
        found, silent = answered_bindings(machine, some, timeout=10.0)
        assert {one.server for one in found} == {"/elsewhere.door"}
        assert set(silent.values()) == {said}


def test_an_answer_that_has_no_names_is_a_fault_for_the_one_who_asked() -> None:
    def nameless(_: object) -> str:
        raise AttributeError("it has no owner")

    answer: Future[Any] = Future("the bindings")
    named = names_in(answer, nameless)
    answer.set_result(["something"])
    with pytest.raises(AttributeError, match="it has no owner"):
        named.result(timeout=0)


def test_the_fault_of_an_answer_is_that_of_its_names() -> None:
    answer: Future[Any] = Future("the bindings")
    named = names_in(answer, str)
    answer.set_exception(NoSuchComponentError("it has gone", component="/there"))
    with pytest.raises(NoSuchComponentError, match="it has gone"):
        named.result(timeout=0)


def test_the_machine_asks_for_the_interface_that_components_have() -> None:
    assert control_name(BINDING) == BINDING_CONTROLLER
