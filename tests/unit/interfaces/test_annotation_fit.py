from __future__ import annotations

import collections
import operator
import sys
import typing
from collections import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from types import GenericAlias
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    ParamSpec,
    Protocol,
    SupportsFloat,
    TypedDict,
    TypeVar,
    Union,
)

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.interfaces.annotations import describe, element_of, fits

T = TypeVar("T")
P = ParamSpec("P")
UserId = NewType("UserId", int)


class Base:
    pass


class Derived(Base):
    def run(self) -> None: ...


class Runs(Protocol):
    label: str

    def run(self) -> None: ...


class RunsAndStops(Runs, Protocol):
    def stop(self) -> None: ...


class Declared(Runs):
    pass


class Sink(Generic[T]):
    pass


class Point(TypedDict):
    x: int


class Pair(NamedTuple):
    a: int
    b: str


FITTING = [
    (int, int),
    (Derived, Base),
    (bool, int),
    (int, float),
    (int, complex),
    (float, complex),
    (int, object),
    (list[int], object),
    (Any, int),
    (int, Any),
    (T, int),
    (int, T),
    (None, type(None)),
    (None, Optional[int]),  # noqa: UP045 - the other spelling is tested too
    (int, int | None),
    (int | str, str | int | None),
    (Union[int, bool], float),  # noqa: UP007 - the other spelling is tested too
    (typing.NoReturn, int),
    (typing.Never, int),
    (Annotated[int, "x"], int),
    (int, Annotated[int, "x"]),
    (UserId, int),
    (int, UserId),
    (Literal[1, 2], int),
    (Literal["a"], Literal["a", "b"]),
    (Literal["a"], Literal["a", "b"] | None),
    (list[int], list[int]),
    (list[bool], list[int]),
    (list[int], list),
    (list, list[int]),
    (list[int], Sequence[int]),
    (list[int], MutableSequence[int]),
    (list[int], Iterable[float]),
    (typing.List[int], list[int]),  # noqa: UP006 - the old spelling is what is tested
    (collections.deque[int], abc.Collection[int]),
    (set[int], abc.Set[int]),
    (frozenset[int], abc.Container[int]),
    (dict[str, int], Mapping[str, int]),
    (dict[str, int], Iterable[str]),
    (dict[str, bool], abc.MutableMapping[str, int]),
    (abc.Generator[int, None, None], Iterator[int]),
    (str, Sequence[str]),
    (str, Iterable),
    (tuple[int, ...], Sequence[int]),
    (tuple[int, bool], Sequence[int]),
    (tuple[int, str], tuple[int, str]),
    (tuple[int, bool], tuple[int, ...]),
    (tuple[int, ...], tuple[int, int]),
    (tuple[int, str], abc.Hashable),
    (tuple, tuple[int]),
    (Pair, tuple[int, str]),
    (type[Derived], type[Base]),
    (type, type[Base]),
    (Callable[[int], str], Callable[..., str]),
    (Callable[[], Base], Callable[[], Derived]),
    (Sink[Base], Sink[Derived]),
    (Sink[Derived], Sink[Base]),
    (collections.OrderedDict[str, int], Mapping[str, int]),
    (Callable[[int], str], Callable[[str], str]),
    (Derived, SupportsFloat | Base),
    (float, SupportsFloat),
    (Derived, Runs),
    (Declared, Runs),
    (Runs, Runs),
    (Point, dict),
    (dict, Point),
    (np.ndarray, np.ndarray),
    (npt.NDArray[np.float64], npt.NDArray[np.int32]),
    (npt.NDArray[np.float64], np.ndarray),
    (np.ndarray, npt.ArrayLike),
    (P, int),
    (int, P),
    ("Item", "Item"),
    ("Item", int),
    ("Item", Literal["a"]),
    (int, "Item"),
    (list["Item"], list[int]),  # type: ignore[name-defined]  # noqa: F821 - no such name
    (ForwardRef("Item"), "Item"),
]

FAILING = [
    (str, int),
    (Base, Derived),
    (float, int),
    (complex, float),
    (str, float),
    (object, int),
    (None, int),
    (int, None),
    (Optional[int], int),  # noqa: UP045 - the other spelling is tested too
    (int | str, int | None),
    (str, int | None),
    (UserId, str),
    (Literal[1], str),
    (Literal["a", 1], str),
    (Literal["a", "c"], Literal["a", "b"]),
    (Literal[True], Literal[1]),
    (str, Literal["a"]),
    (list[int], list[str]),
    (list[int], Sequence[str]),
    (list[int], set[int]),
    (Sequence[int], list[int]),
    (list, set),
    (dict[str, int], Mapping[str, str]),
    (dict[int, int], dict[str, int]),
    (tuple[int, ...], Sequence[str]),
    (tuple[int, str], Sequence[int]),
    (tuple[int, str], tuple[int]),
    (tuple[int, str], tuple[int, int]),
    (tuple[int, str], tuple[int, ...]),
    (tuple[str, ...], tuple[int, int]),
    (Pair, list[int]),
    (type[Base], type[Derived]),
    (int, Callable[..., str]),
    (Callable[[int], str], Callable[[int], int]),
    (Sink[int], Sink[str]),
    (collections.defaultdict[str, int], Mapping[str, str]),
    (Base, Runs),
    (Derived, RunsAndStops),
    (Base, SupportsFloat),
    (list[float], npt.NDArray[np.float64]),
    (npt.NDArray[np.float64], list[float]),
    ("Item", "Other"),
    (list["Item"], list["Other"]),  # type: ignore[name-defined]  # noqa: F821 - no such names
    (ForwardRef("Item"), "Other"),
]


