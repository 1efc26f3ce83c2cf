from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Annotated, Any, Protocol

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.errors import DispatchError
from gcm.interfaces.distribution import (
    OperationDispatch,
    ServerCall,
    broadcast,
    dispatch_of,
    distribute,
    distribute_by,
    one_to_one,
    random,
    round_robin,
    unicast,
)
from gcm.interfaces.policies.reduction import first, total
from gcm.interfaces.signature import signature_of


def dispatch(function: Callable[..., Any]) -> OperationDispatch:
    interface = type("Interface", (), {"op": function})
    return OperationDispatch(signature_of(interface).operations["op"])


def spread(
    function: Callable[..., Any],
    *args: Any,
    servers: int = 3,
    turn: int = 0,
    seed: int = 0,
    **kwargs: Any,
) -> list[ServerCall]:
    return dispatch(function).calls(args, kwargs, servers, rng=Random(seed), turn=turn)


def fail(function: Callable[..., Any], *args: Any, servers: int = 3, **kwargs: Any) -> str:
    with pytest.raises(DispatchError) as caught:
        spread(function, *args, servers=servers, **kwargs)
    return str(caught.value)


def plain(self: Any, a: Any, b: Any = None) -> None: ...


@distribute(one_to_one)
def paired(self: Any, a: Any, b: Any = None) -> None: ...


@distribute(round_robin)
def dealt(self: Any, a: Any, b: Any = None) -> None: ...


@distribute(random)
def scattered(self: Any, a: Any, b: Any = None) -> None: ...


@distribute(unicast)
def in_turn(self: Any, a: Any = None) -> None: ...


@distribute(a=one_to_one, b=round_robin)
def mixed(self: Any, a: Any, b: Any) -> None: ...


@distribute(a=one_to_one)
def half(self: Any, a: Any, b: Any) -> None: ...


def test_broadcast_gives_every_server_the_same_arguments() -> None:
    value = [1, 2]
    calls = spread(plain, value, b="x")
    assert calls == [ServerCall(server, ([1, 2],), {"b": "x"}) for server in range(3)]
    assert all(call.args[0] is value for call in calls)
    assert dispatch(plain).is_broadcast


def test_calls_do_not_share_their_keyword_arguments() -> None:
    one, other = spread(plain, 1, b=2, servers=2)
    assert one.kwargs is not other.kwargs


@pytest.mark.parametrize("function", [paired, dealt, scattered, in_turn, mixed, half])
def test_everything_else_is_no_broadcast(function: Callable[..., Any]) -> None:
    assert not dispatch(function).is_broadcast


@pytest.mark.parametrize("values", [[10, 11, 12], (10, 11, 12), range(10, 13)])
def test_one_to_one_gives_each_server_its_element(values: Any) -> None:
    assert spread(paired, values) == [
        ServerCall(0, (10,), {}),
        ServerCall(1, (11,), {}),
        ServerCall(2, (12,), {}),
    ]


@pytest.mark.parametrize("count", [0, 2, 4])
def test_one_to_one_needs_as_many_elements_as_servers(count: int) -> None:
    assert fail(paired, [0] * count) == (
        f"parameter 'a' (one_to_one) of 'op' has {count} elements for 3 servers. one_to_one needs "
        "one element per bound server; round_robin takes any number"
    )


def test_round_robin_deals_elements_to_the_servers_in_turn() -> None:
    assert spread(dealt, ["v", "w", "x", "y", "z"], servers=2) == [
        ServerCall(0, ("v",), {}),
        ServerCall(1, ("w",), {}),
        ServerCall(0, ("x",), {}),
        ServerCall(1, ("y",), {}),
        ServerCall(0, ("z",), {}),
    ]
    assert [call.server for call in spread(dealt, [1], servers=2)] == [0]


def test_round_robin_of_nothing_calls_nobody() -> None:
    assert spread(dealt, []) == []


