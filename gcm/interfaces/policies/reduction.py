"""Reductions: how the results of the servers of a multicast call become one.

A reduction can be given at three levels; the return annotation beats the operation, which beats
the interface. Without one, the caller gets the list of the results in the order of the calls:

    @reduce_with(first)
    class Workers(Protocol):
        def count(self) -> Annotated[int, total]: ...       # the sum

        @reduce_with(concat)
        def lines(self) -> list[str]: ...                   # one long list
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final, TypeVar

from gcm.errors import DispatchError
from gcm.interfaces.policies.marks import get_mark, put_mark
from gcm.records import dataclass

Marked = TypeVar("Marked")


@dataclass(frozen=True, slots=True)
class Reduction:
    """A way of making one result of many; use the predefined values and `reduce_by`.

    `keeps_type` says that the outcome is one of the results and has their type.
    """

    name: str
    function: Callable[[Sequence[Any]], Any]
    keeps_type: bool = False

    def __call__(self, results: Sequence[Any]) -> Any:
        """Reduce the results. Raises DispatchError when they cannot be reduced in this way."""
        try:
            return self.function(results)
        except DispatchError:
            raise
        except Exception as error:
            raise DispatchError(
                f"the reduction '{self.name}' of {_count(results)} failed: "
                f"{type(error).__name__}: {error}",
                cure="Choose a reduction that suits what the servers return",
            ) from error

    def __str__(self) -> str:
        return self.name


def reduce_by(function: Callable[[Sequence[Any]], Any]) -> Reduction:
    """Reduce by a function of one's own, which takes the list of results in call order."""
    return Reduction(getattr(function, "__name__", repr(function)), function)


def reduce_with(reduction: Reduction) -> Callable[[Marked], Marked]:
    """Set how the results of an operation, or of all operations of an interface, are reduced.

    Raises IllegalTypeError when put on anything but a function or a class.
    """

    def decorate(target: Marked) -> Marked:
        put_mark(target, "reduction", reduction, "reduce_with")
        return target

    return decorate


def reduction_mark(target: object) -> Reduction | None:
    """Return the reduction set by `@reduce_with` on a function or class, or None."""
    mark = get_mark(target, "reduction")
    return mark if isinstance(mark, Reduction) else None


def _count(results: Sequence[Any]) -> str:
    return "1 result" if len(results) == 1 else f"{len(results)} results"


def _some(name: str, results: Sequence[Any]) -> None:
    if not results:
        raise DispatchError(
            f"the reduction '{name}' has no result to reduce",
            cure="The call reached no server: look at the sizes of its arguments",
        )


def _first(results: Sequence[Any]) -> Any:
    _some("first", results)
    return results[0]


def _minimum(results: Sequence[Any]) -> Any:
    _some("minimum", results)
    return min(results)


def _maximum(results: Sequence[Any]) -> Any:
    _some("maximum", results)
    return max(results)


def _total(results: Sequence[Any]) -> Any:
    _some("total", results)
    return reduce(operator.add, results)


def _select_unique(results: Sequence[Any]) -> Any:
    _some("select_unique", results)
    unique = results[0]
    for position, result in enumerate(results):
        if not _same(unique, result):
            raise DispatchError(
                f"the reduction 'select_unique' of {_count(results)} found different ones: "
                f"{unique!r} in call 0 and {result!r} in call {position}",
            )
    return unique


def _same(one: Any, other: Any) -> bool:
    equal = one == other
    if hasattr(equal, "shape"):  # arrays compare element by element
        return getattr(one, "shape", None) == getattr(other, "shape", None) and bool(equal.all())
    return bool(equal)


def _concat(results: Sequence[Any]) -> Any:
    _some("concat", results)
    head = results[0]
    if hasattr(head, "shape"):
        import numpy  # imported here: gcm works without numpy

        return numpy.concatenate(results)
    if isinstance(head, str):
        return "".join(results)
    if isinstance(head, bytes):
        return b"".join(results)
    if isinstance(head, list):
        return [element for result in results for element in _list(result)]
    return reduce(operator.add, results)


def _list(result: Any) -> list[Any]:
    if not isinstance(result, list):
        raise TypeError(f"a list and a {type(result).__qualname__} do not join")
    return result


select_unique: Final = Reduction("select_unique", _select_unique, keeps_type=True)
"""The only result, or the one that all servers agree on."""

first: Final = Reduction("first", _first, keeps_type=True)
"""The result of the first call."""

minimum: Final = Reduction("minimum", _minimum, keeps_type=True)
"""The smallest result."""

maximum: Final = Reduction("maximum", _maximum, keeps_type=True)
"""The largest result."""

total: Final = Reduction("total", _total)
"""The sum of the results; arrays are added element by element."""

concat: Final = Reduction("concat", _concat)
"""The results one after another: lists, tuples, strings, bytes, or arrays by their first axis."""
