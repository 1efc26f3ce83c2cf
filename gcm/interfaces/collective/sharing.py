"""Combines the arguments of gathered calls into those of one call, and splits its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gcm.interfaces.collective.gathered import gather_arguments
from gcm.interfaces.collective.gathering import scatter_results
from gcm.interfaces.distribution import Mode
from gcm.interfaces.policies.parallel import BlockArray, common_value
from gcm.interfaces.signature import Operation

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""The positional and the keyword arguments of one caller."""


class ListSharing:
    """The rule of gathercast: one list for each parameter, and the results by index."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def join(self, calls: Sequence[Call]) -> Call:
        """Return one list for each parameter.

        Raises:
            GcmError: the callers passed different parameters.
        """
        return gather_arguments(self._operation, calls)

    def part(self, result: Any, calls: Sequence[Call]) -> Sequence[Any]:
        """Return the results by index.

        Raises:
            GcmError: the result is not one for each caller.
        """
        return scatter_results(self._operation.name, result, len(calls))


class MemberSharing:
    """The rule of M x N: blocks of members form one array, all else has one common value."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._names = [one.name for one in operation.parameters]
        self._blocks = [
            one.name for one in operation.parameters if one.distribution.mode is Mode.REDISTRIBUTE
        ]

    def join(self, calls: Sequence[Call]) -> Call:
        """Return the blocks together for each distributed parameter, the common value for others.

        Raises:
            GcmError: the members passed different parameters, or different common values.
        """
        args, kwargs = gather_arguments(self._operation, calls)
        return (
            tuple(
                self._joined(name, values) for name, values in zip(self._names, args, strict=False)
            ),
            {name: self._joined(name, values) for name, values in kwargs.items()},
        )

    def part(self, result: Any, calls: Sequence[Call]) -> Sequence[Any]:
        """Return each member's block of a distributed result, or the one result to all.

        A distributed result is parted like the first distributed argument.
        """
        if not isinstance(result, BlockArray):
            return [result] * len(calls)
        given = [self._operation.python.bind(*args, **kwargs) for args, kwargs in calls]
        lengths = [len(one.arguments[self._blocks[0]]) for one in given]
        return result.parted(lengths, f"the result of '{self._operation.name}'")

    def _joined(self, name: str, values: Sequence[Any]) -> Any:
        if name in self._blocks:
            return BlockArray(values)
        return common_value(values, f"parameter '{name}' of '{self._operation.name}'")
