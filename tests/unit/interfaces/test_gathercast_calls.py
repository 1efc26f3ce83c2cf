"""Gathercast through bindings: rounds, timeouts, refusals, results by index."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    InterfaceType,
    Primitive,
    active,
    composite,
    one_by_one,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import (
    CopyError,
    GathercastMemberError,
    GathercastTimeoutError,
    GcmError,
    IllegalLifeCycleError,
    IllegalTypeError,
)
from gcm.interfaces.collective.gathercast import Ticket
from gcm.membranes.collective import GathercastController
from gcm.membranes.content import ContentController
from gcm.membranes.lifecycle import LifeCycleController
from tests.unit.parts import WAIT, Ended, InThread

GATHER = Cardinality.GATHERCAST


class Sum(Protocol):
    def add(self, value: int, note: str = "") -> int: ...
    def nothing(self) -> None: ...
    @one_by_one
    def hello(self, name: str) -> str: ...


@provides("sum", Sum, cardinality=GATHER)
class Adder:
    def __init__(self) -> None:
        self.rounds: list[list[int]] = []
        self.answer: Callable[[list[int]], Any] = lambda value: [one + sum(value) for one in value]
        self.served = threading.Semaphore(0)

    def add(self, value: list[int], note: list[str] | None = None) -> list[int]:
        self.rounds.append(value)
        result: list[int] = self.answer(value)
        self.served.release()
        return result

    def nothing(self) -> None: ...

    def hello(self, name: str) -> str:
        return f"hello {name}"


class Giver:
    sum: Annotated[Sum, requires()]


def assembled(count: int, server: Primitive | None = None) -> tuple[Primitive, list[Primitive]]:
    server = server or primitive(Adder)
    givers = [primitive(Giver, f"g{number}") for number in range(count)]
    for giver in givers:
        giver.bind("sum", server.server("sum"))
        giver.start()
    server.start()
    return server, givers


def add(giver: Component, value: int) -> Any:
    """Call without waiting: the future of one client's call."""
    return submit(giver.content.sum.add, value)


def configure(server: Component, **how: Any) -> None:
    server.controller(GathercastController).configure("sum", **how)


@pytest.mark.parametrize("make", [primitive, active])
def test_one_call_of_each_client_becomes_one_call_with_lists_in_binding_order(
    make: Callable[..., Primitive], ended: Ended
) -> None:
    server, givers = assembled(3, ended(make(Adder)))
    futures = {number: add(givers[number], number * 10) for number in (2, 0)}
    assert not any(future.done() for future in futures.values())
    futures[1] = add(givers[1], 10)
    assert [futures[number].result(WAIT) for number in range(3)] == [30, 40, 50]
    assert server.content.rounds == [[0, 10, 20]]


