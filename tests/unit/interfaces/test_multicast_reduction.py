from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gcm.errors import DispatchError
from gcm.interfaces.policies.reduction import (
    Reduction,
    concat,
    first,
    maximum,
    minimum,
    reduce_by,
    select_unique,
    total,
)


@pytest.mark.parametrize(
    ("reduction", "results", "expected"),
    [
        (first, [3, 1, 2], 3),
        (minimum, [3, 1, 2], 1),
        (maximum, [2, 3, 1], 3),
        (total, [3, 1, 2], 6),
        (total, [1.5], 1.5),
        (total, ["a", "b"], "ab"),
        (select_unique, [7], 7),
        (select_unique, [7, 7, 7.0], 7),
        (select_unique, [[1, 2], [1, 2]], [1, 2]),
        (concat, [[1], [], [2, 3]], [1, 2, 3]),
        (concat, ["ab", "", "c"], "abc"),
        (concat, [b"ab", b"c"], b"abc"),
        (concat, [(1,), (2, 3)], (1, 2, 3)),
        (concat, [[1]], [1]),
    ],
)
def test_results_are_reduced_in_call_order(
    reduction: Reduction, results: list[Any], expected: Any
) -> None:
    assert reduction(results) == expected


def test_arrays_are_joined_by_their_first_axis() -> None:
    joined = concat([np.ones((2, 3)), np.zeros((1, 3))])
    assert joined.tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0]]


def test_arrays_are_added_element_by_element() -> None:
    assert total([np.array([1, 2]), np.array([3, 4])]).tolist() == [4, 6]


def test_equal_arrays_are_one_result_and_others_are_not() -> None:
    one = np.array([1, 2])
    assert select_unique([one, np.array([1, 2])]) is one
    for other in (np.array([1, 3]), np.array([3, 2]), np.array([[1, 2]]), np.array([1]), 1):
        with pytest.raises(DispatchError):
            select_unique([one, other])


def test_the_sum_does_not_change_the_results_it_adds() -> None:
    results = [[1], [2]]
    assert total(results) == [1, 2]
    assert concat(results) == [1, 2]
    assert results == [[1], [2]]


def test_joining_one_list_makes_a_new_one() -> None:
    results = [[1]]
    assert concat(results) is not results[0]


def test_results_that_differ_are_shown_with_their_calls() -> None:
    with pytest.raises(DispatchError) as caught:
        select_unique([1, 1, 2, 3])
    assert str(caught.value) == (
        "the reduction 'select_unique' of 4 results found different ones: "
        "1 in call 0 and 2 in call 2"
    )


@pytest.mark.parametrize("reduction", [first, minimum, maximum, total, concat, select_unique])
def test_nothing_cannot_be_reduced(reduction: Reduction) -> None:
    with pytest.raises(DispatchError) as caught:
        reduction([])
    assert str(caught.value) == (
        f"the reduction '{reduction}' has no result to reduce. "
        "The call reached no server: look at the sizes of its arguments"
    )


@pytest.mark.parametrize(
    ("reduction", "results", "why"),
    [
        (minimum, [1, "a"], "TypeError: '<' not supported"),
        (maximum, [1, None], "TypeError: '>' not supported"),
        (total, [1, "a"], "TypeError: unsupported operand"),
        (concat, [[1], (2,)], "TypeError: a list and a tuple do not join"),
        (concat, ["a", 1], "TypeError: sequence item 1"),
        (concat, [b"a", "b"], "TypeError: sequence item 1"),
        (concat, [None, None], "TypeError: unsupported operand"),
        (concat, [np.ones(2), np.ones((2, 2))], "ValueError: all the input"),
    ],
)
def test_unsuitable_results_are_told_with_the_reduction_and_the_reason(
    reduction: Reduction, results: list[Any], why: str
) -> None:
    with pytest.raises(DispatchError) as caught:
        reduction(results)
    assert caught.value.what.startswith(f"the reduction '{reduction}' of 2 results failed: {why}")
    assert caught.value.cure == "Choose a reduction that suits what the servers return"
    assert caught.value.__cause__ is not None


def test_a_single_result_is_one_result() -> None:
    with pytest.raises(DispatchError, match=r"of 1 result failed"):
        concat([np.array(1)])


def test_a_function_of_ones_own_gets_the_list_of_results() -> None:
    def spread(results: Any) -> Any:
        return max(results) - min(results)

    reduction = reduce_by(spread)
    assert reduction([5, 2, 9]) == 7
    assert str(reduction) == "spread"
    assert not reduction.keeps_type
    with pytest.raises(DispatchError, match=r"'spread' of 0 results failed: ValueError"):
        reduction([])


def test_a_dispatch_error_of_ones_own_function_is_not_wrapped() -> None:
    mine = DispatchError("mine")

    def refuse(results: Any) -> Any:
        raise mine

    with pytest.raises(DispatchError) as caught:
        reduce_by(refuse)([1])
    assert caught.value is mine


def test_only_reductions_that_return_one_of_the_results_keep_their_type() -> None:
    keeping = [
        one.name
        for one in (first, minimum, maximum, total, concat, select_unique)
        if one.keeps_type
    ]
    assert keeping == ["first", "minimum", "maximum", "select_unique"]