def test_random_draws_a_server_for_each_element_from_the_dice_handed_in() -> None:
    dice = Random(7)
    expected = [dice.randrange(3) for _ in range(20)]
    calls = spread(scattered, list(range(20)), seed=7)
    assert [call.server for call in calls] == expected
    assert [call.args for call in calls] == [(value,) for value in range(20)]
    assert set(expected) == {0, 1, 2}


def test_random_parameters_of_one_call_go_to_the_same_servers() -> None:
    calls = spread(scattered, [1, 2, 3, 4, 5], b=[6, 7, 8, 9, 10])
    assert [(call.args, call.kwargs) for call in calls] == [
        ((1,), {"b": 6}),
        ((2,), {"b": 7}),
        ((3,), {"b": 8}),
        ((4,), {"b": 9}),
        ((5,), {"b": 10}),
    ]


def test_random_draws_anew_for_each_call() -> None:
    dice, made = Random(1), dispatch(scattered)
    values = list(range(50))
    one = made.calls((values,), {}, 5, rng=dice, turn=0)
    other = made.calls((values,), {}, 5, rng=dice, turn=1)
    assert [call.server for call in one] != [call.server for call in other]


def test_unicast_calls_exactly_one_server_each_in_its_turn() -> None:
    calls = [spread(in_turn, [1, 2], turn=turn) for turn in range(5)]
    assert calls == [[ServerCall(server, ([1, 2],), {})] for server in (0, 1, 2, 0, 1)]


def test_a_unicast_operation_needs_no_argument_to_be_one() -> None:
    @distribute(unicast)
    def bare(self: Any) -> None: ...

    assert spread(bare, turn=4) == [ServerCall(1, (), {})]
    assert spread(in_turn, turn=2) == [ServerCall(2, (), {})]


def test_one_unicast_parameter_makes_the_call_a_unicast() -> None:
    def op(self: Any, a: Annotated[int, unicast], b: int = 0) -> None: ...

    assert spread(op, 5, b=6, turn=1) == [ServerCall(1, (5,), {"b": 6})]


def test_a_unicast_and_a_spread_argument_disagree_unless_there_is_one_element() -> None:
    def op(self: Any, a: Annotated[int, unicast], b: Annotated[list[int], round_robin]) -> None: ...

    assert spread(op, 5, [6]) == [ServerCall(0, (5, 6), {})]
    assert fail(op, 5, [6, 7]) == (
        "the arguments of 'op' make different numbers of calls: "
        "parameter 'b' (round_robin) of 'op': 2, parameter 'a' (unicast) of 'op': 1. "
        "Spread arguments of one size, or broadcast some of them"
    )

    @distribute(unicast, b=round_robin)
    def other(self: Any, b: list[int]) -> None: ...

    assert "operation 'op' (unicast): 1" in fail(other, [6, 7])


def test_broadcast_parameters_follow_the_others() -> None:
    assert spread(half, [1, 2], b="x", servers=2) == [
        ServerCall(0, (1,), {"b": "x"}),
        ServerCall(1, (2,), {"b": "x"}),
    ]


def test_parameters_are_spread_together_wherever_they_stand_in_the_call() -> None:
    assert spread(mixed, b=[3, 4], a=[1, 2], servers=2) == [
        ServerCall(0, (), {"b": 3, "a": 1}),
        ServerCall(1, (), {"b": 4, "a": 2}),
    ]
    assert spread(mixed, [1, 2], [3, 4], servers=2) == [
        ServerCall(0, (1, 3), {}),
        ServerCall(1, (2, 4), {}),
    ]


def test_sizes_that_disagree_are_listed_with_their_parameters() -> None:
    assert fail(mixed, [1, 2, 3], [1, 2]) == (
        "the arguments of 'op' make different numbers of calls: "
        "parameter 'a' (one_to_one) of 'op': 3, parameter 'b' (round_robin) of 'op': 2. "
        "Spread arguments of one size, or broadcast some of them"
    )


