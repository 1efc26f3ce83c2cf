"""Active objects: one queue, one serving thread, calls by value, futures."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    active,
    immediate,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import CopyError, IllegalLifeCycleError
from gcm.membranes.requests.request_queue import Request, RequestQueueController
from tests.unit.parts import WAIT, Ended


class Desk(Protocol):
    def note(self, text: str) -> str: ...
    def block(self) -> None: ...
    def take(self, items: list[Any]) -> list[Any]: ...
    def fail(self, text: str) -> None: ...
    def twice(self, text: str) -> str: ...
    def who(self) -> str: ...
    def peek(self) -> list[str]: ...


@provides("desk", Desk)
class Clerk:
    me: Annotated[Desk, requires(optional=True)]

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.taken: list[Any] = []
        self.blocked = threading.Event()
        self.go_on = threading.Event()

    def note(self, text: str) -> str:
        self.noted.append(text)
        return text.upper()

    def block(self) -> None:
        self.blocked.set()
        assert self.go_on.wait(WAIT)

    def take(self, items: list[Any]) -> list[Any]:
        self.taken = items
        return items

    def fail(self, text: str) -> None:
        raise ValueError(text)

    def twice(self, text: str) -> str:
        return self.me.note(text) + self.me.note(text)

    def who(self) -> str:
        return threading.current_thread().name

    @immediate
    def peek(self) -> list[str]:
        return self.noted


@pytest.fixture
def clerk(ended: Ended) -> Component:
    component: Component = ended(active(Clerk))
    component.bind("me", component.server("desk"))
    component.start()
    return component


def desk_of(component: Component) -> Desk:
    return component.stub("desk", Desk)


def queue_of(component: Component) -> RequestQueueController:
    return component.controller(RequestQueueController)


def busy(component: Component) -> None:
    """Let the serving thread be inside a request until `go_on` is set."""
    submit(desk_of(component).block)
    assert component.content.blocked.wait(WAIT)


def test_requests_are_served_in_the_order_in_which_they_came(clerk: Component) -> None:
    busy(clerk)
    futures = [submit(desk_of(clerk).note, text) for text in "abcde"]
    assert queue_of(clerk).pending() == ["desk.note"] * 5
    assert queue_of(clerk).length() == 5
    assert str(queue_of(clerk).serving) == "desk.block"
    clerk.content.go_on.set()
    assert [future.result(WAIT) for future in futures] == list("ABCDE")
    assert clerk.content.noted == list("abcde")
    assert queue_of(clerk).length() == 0


def test_every_request_is_served_by_one_thread_that_is_named_after_the_component(
    clerk: Component,
) -> None:
    assert {desk_of(clerk).who() for _ in range(3)} == {"serving /clerk"}


def test_an_active_object_without_a_request_has_no_thread() -> None:
    before = threading.active_count()
    component = active(Clerk)
    component.start()
    assert threading.active_count() == before
    component.stop()
    component.terminate()


def test_arguments_cross_by_value(clerk: Component) -> None:
    inner = [1]
    given = [inner]
    desk_of(clerk).take(given)
    assert clerk.content.taken == [[1]]
    assert clerk.content.taken is not given
    assert clerk.content.taken[0] is not inner


def test_keyword_arguments_cross_by_value(clerk: Component) -> None:
    given = [1]
    desk_of(clerk).take(items=given)
    given.append(2)
    assert clerk.content.taken == [1]


def test_arguments_are_copied_when_the_call_is_made(clerk: Component) -> None:
    busy(clerk)
    given = [1]
    future = submit(desk_of(clerk).take, given)
    given.append(2)
    clerk.content.go_on.set()
    assert future.result(WAIT) == [1]


def test_results_cross_by_value(clerk: Component) -> None:
    result = desk_of(clerk).take([[1]])
    result[0].append(2)
    assert clerk.content.taken == [[1]]


def test_one_call_keeps_what_its_arguments_share(clerk: Component) -> None:
    same = [1]
    result = desk_of(clerk).take([same, same])
    assert result[0] is result[1]


def test_stubs_cross_by_reference(clerk: Component) -> None:
    stub = desk_of(clerk)
    assert desk_of(clerk).take([stub])[0] is stub
    assert clerk.content.taken[0] is stub


def test_an_argument_that_cannot_be_copied_is_an_error_of_the_call(clerk: Component) -> None:
    for call in (desk_of(clerk).take, lambda items: submit(desk_of(clerk).take, items)):
        with pytest.raises(CopyError) as caught:
            call([threading.Lock()])
        assert str(caught.value) == (
            "an argument of 'take' cannot be copied: TypeError: cannot pickle '_thread.lock' "
            "object [component /clerk, interface 'desk']. Pass plain values or a stub, which stays "
            "a reference, or let the class define __deepcopy__"
        )
        assert isinstance(caught.value.__cause__, TypeError)
    assert queue_of(clerk).pending() == []


def test_a_result_that_cannot_be_copied_is_an_error_of_the_call(clerk: Component) -> None:
    clerk.content.noted = [threading.Lock()]

    class Locked(Clerk):
        def take(self, items: list[Any]) -> list[Any]:
            return [*items, threading.Lock()]

    component = active(Locked)
    component.start()
    with pytest.raises(CopyError) as caught:
        desk_of(component).take([])
    assert caught.value.what == (
        "the result of 'take' cannot be copied: TypeError: cannot pickle '_thread.lock' object"
    )
    assert (caught.value.component, caught.value.interface) == ("/locked", "desk")
    assert isinstance(caught.value.__cause__, TypeError)
    component.stop()
    component.terminate()


def test_a_call_to_oneself_is_served_at_once(clerk: Component) -> None:
    assert desk_of(clerk).twice("a") == "AA"


def test_an_immediate_operation_passes_the_queue_in_the_thread_of_the_caller(
    clerk: Component,
) -> None:
    desk_of(clerk).note("a")
    busy(clerk)
    assert desk_of(clerk).peek() is clerk.content.noted
    clerk.content.go_on.set()


def test_an_immediate_operation_is_one_in_members_of_collections_too(ended: Ended) -> None:
    @provides("desks", Desk, cardinality=Cardinality.COLLECTION)
    class Many(Clerk):
        pass

    component = ended(active(Many))
    component.start()
    assert component.stub("desks1", Desk).peek() is component.content.noted


def test_an_exception_reaches_the_caller_with_its_traceback(clerk: Component) -> None:
    with pytest.raises(ValueError, match="^oh$") as caught:
        desk_of(clerk).fail("oh")
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "fail"
    assert desk_of(clerk).note("still alive") == "STILL ALIVE"


def test_even_an_exit_in_a_request_leaves_the_thread_serving(ended: Ended) -> None:
    class Leaving(Clerk):
        def fail(self, text: str) -> None:
            raise SystemExit(text)

    component = ended(active(Leaving))
    component.start()
    with pytest.raises(SystemExit):
        desk_of(component).fail("bye")
    assert desk_of(component).note("a") == "A"


def test_a_request_that_waits_can_be_cancelled(clerk: Component) -> None:
    busy(clerk)
    futures = [submit(desk_of(clerk).note, text) for text in "abc"]
    assert futures[1].cancel()
    clerk.content.go_on.set()
    assert futures[2].result(WAIT) == "C"
    assert futures[1].cancelled()
    assert clerk.content.noted == ["a", "c"]


def test_a_request_that_is_served_cannot_be_cancelled(clerk: Component) -> None:
    future = submit(desk_of(clerk).block)
    assert clerk.content.blocked.wait(WAIT)
    assert not future.cancel()
    clerk.content.go_on.set()
    assert future.result(WAIT) is None


def test_all_waiting_functional_requests_can_be_refused_at_once(clerk: Component) -> None:
    busy(clerk)
    futures = [submit(desk_of(clerk).note, text) for text in "ab"]
    control = submit(clerk.server("name-controller").stub.get)  # type: ignore[attr-defined]  # made at run time
    assert queue_of(clerk).cancel_all("too late") == 2
    assert queue_of(clerk).pending() == ["name.get"]
    errors = [future.exception(WAIT) for future in futures]
    assert [str(error) for error in errors] == [
        "too late [component /clerk, interface 'desk', state started]"
    ] * 2
    clerk.content.go_on.set()
    assert control.result(WAIT) == "clerk"
    assert queue_of(clerk).cancel_all("nothing waits") == 0


def test_a_policy_chooses_the_next_functional_request(clerk: Component) -> None:
    def last_first(waiting: Sequence[Request]) -> int:
        return len(waiting) - 1

    busy(clerk)
    futures = [submit(desk_of(clerk).note, text) for text in "abc"]
    queue_of(clerk).set_policy(last_first)
    clerk.content.go_on.set()
    for future in futures:
        future.result(WAIT)
    assert clerk.content.noted == ["c", "b", "a"]


def test_a_policy_sees_interface_operation_and_arguments(clerk: Component) -> None:
    seen: list[tuple[str, str, tuple[Any, ...], dict[str, Any]]] = []

    def look(waiting: Sequence[Request]) -> int:
        one = waiting[0]
        seen.append((one.interface, one.operation, one.args, one.kwargs))
        return 0

    queue_of(clerk).set_policy(look)
    desk_of(clerk).note("a")
    desk_of(clerk).note(text="b")
    assert seen == [("desk", "note", ("a",), {}), ("desk", "note", ("b",), {})]


def test_a_policy_may_serve_none_until_it_is_taken_away(clerk: Component) -> None:
    asked = threading.Event()

    def none(_: Sequence[Request]) -> None:
        asked.set()

    queue_of(clerk).set_policy(none)
    future = submit(desk_of(clerk).note, "a")
    assert asked.wait(WAIT)
    # Control requests do not wait behind functional ones that nobody wants to serve.
    assert clerk.server("name-controller").stub.get() == "clerk"  # type: ignore[attr-defined]  # made at run time
    assert not future.done()
    queue_of(clerk).set_policy(None)
    assert future.result(WAIT) == "A"


def test_a_policy_is_asked_again_at_each_new_request(clerk: Component) -> None:
    def in_pairs(waiting: Sequence[Request]) -> int | None:
        return 0 if len(waiting) > 1 else None

    queue_of(clerk).set_policy(in_pairs)
    first, second = submit(desk_of(clerk).note, "a"), submit(desk_of(clerk).note, "b")
    assert first.result(WAIT) == "A"
    assert not second.done()
    queue_of(clerk).set_policy(None)
    assert second.result(WAIT) == "B"


def broken(_: Sequence[Request]) -> int:
    raise KeyError("what")


@pytest.mark.parametrize(
    ("policy", "reason"),
    [(broken, "KeyError: 'what'"), (lambda _: 7, "IndexError: list index out of range")],
)
def test_a_failing_policy_is_told_to_the_oldest_caller_and_ends_nothing(
    policy: Callable[[Sequence[Request]], int], reason: str, clerk: Component
) -> None:
    queue_of(clerk).set_policy(policy)
    with pytest.raises(IllegalLifeCycleError) as caught:
        desk_of(clerk).note("a")
    assert str(caught.value) == (
        f"the serving policy failed: {reason} [component /clerk, interface 'desk', state started]. "
        "Fix the policy, or take it away with set_policy(None)"
    )
    assert caught.value.__cause__ is not None
    queue_of(clerk).set_policy(None)
    assert desk_of(clerk).note("b") == "B"
    assert clerk.content.noted == ["b"]


def test_requests_sent_before_the_start_are_served_after_it(ended: Ended) -> None:
    component = ended(active(Clerk))
    component.bind("me", component.server("desk"))
    future = submit(desk_of(component).note, "early")
    assert not future.done()
    component.start()
    assert future.result(WAIT) == "EARLY"


def test_the_end_refuses_what_waits_and_ends_the_thread() -> None:
    component = active(Clerk)
    component.start()
    desk_of(component).note("a")
    component.stop()
    thread = queue_of(component)._thread
    assert thread is not None
    futures = [submit(desk_of(component).note, "b") for _ in range(2)]
    component.terminate()
    assert not thread.is_alive()
    assert [str(future.exception(0)) for future in futures] == [
        "the component has ended while requests were waiting "
        "[component /clerk, interface 'desk', state terminated]"
    ] * 2


def test_a_request_after_the_end_is_refused() -> None:
    component = active(Clerk)
    stub = desk_of(component)
    component.terminate()
    assert str(submit(stub.note, "late").exception(0)) == (
        "the component has ended [component /clerk, interface 'desk', state terminated]"
    )


def test_a_component_can_end_itself_through_its_control_interface(clerk: Component) -> None:
    desk_of(clerk).note("a")
    thread = queue_of(clerk)._thread
    life: Any = clerk.server("lifecycle-controller").stub
    life.stop()
    life.terminate()
    assert clerk.state == "terminated"
    assert thread is not None
    thread.join(WAIT)
    assert not thread.is_alive()


def test_a_request_that_waited_meets_the_component_as_it_is_then(clerk: Component) -> None:
    calls: list[str] = []

    class Listening:
        def before(self, call: Any) -> None:
            calls.append(call.operation)

        def after(self, call: Any, error: BaseException | None) -> None:
            calls.append(f"after {call.operation}")

    from gcm.membranes.interceptor import InterceptorController

    clerk.stop()
    future = submit(desk_of(clerk).note, "a")
    clerk.controller(InterceptorController).add(Listening(), "desk")
    clerk.start()
    assert future.result(WAIT) == "A"
    assert calls == ["note", "after note"]


def test_a_passive_primitive_has_no_request_queue() -> None:
    assert "request-queue" not in primitive(Clerk).membrane


def test_the_future_of_a_request_says_what_it_waits_for(clerk: Component) -> None:
    busy(clerk)
    future = submit(desk_of(clerk).note, "a")
    assert repr(future) == "<Future of desk.note: waiting>"
    with pytest.raises(TimeoutError, match="no result from desk.note within 0.001 s"):
        future.result(0.001)
    clerk.content.go_on.set()
    assert future.result(WAIT) == "A"
    assert repr(future) == "<Future of desk.note: done>"
