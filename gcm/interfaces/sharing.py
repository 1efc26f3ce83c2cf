"""How the arguments of gathered calls become those of one call, and its result theirs."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Protocol

from gcm.errors import GcmError
from gcm.interfaces.distribution import Mode
from gcm.interfaces.gathering import scatter_results
from gcm.interfaces.parallel import Blocks, common_value
from gcm.interfaces.signature import Operation

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""The positional and the keyword arguments of one caller."""


class Sharing(Protocol):
    """One way of making one call of several."""

    def join(self, calls: Sequence[Call]) -> Call:
        """Return the arguments of the one call."""
        ...

    def part(self, result: Any, calls: Sequence[Call]) -> Sequence[Any]:
        """Return what each caller gets of the result."""
        ...


class ListSharing:
    """The rule of gathercast: one list for each parameter, and the results by index."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def join(self, calls: Sequence[Call]) -> Call:
        """Return one list for each parameter.

        Raises:
            GcmError: the callers passed different parameters.
        """
        names = _same_parameters(calls)
        args = tuple([call[0][place] for call in calls] for place in range(len(calls[0][0])))
        return args, {name: [call[1][name] for call in calls] for name in names}

    def part(self, result: Any, calls: Sequence[Call]) -> Sequence[Any]:
        """Return the results by index.

        Raises:
            GcmError: the result is not one for each caller.
        """
        return scatter_results(self._operation.name, result, len(calls))


class MemberSharing:
    """The rule of M x N: the members' blocks make one array, everything else is common to them."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._by_name = {one.name: one for one in operation.parameters}
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._by_place = [one for one in operation.parameters if one.kind in positional]

    def join(self, calls: Sequence[Call]) -> Call:
        """Return the blocks together for each distributed parameter, the common value for others.

        Raises:
            GcmError: the members passed different parameters, or different common values.
        """
        names = _same_parameters(calls)
        args = tuple(
            self._joined(parameter.name, [call[0][place] for call in calls])
            for place, parameter in enumerate(self._by_place[: len(calls[0][0])])
        )
        return args, {name: self._joined(name, [call[1][name] for call in calls]) for name in names}

    def part(self, result: Any, calls: Sequence[Call]) -> Sequence[Any]:
        """Return each member's block of a distributed result, or the one result to all."""
        if isinstance(result, Blocks):
            lengths = [len(self._block(call)) for call in calls]
            return result.parted(lengths, f"the result of '{self._operation.name}'")
        return [result] * len(calls)

    def _joined(self, name: str, values: Sequence[Any]) -> Any:
        if self._is_block(name):
            return Blocks(values)
        return common_value(values, f"parameter '{name}' of '{self._operation.name}'")

    def _is_block(self, name: str) -> bool:
        known = self._by_name.get(name)
        return known is not None and known.distribution.mode is Mode.REDISTRIBUTE

    def _block(self, call: Call) -> Any:
        """Return the first block of a call: the result is as long as it."""
        args, kwargs = call
        for parameter, value in zip(self._by_place, args, strict=False):
            if self._is_block(parameter.name):
                return value
        return next(value for name, value in kwargs.items() if self._is_block(name))


def _same_parameters(calls: Sequence[Call]) -> list[str]:
    """Return the keywords that all calls have in common with their positions.

    Raises:
        GcmError: the calls differ.
    """
    shapes = {(len(args), tuple(sorted(kwargs))) for args, kwargs in calls}
    if len(shapes) > 1:
        raise GcmError(
            "the clients of a gathercast call passed different parameters",
            cure="All clients have to pass the same parameters, by position or by name alike",
        )
    return list(calls[0][1])
