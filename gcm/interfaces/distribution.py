"""Distribution of one multicast call: the calls of the servers, and the combined result."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from inspect import _ParameterKind
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gcm.errors import DispatchError
from gcm.interfaces.policies.parallel import BlockArray
from gcm.interfaces.policies.spreading import (
    ArgumentPlacement,
    Distribution,
    Mode,
    Spread,
    broadcast,
    distribute,
    distribute_by,
    one_to_one,
    random,
    redistribute,
    round_robin,
    unicast,
)
from gcm.interfaces.signature import Operation, Parameter, SignatureError, signature_of

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "Distribution",
    "Mode",
    "OperationDispatch",
    "ServerCall",
    "broadcast",
    "dispatch_of",
    "distribute",
    "distribute_by",
    "one_to_one",
    "random",
    "redistribute",
    "redistributes",
    "round_robin",
    "unicast",
]

_CACHED_DISPATCHES = 4096


class ServerCall(NamedTuple):
    """One of the calls of a multicast: the position of the server, and its arguments."""

    server: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Part(NamedTuple):
    """One argument that is spread: its position or keyword (None: the call as a whole does)."""

    key: int | str | None
    label: str
    placement: ArgumentPlacement


class OperationDispatch:
    """How the calls of one operation are distributed; made once per operation.

    A parameter that the caller leaves out stays out, so that each server uses its own default.
    """

    is_broadcast: bool
    """Whether every call goes to every server with the arguments as they are."""

    lists_results: bool
    """Whether the caller gets the plain list of the results."""

    def __init__(self, operation: Operation) -> None:
        kinds = _ParameterKind
        parameters = operation.parameters
        self._operation = operation
        self._by_position = [
            one
            for one in parameters
            if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ]
        self._by_keyword = {
            one.name: one
            for one in parameters
            if one.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
        }
        self._rest = next((one for one in parameters if one.kind is kinds.VAR_POSITIONAL), None)
        self._other_keywords = next(
            (one for one in parameters if one.kind is kinds.VAR_KEYWORD), None
        )
        self._unicast = _unicast_label(operation)
        self.is_redistributing = is_redistributing(operation)
        self.lists_results = not (
            operation.returns_nothing or self.is_redistributing or operation.reduction
        )
        self.is_broadcast = not self._unicast and all(
            one.distribution.is_whole for one in parameters
        )

    def calls(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        servers: int,
        *,
        rng: Random,
        turn: int,
    ) -> list[ServerCall]:
        """Return the calls of the servers, in the order in which their results are to be listed.

        `turn` counts the calls and chooses the server of a unicast. Raises DispatchError, before
        anything is sent, for arguments that cannot be spread, that differ in size, or that go to
        different servers, and where there are no servers.
        """
        if servers < 1:
            raise DispatchError(
                f"a multicast call of '{self._operation.name}' has no server to go to",
                cure="Bind the interface to at least one server",
            )
        spread = Spread(servers, rng, turn)
        parts = [] if self.is_broadcast else self._parts(args, kwargs, spread)
        if self._unicast:
            parts.append(_Part(None, self._unicast, ArgumentPlacement([turn % servers], [None])))
        if not parts:
            return [ServerCall(server, args, dict(kwargs)) for server in range(servers)]
        targets = self._agreed_targets(parts)
        return [
            self._call(server, args, kwargs, parts, index) for index, server in enumerate(targets)
        ]

    def reduce(self, results: Sequence[Any], *, inside: bool = False) -> Any:
        """Return the caller's result for the results of the calls, which are in call order.

        None for an operation that returns None, the outcome of its reduction, or else a list. Of
        an operation that redistributes arrays the results are reduced among the members, `inside`
        their component, and then pass through as they are. Raises DispatchError when the results
        cannot be reduced.
        """
        if self.lists_results:
            return list(results)
        if self._operation.returns_nothing:
            return None
        if self.is_redistributing:
            return self._reduce_blocks(results, inside)
        assert self._operation.reduction is not None
        return self._operation.reduction(results)

    def _reduce_blocks(self, results: Sequence[Any], inside: bool) -> Any:
        if inside:
            reduction = self._operation.reduction
            return BlockArray(results) if reduction is None else reduction(results)
        if len(results) > 1:
            raise DispatchError(
                f"'{self._operation.name}' returns blocks from {len(results)} components at once",
                cure="Bind it to one parallel component, or let it return None",
            )
        return results[0]

    def _parts(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], spread: Spread
    ) -> list[_Part]:
        given: list[tuple[int | str, Parameter | None, Any]] = [
            (
                position,
                self._by_position[position] if position < len(self._by_position) else self._rest,
                value,
            )
            for position, value in enumerate(args)
        ]
        given += [
            (name, self._by_keyword.get(name, self._other_keywords), value)
            for name, value in kwargs.items()
        ]
        parts = []
        for key, parameter, value in given:
            if parameter is not None and not parameter.distribution.is_whole:
                label = self._label(key, parameter)
                parts.append(_Part(key, label, parameter.distribution.place(value, spread, label)))
        return parts

    def _label(self, key: int | str, parameter: Parameter) -> str:
        name = parameter.name
        if parameter is self._rest and isinstance(key, int):
            name = f"{name}[{key - len(self._by_position)}]"
        elif parameter is self._other_keywords:
            name = str(key)
        return f"parameter '{name}' ({parameter.distribution}) of '{self._operation.name}'"

    def _agreed_targets(self, parts: Sequence[_Part]) -> Sequence[int]:
        sizes = [len(part.placement.targets) for part in parts]
        if len(set(sizes)) > 1:
            listed = ", ".join(
                f"{part.label}: {size}" for part, size in zip(parts, sizes, strict=True)
            )
            raise DispatchError(
                f"the arguments of '{self._operation.name}' make different numbers of calls: "
                f"{listed}",
                cure="Spread arguments of one size, or broadcast some of them",
            )
        targets = parts[0].placement.targets
        if any(list(part.placement.targets) != list(targets) for part in parts):
            listed = ", ".join(f"{part.label}: {list(part.placement.targets)}" for part in parts)
            raise DispatchError(
                f"the arguments of '{self._operation.name}' go to different servers: {listed}",
                cure="Spread them all in the same way",
            )
        return targets

    def _call(
        self,
        server: int,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        parts: Sequence[_Part],
        index: int,
    ) -> ServerCall:
        own_args, own_kwargs = list(args), dict(kwargs)
        for key, _, placement in parts:
            if isinstance(key, int):
                own_args[key] = placement.parts[index]
            elif key is not None:
                own_kwargs[key] = placement.parts[index]
        return ServerCall(server, tuple(own_args), own_kwargs)


@lru_cache(maxsize=_CACHED_DISPATCHES)
def dispatch_of(interface: type[Any], operation: str) -> OperationDispatch:
    """Return how the calls of an operation of an interface class are distributed, made once.

    Raises SignatureError for a class that is no signature, and KeyError for an operation that it
    does not have.
    """
    return OperationDispatch(signature_of(interface).operations[operation])


def redistributes(interface: type[Any]) -> bool:
    """Return whether operations of an interface exchange blocks between parallel components."""
    return _redistributes(cast(Hashable, interface))


@lru_cache(maxsize=_CACHED_DISPATCHES)
def _redistributes(interface: Any) -> bool:
    try:
        operations = signature_of(interface).operations.values()
    except SignatureError:  # reported where the class is named as a signature
        return False
    return any(is_redistributing(operation) for operation in operations)


def is_redistributing(operation: Operation) -> bool:
    """Return whether an argument is a block of an array that is distributed over members."""
    return any(one.distribution.mode is Mode.REDISTRIBUTE for one in operation.parameters)


def _unicast_label(operation: Operation) -> str:
    """Name what makes the calls of the operation unicasts, or return an empty text."""
    names = [one.name for one in operation.parameters if one.distribution.mode is Mode.UNICAST]
    if names:
        return f"parameter '{names[0]}' (unicast) of '{operation.name}'"
    unicast_operation = operation.distribution.mode is Mode.UNICAST
    return f"operation '{operation.name}' (unicast)" if unicast_operation else ""