def test_clients_that_several_threads_bind_at_once_are_all_waited_for() -> None:
    clients = [primitive(Giver, f"g{number}").client("sum") for number in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as threads:
            for _ in range(300):  # without care it goes wrong about once in thirty times
                server = primitive(Adder)
                server.start()
                stubs: list[Any] = list(threads.map(server.server("sum").connect, clients))
                calls = [submit(stub.add, 1) for stub in stubs]
                assert [call.done() for call in calls] == [True] * 3
                assert server.content.rounds == [[1, 1, 1]]
    finally:
        sys.setswitchinterval(before)


def test_clients_may_be_bound_while_the_server_starts() -> None:
    givers = [primitive(Giver, f"g{number}") for number in range(20)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as threads:
            for _ in range(20):
                server = primitive(Adder)
                sum_ = server.server("sum")
                starting = threads.submit(server.start)
                stubs: list[Any] = [sum_.connect(giver.client("sum")) for giver in givers]
                starting.result(WAIT)
                calls = [submit(stub.add, 1) for stub in stubs]
                assert [call.result(WAIT) for call in calls] == [21] * 20
    finally:
        sys.setswitchinterval(before)


def test_a_single_client_makes_rounds_of_one() -> None:
    server, (giver,) = assembled(1)
    assert giver.content.sum.add(5) == 10
    assert server.content.rounds == [[5]]


def test_a_repeated_call_of_one_client_opens_the_next_round() -> None:
    server, (one, other) = assembled(2)
    futures = [add(one, 1), add(one, 2), add(one, 3)]
    assert server.content.rounds == []
    futures += [add(other, 10), add(other, 20), add(other, 30)]
    assert server.content.rounds == [[1, 10], [2, 20], [3, 30]]
    assert [future.result(WAIT) for future in futures] == [12, 24, 36, 21, 42, 63]


def test_each_operation_has_rounds_of_its_own() -> None:
    server, (one, other) = assembled(2)
    adding = add(one, 1)
    submit(one.content.sum.nothing)
    assert server.controller(GathercastController).waiting("sum") == {
        "add": ["/g1.sum"],
        "nothing": ["/g1.sum"],
    }
    other.content.sum.nothing()
    assert not adding.done()
    assert other.content.sum.add(2) == 5
    assert adding.result(WAIT) == 4


def test_keywords_are_gathered_like_positions() -> None:
    server, (one, other) = assembled(2)
    noted: list[Any] = []
    server.content.add = lambda value, note: noted.append((value, note))
    server.rewire()
    first = submit(one.content.sum.add, 1, note="a")
    other.content.sum.add(2, note="b")
    assert noted == [([1, 2], ["a", "b"])]
    assert first.result(WAIT) is None


def test_a_parameter_that_some_clients_leave_out_has_its_default_for_them() -> None:
    server, (one, other) = assembled(2)
    noted: list[Any] = []
    server.content.add = lambda value, note: noted.append((value, note))
    server.rewire()
    submit(one.content.sum.add, 1, note="a")
    other.content.sum.add(2)
    assert noted == [([1, 2], ["a", ""])]


def test_an_operation_without_result_gives_none_to_everybody() -> None:
    _, (one, other) = assembled(2)
    first = submit(one.content.sum.nothing)
    assert other.content.sum.nothing() is None
    assert first.result(WAIT) is None


def test_the_error_of_a_round_goes_to_every_caller() -> None:
    server, (one, other) = assembled(2)
    server.content.answer = lambda value: 1 // 0
    futures = [add(one, 1), add(other, 2)]
    assert [type(future.exception(WAIT)) for future in futures] == [ZeroDivisionError] * 2


def test_even_an_exit_goes_to_every_caller() -> None:
    server, (one, other) = assembled(2)

    def leave(value: list[int]) -> None:
        raise SystemExit(3)

    server.content.answer = leave
    first = add(one, 1)
    with pytest.raises(SystemExit):
        add(other, 2)
    assert isinstance(first.exception(WAIT), SystemExit)


class Odd:
    """A result that can be indexed but has no length."""

    def __getitem__(self, index: int) -> int:
        return index


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([1], "has to return a list with one result per caller: 2 called, and it returned 1"),
        (7, "has to return a list with one result per caller, not a int"),
        (Odd(), "object of type 'Odd' has no len()"),
    ],
)
def test_a_result_that_fits_nobody_is_an_error_of_everybody(result: Any, message: str) -> None:
    server, (one, other) = assembled(2)
    server.content.answer = lambda value: result
    futures = [add(one, 1), add(other, 2)]
    errors = [future.exception(WAIT) for future in futures]
    assert all(message in str(error) for error in errors)
    if isinstance(errors[0], GcmError):
        assert (errors[0].component, errors[0].interface) == ("/adder", "sum")


def test_arguments_that_cannot_cross_into_an_active_object_are_an_error_of_everybody(
    ended: Ended,
) -> None:
    _, (one, other) = assembled(2, ended(active(Adder)))
    uncopyable: Any = threading.Lock()
    futures = [submit(giver.content.sum.add, uncopyable) for giver in (one, other)]
    assert [type(future.exception(WAIT)) for future in futures] == [CopyError] * 2


def test_a_caller_without_a_binding_is_refused() -> None:
    server, _ = assembled(2)
    with pytest.raises(GcmError) as caught:
        server.stub("sum", Sum).add(1)
    assert str(caught.value) == (
        "'add' of a gathercast interface was called without a binding "
        "[component /adder, interface 'sum']. Call it through a bound client interface: "
        "it gathers one call of each (/g0.sum, /g1.sum)"
    )
    with pytest.raises(GcmError, match=r"\(none is bound yet\)"):
        assembled(0)[0].stub("sum", Sum).add(1)


def test_a_client_that_was_unbound_is_refused() -> None:
    server, (one, other) = assembled(2)
    stub = one.content.sum
    one.stop()
    one.unbind("sum")
    with pytest.raises(GcmError, match="'/g0.sum' called a gathercast interface that it is not"):
        stub.add(1)
    assert other.content.sum.add(2) == 4
    assert server.content.rounds == [[2]]


def test_an_operation_marked_one_by_one_is_served_for_each_client_alone() -> None:
    server, (one, _) = assembled(2)
    assert one.content.sum.hello("you") == "hello you"
    assert server.stub("sum", Sum).hello("all") == "hello all"