def test_targets_that_disagree_are_listed_with_their_parameters() -> None:
    @distribute(
        a=one_to_one,
        b=distribute_by(lambda value, servers: zip([2, 1, 0], value, strict=True)),
    )
    def op(self: Any, a: Any, b: Any) -> None: ...

    assert fail(op, [1, 2, 3], [4, 5, 6]) == (
        "the arguments of 'op' go to different servers: parameter 'a' (one_to_one) of 'op': "
        "[0, 1, 2], parameter 'b' (custom) of 'op': [2, 1, 0]. Spread them all in the same way"
    )


def test_an_omitted_argument_stays_omitted() -> None:
    assert spread(paired, [1, 2, 3])[1] == ServerCall(1, (2,), {})

    def op(self: Any, a: Annotated[Any, one_to_one] = ()) -> None: ...

    assert spread(op) == [ServerCall(0, (), {}), ServerCall(1, (), {}), ServerCall(2, (), {})]


def test_variadic_arguments_are_spread_one_by_one() -> None:
    @distribute(one_to_one, a=broadcast)
    def op(self: Any, a: int, /, *rest: Any, **others: Any) -> None: ...

    assert spread(op, 1, [2, 3], [4, 5], x=[6, 7], servers=2) == [
        ServerCall(0, (1, 2, 4), {"x": 6}),
        ServerCall(1, (1, 3, 5), {"x": 7}),
    ]
    assert "parameter 'rest[1]' (one_to_one) of 'op' has 1 elements" in fail(op, 1, [2] * 3, [4])
    assert "parameter 'x' (one_to_one) of 'op' has 1 elements" in fail(op, 1, x=[4])


@pytest.mark.parametrize("function", [plain, paired, in_turn])
def test_a_call_without_servers_is_an_error(function: Callable[..., Any]) -> None:
    assert fail(function, [], servers=0) == (
        "a multicast call of 'op' has no server to go to. Bind the interface to at least one server"
    )


def generator() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (5, "int"),
        (None, "NoneType"),
        ("abc", "str"),
        (b"abc", "bytes"),
        (bytearray(b"abc"), "bytearray"),
        ({0: 1, 1: 2, 2: 3}, "dict"),
        ({1, 2, 3}, "set"),
        (generator(), "generator"),
    ],
)
@pytest.mark.parametrize("function", [paired, dealt, scattered])
def test_what_is_no_sequence_is_not_spread(
    function: Callable[..., Any], value: Any, kind: str
) -> None:
    assert f"of 'op' is a {kind} and cannot be split into elements. Give a list" in fail(
        function, value
    )


# ------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("function", [paired, dealt])
@given(rows=st.integers(0, 40), servers=st.integers(1, 9))
def test_arrays_are_split_into_one_block_per_server(
    function: Callable[..., Any], rows: int, servers: int
) -> None:
    array = np.arange(rows * 2).reshape(rows, 2)
    calls = spread(function, array, servers=servers)
    assert [call.server for call in calls] == list(range(servers))
    expected = np.array_split(array, servers)
    assert all(
        np.array_equal(call.args[0], part) for call, part in zip(calls, expected, strict=True)
    )


def test_blocks_are_views_of_the_array() -> None:
    array = np.zeros(7)
    calls = spread(paired, array)
    assert all(call.args[0].base is array for call in calls)
    calls[1].args[0][:] = 5
    assert array.tolist() == [0, 0, 0, 5, 5, 0, 0]


def test_random_blocks_go_to_drawn_servers() -> None:
    dice = Random(3)
    expected = [dice.randrange(3) for _ in range(3)]
    calls = spread(scattered, np.arange(4), seed=3)
    assert [(call.server, call.args[0].tolist()) for call in calls] == [
        (expected[0], [0, 1]),
        (expected[1], [2]),
        (expected[2], [3]),
    ]


def test_arrays_and_lists_are_spread_side_by_side() -> None:
    calls = spread(mixed, ["a", "b"], np.arange(3), servers=2)
    assert [(call.args[0], call.args[1].tolist()) for call in calls] == [("a", [0, 1]), ("b", [2])]


