"""The arguments of the one call that a gathercast round makes: a list per parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import BoundArguments, _ParameterKind
from typing import Any

from gcm.errors import GcmError
from gcm.interfaces.signature import Operation

Arguments = tuple[Sequence[Any], Mapping[str, Any]]


def gather_arguments(
    operation: Operation, calls: Sequence[Arguments]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Merge the arguments of several calls, given as (args, kwargs) pairs, into those of one call.

    Each parameter gets the list of what the calls gave, in their order. Where some calls leave a
    parameter out, its default in the interface stands in; where all do, it stays out. Raises
    GcmError when the calls give different numbers of variadic arguments or different keywords, and
    TypeError for arguments that do not fit the operation.

    >>> gather_arguments(put, [((1,), {}), ((), {"value": 2})])  # doctest: +SKIP
    (([1, 2],), {})
    """
    bound = [operation.python.bind(*args, **kwargs) for args, kwargs in calls]
    given = {name for one in bound for name in one.arguments}
    for one in bound:
        one.apply_defaults()
    _refuse_unknown_defaults(operation, bound, given)
    columns = {
        name: [one.arguments[name] for one in bound]
        for name in operation.python.parameters
        if name in given
    }
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    skipped = False
    for parameter in operation.parameters:
        kind = parameter.kind
        column = columns.get(parameter.name)
        if column is None:
            skipped = True
        elif kind is _ParameterKind.VAR_POSITIONAL:
            args += _transposed(operation, parameter.name, column)
        elif kind is _ParameterKind.VAR_KEYWORD:
            kwargs |= _merged(operation, parameter.name, column)
        elif skipped or kind is _ParameterKind.KEYWORD_ONLY:
            kwargs[parameter.name] = column
        else:
            args.append(column)
    return tuple(args), kwargs


def _refuse_unknown_defaults(
    operation: Operation, bound: Sequence[BoundArguments], given: set[str]
) -> None:
    """Refuse a parameter that some callers leave out if only the server knows its default."""
    for name in operation.python.parameters:
        if name in given and any(one.arguments[name] is ... for one in bound):
            raise GcmError(
                f"some callers of '{operation.name}' left out '{name}', whose default the "
                "interface does not tell",
                cure="Let all callers pass it, or write the default value into the signature",
            )


def _transposed(operation: Operation, name: str, rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    sizes = [len(row) for row in rows]
    if len(set(sizes)) > 1:
        raise GcmError(
            f"the callers of '{operation.name}' gave different numbers of arguments for "
            f"'*{name}': {sizes}"
        )
    return [list(column) for column in zip(*rows, strict=True)]


def _merged(
    operation: Operation, name: str, rows: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    keys = [sorted(row) for row in rows]
    if any(row != keys[0] for row in keys):
        raise GcmError(
            f"the callers of '{operation.name}' gave different keywords for '**{name}': {keys}"
        )
    return {key: [row[key] for row in rows] for key in rows[0]}