def test_a_round_that_is_not_full_in_time_fails_for_all_who_wait_in_it() -> None:
    server, givers = assembled(3)
    configure(server, timeout=0.3)
    futures = [add(giver, 1) for giver in givers[:2]]
    for future in futures:
        with pytest.raises(GathercastTimeoutError) as caught:
            future.result(WAIT)
        assert str(caught.value) == (
            "'add' gave up after 0.3 s: /g2.sum did not call "
            "[component /adder, interface 'sum']. "
            "Let every bound client call, unbind those that do not, or raise the timeout"
        )
    assert server.content.rounds == []
    assert server.controller(GathercastController).waiting("sum") == {}


def test_after_a_timeout_the_next_round_is_a_fresh_one() -> None:
    server, (one, other) = assembled(2)
    configure(server, timeout=0.02)
    with pytest.raises(GathercastTimeoutError):
        add(one, 1).result(WAIT)
    configure(server, timeout=WAIT)
    futures = [add(one, 2), add(other, 3)]
    assert [future.result(WAIT) for future in futures] == [7, 8]
    assert server.content.rounds == [[2, 3]]


def running_timers() -> set[threading.Timer]:
    """Timers that were not called off; those that were take a moment to end."""
    timers = (one for one in threading.enumerate() if isinstance(one, threading.Timer))
    return {one for one in timers if not one.finished.is_set()}


def test_a_full_round_leaves_no_timer_behind() -> None:
    server, (one, other) = assembled(2)
    configure(server, timeout=60.0)
    before = running_timers()
    futures = [add(one, 1), add(one, 2), add(other, 1)]
    assert len(running_timers() - before) == 1
    futures.append(add(other, 2))
    assert [future.result(WAIT) for future in futures] == [3, 6, 3, 6]


def test_without_waiting_for_all_each_first_call_is_a_round() -> None:
    server, (one, _) = assembled(2)
    configure(server, wait_for_all=False)
    assert one.content.sum.add(1) == 2
    assert one.content.sum.add(2) == 4
    assert server.content.rounds == [[1], [2]]


def test_those_that_have_called_hear_who_left_before_it_called() -> None:
    server, (one, other) = assembled(2)
    configure(server, when_left="refuse")
    waiting = add(one, 1)
    other.stop()
    other.unbind("sum")
    with pytest.raises(GathercastMemberError) as caught:
        waiting.result(WAIT)
    assert str(caught.value) == (
        "'add' was not called by /g1.sum, which is no longer bound "
        "[component /adder, interface 'sum']. Call again without it, or configure the gathercast "
        "to go on without those that leave, or to keep their places for others"
    )
    assert one.content.sum.add(2) == 4


def test_a_replacement_calls_from_the_place_of_the_one_that_left_in_every_operation() -> None:
    server, (one, other, third) = assembled(3)
    configure(server, when_left="replace")
    waiting = [add(one, 1), add(third, 3)]
    other.stop()
    other.unbind("sum")
    new = primitive(Giver, "new")
    new.bind("sum", server.server("sum"))
    new.start()
    assert server.controller(GathercastController).waiting("sum") == {"add": ["/new.sum"]}
    assert add(new, 2).result(WAIT) == 8
    assert [call.result(WAIT) for call in waiting] == [7, 9]
    assert server.content.rounds == [[1, 2, 3]]
    # an operation that nobody had called before knows the places too
    calls = [submit(giver.content.sum.nothing) for giver in (one, third, new)]
    assert [call.result(WAIT) for call in calls] == [None, None, None]


def test_what_becomes_of_those_that_leave_is_one_of_three_words() -> None:
    server, _ = assembled(1)
    with pytest.raises(IllegalTypeError) as caught:
        configure(server, when_left="ignore")
    assert str(caught.value) == (
        "rounds cannot 'ignore' when a client leaves [component /adder, interface 'sum']. "
        "Say one of: go-on, refuse, replace"
    )


def test_a_long_wait_says_once_who_is_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, in_thread: InThread
) -> None:
    monkeypatch.setattr(Ticket, "patience", 0.02)
    _, (one, other, last) = assembled(3)
    callers = [in_thread(giver.content.sum.add, 1) for giver in (one, other)]
    while not caplog.messages:
        time.sleep(0.01)
    last.content.sum.add(1)
    for caller in callers:
        caller.join(WAIT)
    (said,) = caplog.messages
    first, second = sorted(["/g0.sum", "/g1.sum"])
    assert re.fullmatch(
        r"for 0\.02 s 'add' of the gathercast interface /adder\.sum waits for all to call: "
        rf"({first}, {second}|{first}|{second}) did, .*/g2\.sum did not",
        said,
    )


