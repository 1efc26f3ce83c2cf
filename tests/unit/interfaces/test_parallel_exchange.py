"""M x N: members of one parallel component exchange blocks with the members of another."""

from __future__ import annotations

import copy
import threading
from typing import Annotated, Any, Protocol

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm import Cardinality, Component, provides, requires
from gcm.adl import Assembly
from gcm.errors import DispatchError, GcmError
from gcm.interfaces.distribution import redistribute
from gcm.interfaces.policies.parallel import BlockArray, UnassembledBlock, assembled, common_value
from gcm.interfaces.policies.reduction import total


class Field(Protocol):
    def put(self, field: Annotated[np.ndarray, redistribute], step: int) -> np.ndarray: ...

    def norm(self, field: Annotated[np.ndarray, redistribute]) -> Annotated[float, total]: ...

    def drop(self, field: Annotated[np.ndarray, redistribute]) -> None: ...


class Give(Protocol):
    def give(self, operation: str, block: np.ndarray, step: int | None) -> object: ...


@provides("give", Give)
class Giver:
    out: Annotated[Field, requires()]

    def give(self, operation: str, block: np.ndarray, step: int | None) -> object:
        call = getattr(self.out, operation)
        return call(block) if step is None else call(block, step=step)


@provides("field", Field)
class Taker:
    def __init__(self) -> None:
        self.seen: list[tuple[np.ndarray, int]] = []

    def put(self, field: np.ndarray, step: int) -> np.ndarray:
        self.seen.append((field, step))
        return field * 2

    def norm(self, field: np.ndarray) -> float:
        return float(field.sum())

    def drop(self, field: np.ndarray) -> None:
        self.seen.append((field, 0))


def coupled(givers: int, takers: int, kind: str) -> Component:
    app = Assembly("app")
    left = app.composite("left").needs("out", Field, cardinality=Cardinality.MULTICAST)
    right = app.composite("right").serves("field", Field, cardinality=Cardinality.GATHERCAST)
    for rank in range(givers):
        getattr(left, kind)(f"g{rank}", Giver)
        left.bind(f"g{rank}.out", "this.out")
    for rank in range(takers):
        getattr(right, kind)(f"t{rank}", Taker)
        right.bind("this.field", f"t{rank}.field")
    app.bind("left.out", "right.field")
    root = app.assemble()
    root.start()
    return root


def give_all(
    root: Component, operation: str, blocks: list[np.ndarray], steps: list[int | None]
) -> list[Any]:
    results: list[Any] = [None] * len(blocks)

    def one(rank: int) -> None:
        stub = root.find(f"left/g{rank}").stub("give", Give)
        try:
            results[rank] = stub.give(operation, blocks[rank], steps[rank])
        except GcmError as error:
            results[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(len(blocks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    root.stop()
    root.terminate()
    return results


@pytest.mark.parametrize("kind", ["primitive", "active"])
def test_three_uneven_members_exchange_with_two_and_get_their_blocks_back(kind: str) -> None:
    root = coupled(3, 2, kind)
    takers = [root.find(f"right/t{rank}").content for rank in range(2)]
    blocks = [np.arange(2.0), np.arange(0.0), np.arange(2.0, 7.0)]
    results = give_all(root, "put", blocks, [4, 4, 4])
    assert [taker.seen[0][0].tolist() for taker in takers] == [[0, 1, 2, 3], [4, 5, 6]]
    assert [taker.seen[0][1] for taker in takers] == [4, 4]
    assert [result.tolist() for result in results] == [[0, 2], [], [4, 6, 8, 10, 12]]


@pytest.mark.parametrize("kind", ["primitive", "active"])
def test_what_a_member_takes_is_its_own_memory(kind: str) -> None:
    root = coupled(1, 1, kind)
    block = np.zeros(4)
    taker = root.find("right/t0").content
    assert give_all(root, "drop", [block], [None]) == [None]
    assert not np.shares_memory(taker.seen[0][0], block)


def test_a_reduction_over_the_members_reaches_every_caller() -> None:
    results = give_all(coupled(2, 3, "primitive"), "norm", [np.ones(4), np.ones(3)], [None, None])
    assert results == [7.0, 7.0]


def test_members_that_disagree_are_told_so() -> None:
    results = give_all(coupled(2, 1, "primitive"), "put", [np.ones(2), np.ones(2)], [1, 2])
    for result in results:
        assert "different values for parameter 'step' of 'put': 1, 2" in str(result)


def test_blocks_that_make_no_array_are_refused() -> None:
    results = give_all(
        coupled(2, 1, "primitive"), "drop", [np.ones((2, 3)), np.ones((2, 4))], [None, None]
    )
    for result in results:
        assert isinstance(result, DispatchError)
        assert "do not make one array: float64[2, 3], float64[2, 4]" in str(result)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(1, 5))
def test_every_element_arrives_once_and_in_order(lengths: list[int], targets: int) -> None:
    whole = np.arange(sum(lengths))
    parts = np.split(whole, np.cumsum(lengths)[:-1])
    taken = [piece.assembled() for piece in BlockArray(parts).redistributed(targets, "it")]
    assert [block.tolist() for block in taken] == [
        block.tolist() for block in np.array_split(whole, targets)
    ]
    back = BlockArray(taken).parted(lengths, "it")
    assert [block.tolist() for block in back] == [part.tolist() for part in parts]


def test_a_result_of_another_length_is_refused() -> None:
    with pytest.raises(DispatchError, match="the result has 3 elements for callers that gave 4"):
        BlockArray([np.ones(3)]).parted([2, 2], "the result")


def test_what_is_no_array_is_no_block() -> None:
    with pytest.raises(DispatchError, match=r"do not make one array: list\[\]"):
        BlockArray([[1, 2]]).redistributed(1, "it")


def test_a_copied_piece_is_an_array_and_other_arguments_stay() -> None:
    (piece,) = BlockArray([np.arange(3)]).redistributed(1, "it")
    assert isinstance(piece, UnassembledBlock)
    array: Any = copy.deepcopy(piece)
    assert array.tolist() == [0, 1, 2]
    args, kwargs = assembled((piece, "x"), {"y": piece, "z": 1})
    assert args[0].tolist() == kwargs["y"].tolist() == [0, 1, 2]
    assert (args[1], kwargs["z"]) == ("x", 1)


def test_common_values_of_one_kind_must_be_equal_and_others_are_those_of_the_first() -> None:
    assert common_value([1, 1], "n") == 1
    first: list[int] = []
    assert common_value([first, [1]], "n") is first
    with pytest.raises(GcmError, match="different values for n: 1, 'a'"):
        common_value([1, "a"], "n")