@pytest.mark.parametrize(("found", "expected"), FITTING, ids=str)
def test_a_type_that_may_go_there_fits(found: Any, expected: Any) -> None:
    assert fits(found, expected) is True


@pytest.mark.parametrize(("found", "expected"), FAILING, ids=str)
def test_a_type_that_certainly_may_not_go_there_does_not_fit(found: Any, expected: Any) -> None:
    assert fits(found, expected) is False


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement is of Python 3.12")
def test_named_aliases_stand_for_what_they_name() -> None:
    scope: dict[str, Any] = {}
    exec("type Numbers = list[int]", scope)
    assert fits(scope["Numbers"], list[int])
    assert not fits(scope["Numbers"], list[str])
    assert element_of(scope["Numbers"]) is int


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement is of Python 3.12")
def test_parameters_of_named_aliases_are_filled_in_by_name() -> None:
    scope: dict[str, Any] = {}
    exec("type Swapped[K, V] = dict[V, K]\ntype Fixed[T] = list[int]", scope)
    swapped, fixed = scope["Swapped"], scope["Fixed"]
    assert fits(swapped[int, str], dict[str, int])
    assert not fits(swapped[str, int], dict[str, int])
    assert fits(swapped, dict[str, int])
    assert not fits(fixed[str], list[str])
    assert element_of(fixed[str]) is int


PLAIN = st.sampled_from([int, str, bytes, bool, float, None, Base, Derived, np.ndarray])
TYPES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        inner.map(lambda one: GenericAlias(list, (one,))),
        st.tuples(inner, inner).map(lambda two: GenericAlias(dict, two)),
        st.tuples(inner, inner).map(lambda two: operator.getitem(Union, two)),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: GenericAlias(tuple, tuple(some))),
    ),
    max_leaves=6,
)


@given(TYPES)
def test_every_type_fits_itself_and_the_unions_that_hold_it(annotation: Any) -> None:
    assert fits(annotation, annotation)
    assert fits(annotation, operator.getitem(Union, (annotation, None)))
    assert fits(annotation, object)


@given(TYPES, TYPES)
def test_what_fits_also_fits_inside_a_list(found: Any, expected: Any) -> None:
    inside = fits(GenericAlias(list, (found,)), GenericAlias(list, (expected,)))
    assert inside == fits(found, expected)


@pytest.mark.parametrize(
    ("annotation", "element"),
    [
        (list[int], int),
        (Sequence[str], str),
        (Iterable[str], str),
        (collections.deque[int], int),
        (tuple[int, ...], int),
        (tuple[int, str], int | str),
        (Annotated[list[int], "x"], int),
        (list[int] | tuple[str, ...], int | str),
        (list[int] | None, int),
        (np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]),
        (np.ndarray, np.ndarray),
        (list, Any),
        (tuple, Any),
        (Any, Any),
        (object, Any),
        (T, Any),
        (range, Any),
        (Runs, Any),
        ("Item", Any),
    ],
    ids=str,
)
def test_a_sequence_is_made_of_its_elements_and_an_array_of_arrays(
    annotation: Any, element: Any
) -> None:
    assert element_of(annotation) == element


@pytest.mark.parametrize(
    "annotation",
    [
        int,
        None,
        str,
        bytes,
        bytearray,
        dict[str, int],
        Mapping[str, int],
        set[int],
        Base,
        int | str,
    ],
    ids=str,
)
def test_some_types_certainly_have_no_elements_to_spread(annotation: Any) -> None:
    assert element_of(annotation) is None


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "int"),
        (None, "None"),
        (type(None), "None"),
        (list[int], "list[int]"),
        (Any, "Any"),
        (Sequence[int], "Sequence[int]"),
        (int | str, "int | str"),
        ("list[Item]", "list[Item]"),
        (Base, "Base"),
    ],
    ids=str,
)
def test_types_are_described_as_one_writes_them(annotation: Any, text: str) -> None:
    assert describe(annotation) == text


def test_the_parts_of_an_array_are_arrays() -> None:
    part = element_of(npt.NDArray[np.float64])
    assert fits(part, np.ndarray)
    assert not fits(part, float)


def test_a_class_made_inside_a_function_is_described_by_its_own_name() -> None:
    class Local:
        pass

    assert describe(Local) == "Local"