def test_rounds_are_configured_only_while_nobody_waits_in_one() -> None:
    server, (one, other) = assembled(2)
    waiting = add(one, 1)
    with pytest.raises(IllegalLifeCycleError) as caught:
        configure(server, wait_for_all=False)
    assert str(caught.value) == (
        "calls are waiting in a round of the interface [component /adder, interface 'sum']. "
        "Configure it before the first call, or once the round is over"
    )
    add(other, 1)
    assert waiting.result(WAIT) == 3


def test_a_client_that_is_bound_later_is_waited_for_too() -> None:
    server, (one,) = assembled(1)
    assert one.content.sum.add(1) == 2
    late = primitive(Giver, "late")
    late.bind("sum", server.server("sum"))
    late.start()
    first = add(one, 1)
    assert not first.done()
    assert late.content.sum.add(2) == 5
    assert first.result(WAIT) == 4


def test_a_round_that_waited_only_for_an_unbound_client_is_served() -> None:
    server, (one, other) = assembled(2)
    configure(server, timeout=60.0)
    waiting = add(one, 4)
    other.stop()
    other.unbind("sum")
    assert waiting.result(WAIT) == 8
    assert server.content.rounds == [[4]]


def test_a_round_that_is_completed_by_unbinding_waits_for_the_start_of_a_stopped_server(
    in_thread: InThread,
) -> None:
    server, (one, other) = assembled(2)
    waiting = add(one, 4)
    in_thread(server.stop).join(WAIT)
    other.stop()
    other.unbind("sum")
    assert server.content.rounds == []
    assert not waiting.done()
    server.start()
    assert waiting.result(WAIT) == 8


def test_a_round_that_is_completed_by_unbinding_is_refused_if_the_server_ends(
    in_thread: InThread,
) -> None:
    server, (one, other) = assembled(2)
    waiting = add(one, 4)
    in_thread(server.stop).join(WAIT)
    other.stop()
    other.unbind("sum")
    server.terminate()
    assert "has ended" in str(waiting.exception(WAIT))


def test_the_end_of_the_server_refuses_who_waits_in_a_round() -> None:
    server, (one, _) = assembled(2)
    futures = [add(one, 1), add(one, 2)]
    server.stop()
    server.terminate()
    for future in futures:
        error = future.exception(WAIT)
        assert isinstance(error, IllegalLifeCycleError)
        assert str(error) == "the component has ended [component /adder, interface 'sum']"


def test_a_round_is_completed_by_calls_that_were_held_at_the_gate(in_thread: InThread) -> None:
    server, (one, other) = assembled(2)
    first = add(one, 1)
    in_thread(server.stop).join(WAIT)
    results: list[int] = []
    thread = in_thread(lambda: results.append(other.content.sum.add(2)))
    while (
        server.controller(LifeCycleController)._changed is None
    ):  # the first call that waits makes it
        thread.join(0.001)
    assert server.content.rounds == []
    server.start()
    thread.join(WAIT)
    assert (first.result(WAIT), results) == (4, [5])


def test_many_rounds_of_concurrent_clients_are_all_complete(in_thread: InThread) -> None:
    server, givers = assembled(4)
    rounds = 100
    results: dict[int, list[int]] = {}

    def calls(number: int) -> None:
        results[number] = [givers[number].content.sum.add(number) for _ in range(rounds)]

    for thread in [in_thread(calls, number) for number in range(4)]:
        thread.join(WAIT)
    assert server.content.rounds == [[0, 1, 2, 3]] * rounds
    assert results == {number: [number + 6] * rounds for number in range(4)}


class Sums(Protocol):
    def add(self, value: list[int]) -> list[int]: ...


class Plain(Protocol):
    def add(self, value: int) -> int: ...


@provides("sums", Sums)
class Inside:
    def add(self, value: list[int]) -> list[int]:
        return [one * 10 for one in value]


class Calling:
    sum: Annotated[Plain, requires()]


def test_a_composite_gathers_at_its_outer_face() -> None:
    box = composite("box", ComponentType((InterfaceType("sum", Plain, cardinality=GATHER),)))
    part = primitive(Inside)
    box.controller(ContentController).add(part)
    box.bind("sum", part.server("sums"))
    box.start()
    callers = [primitive(Calling, name) for name in "ab"]
    for caller in callers:
        caller.bind("sum", box.server("sum"))
        caller.start()
    first = submit(callers[0].content.sum.add, 1)
    assert callers[1].content.sum.add(2) == 20
    assert first.result(WAIT) == 10