def test_an_array_without_axis_is_not_spread() -> None:
    assert fail(paired, np.array(1.0)) == (
        "parameter 'a' (one_to_one) of 'op' is an array without an axis and cannot be split"
    )


def test_anything_with_a_shape_and_slices_is_an_array() -> None:
    calls = spread(paired, memoryview(b"abcde"), servers=2)
    assert [bytes(call.args[0]) for call in calls] == [b"abc", b"de"]


# ------------------------------------------------------------------------- one's own function


def evens_first(value: list[int], servers: int) -> Iterator[tuple[int, int]]:
    for element in value:
        yield (element % 2) % servers, element


def test_a_function_of_ones_own_says_who_gets_what() -> None:
    def op(self: Any, a: Annotated[list[int], distribute_by(evens_first)]) -> None: ...

    assert spread(op, [4, 5, 6]) == [
        ServerCall(0, (4,), {}),
        ServerCall(1, (5,), {}),
        ServerCall(0, (6,), {}),
    ]


@pytest.mark.parametrize("target", [-1, 3, "0"])
def test_a_function_of_ones_own_may_name_bound_servers_only(target: Any) -> None:
    def strange(value: Any, servers: int) -> list[tuple[int, Any]]:
        return [(0, value), (2, value), (target, value)]

    @distribute(distribute_by(strange))
    def op(self: Any, a: Any) -> None: ...

    message = fail(op, 1)
    assert f"strange sends parameter 'a' (custom) of 'op' to the servers [{target!r}]" in message
    assert message.endswith(". Positions of servers are 0 to 2")


def test_a_failing_function_of_ones_own_is_named_with_its_error() -> None:
    def broken(value: Any, servers: int) -> list[tuple[int, Any]]:
        raise KeyError("lost")

    @distribute(distribute_by(broken))
    def op(self: Any, a: Any) -> None: ...

    with pytest.raises(DispatchError) as caught:
        spread(op, 1)
    assert "broken failed for parameter 'a' (custom) of 'op': KeyError: 'lost'" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


@given(st.lists(st.integers()), st.integers(1, 10), st.integers(0, 5))
def test_no_element_is_lost_or_doubled(values: list[int], servers: int, seed: int) -> None:
    for function in (dealt, scattered):
        calls = spread(function, values, servers=servers, seed=seed)
        assert [call.args[0] for call in calls] == values
        assert all(0 <= call.server < servers for call in calls)


# ------------------------------------------------------------------------------------ results


class Results(Protocol):
    def nothing(self) -> None: ...

    def listed(self) -> list[int]: ...

    @distribute(unicast)
    def one(self) -> Annotated[int, first]: ...

    def summed(self) -> Annotated[int, total]: ...

    @distribute(total_of=one_to_one)
    def untyped(self, total_of):  # type: ignore[no-untyped-def]  # what is tested
        ...


def test_results_become_nothing_a_list_or_what_the_reduction_makes() -> None:
    assert dispatch_of(Results, "nothing").reduce([1, 2]) is None
    assert dispatch_of(Results, "listed").reduce((1, 2)) == [1, 2]
    assert dispatch_of(Results, "listed").reduce([]) == []
    assert dispatch_of(Results, "one").reduce([4]) == 4
    assert dispatch_of(Results, "summed").reduce([1, 2]) == 3
    assert dispatch_of(Results, "untyped").reduce([1, None]) == [1, None]


def test_the_dispatch_of_an_operation_is_made_once() -> None:
    assert dispatch_of(Results, "one") is dispatch_of(Results, "one")
    with pytest.raises(KeyError):
        dispatch_of(Results, "unknown")


def test_decorators_keep_the_type_and_the_behaviour_of_what_they_mark() -> None:
    @distribute(one_to_one)
    def double(self: object, a: int) -> int:
        return a * 2

    result: int = double(None, 4)
    assert result == 8
