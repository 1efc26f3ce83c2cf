"""How one argument of a multicast call is distributed over the bound servers, and how to say so.

A mode can be given at three levels; the parameter beats the operation, which beats the interface:

    @distribute(round_robin)
    class Workers(Protocol):
        def run(self, jobs: list[str]) -> list[int]: ...                      # round_robin

        @distribute(one_to_one)
        def step(self, parts: list[Part], time: Annotated[float, broadcast]) -> None: ...

        @distribute(parts=one_to_one)
        def load(self, parts: list[Part], path: str) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from gcm.errors import DispatchError, IllegalTypeError
from gcm.interfaces.policies.blocks import block_bounds
from gcm.interfaces.policies.marks import get_mark, put_mark
from gcm.interfaces.policies.parallel import blocks_of
from gcm.records import dataclass

if TYPE_CHECKING:
    from random import Random

Marked = TypeVar("Marked")
Chooser = Callable[[Any, int], Iterable[tuple[int, Any]]]


class Mode(StrEnum):
    """The ways of distributing an argument."""

    BROADCAST = "broadcast"
    ONE_TO_ONE = "one_to_one"
    ROUND_ROBIN = "round_robin"
    RANDOM = "random"
    UNICAST = "unicast"
    REDISTRIBUTE = "redistribute"
    CUSTOM = "custom"


class ArgumentPlacement(NamedTuple):
    """The parts of one argument and, for each, the position of its server."""

    targets: Sequence[int]
    parts: Sequence[Any]


@dataclass(slots=True)
class Spread:
    """The basis for distributing one call: number of servers, turn, random generator."""

    servers: int
    rng: Random
    turn: int
    _drawn: dict[int, list[int]] = field(default_factory=dict)

    def draw(self, count: int) -> list[int]:
        """Return `count` servers drawn at random, the same ones for each parameter of the call."""
        if count not in self._drawn:
            self._drawn[count] = [self.rng.randrange(self.servers) for _ in range(count)]
        return self._drawn[count]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A way of distributing an argument; use the predefined values and `distribute_by`."""

    mode: Mode
    chooser: Chooser | None = None

    @property
    def is_whole(self) -> bool:
        """Whether each server that is called takes the argument as it is."""
        return self.mode in (Mode.BROADCAST, Mode.UNICAST)

    @property
    def is_element_wise(self) -> bool:
        """Whether each call takes one element of a sequence, or one block of an array."""
        return self.mode in (Mode.ONE_TO_ONE, Mode.ROUND_ROBIN, Mode.RANDOM)

    def place(self, value: Any, spread: Spread, label: str) -> ArgumentPlacement:
        """Distribute an argument that is not passed whole.

        `label` names the argument in errors. Raises DispatchError for a value that cannot be
        distributed in this way.
        """
        if self.mode is Mode.REDISTRIBUTE:
            blocks = blocks_of(value).redistributed(spread.servers, label)
            return ArgumentPlacement(range(spread.servers), blocks)
        if self.chooser is not None:
            return _chosen(self.chooser, value, spread.servers, label)
        parts = _parts(value, spread.servers, label)
        if self.mode is Mode.RANDOM:
            return ArgumentPlacement(spread.draw(len(parts)), parts)
        if self.mode is Mode.ONE_TO_ONE and len(parts) != spread.servers:
            raise DispatchError(
                f"{label} has {len(parts)} elements for {spread.servers} servers",
                cure="one_to_one needs one element per bound server; round_robin takes any number",
            )
        return ArgumentPlacement([index % spread.servers for index in range(len(parts))], parts)

    def __str__(self) -> str:
        return self.mode.value


broadcast: Final = Distribution(Mode.BROADCAST)
"""Every server gets the argument as it is (the default)."""

one_to_one: Final = Distribution(Mode.ONE_TO_ONE)
"""Server i gets element i; the length must be the number of servers. An array gives each server
one contiguous block of its first axis, the first `length % servers` blocks one row longer."""

round_robin: Final = Distribution(Mode.ROUND_ROBIN)
"""Element i goes to server i modulo N, one call per element. An array is split as by one_to_one:
one block per server."""

random: Final = Distribution(Mode.RANDOM)
"""Each element goes to a server drawn at random. An array is split into as many blocks as there
are servers, and each block goes to a server drawn at random."""

unicast: Final = Distribution(Mode.UNICAST)
"""Exactly one server gets the call, each in its turn."""


redistribute: Final = Distribution(Mode.REDISTRIBUTE)
"""The argument is one block of an array that is spread over the members of a parallel component;
each member of the component at the other end gets its own block of the whole. Both ends see plain
arrays: M members call with M blocks, N members are called with N blocks."""


def distribute_by(chooser: Chooser) -> Distribution:
    """Distribute an argument by a user-defined function.

    `chooser(value, servers)` gives pairs of the position of a server and what that server gets,
    one pair per call.
    """
    return Distribution(Mode.CUSTOM, chooser)


@dataclass(frozen=True, slots=True)
class DistributionMark:
    """The arguments of `@distribute`: a mode for all parameters, and modes for some by name."""

    common: Distribution | None
    named: Mapping[str, Distribution]


def distribute(
    common: Distribution | None = None, /, **named: Distribution
) -> Callable[[Marked], Marked]:
    """Set how the parameters of an operation, or of all those of an interface, are distributed.

    Above an operation: a mode for all its parameters, modes by the name of parameters, or both.
    Above an interface class: one mode. Raises IllegalTypeError when put on anything else.
    """

    def decorate(target: Marked) -> Marked:
        if named and isinstance(target, type):
            raise IllegalTypeError(
                f"@distribute on the interface class {target.__qualname__} names parameters "
                f"({', '.join(named)})",
                cure="Give an interface one mode, and put modes by name above its operations",
            )
        put_mark(target, "distribution", DistributionMark(common, named), "distribute")
        return target

    return decorate


def distribution_mark(target: object) -> DistributionMark:
    """Return the modes set by `@distribute` on a function or class."""
    mark = get_mark(target, "distribution")
    return mark if isinstance(mark, DistributionMark) else DistributionMark(None, {})


def _parts(value: Any, servers: int, label: str) -> Sequence[Any]:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        if not shape:
            raise DispatchError(f"{label} is an array without an axis and cannot be split")
        return [value[low:high] for low, high in block_bounds(shape[0], servers)]
    spreadable = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    if not spreadable or isinstance(value, str | bytes | bytearray | Mapping | Set):
        raise DispatchError(
            f"{label} is a {type(value).__qualname__} and cannot be split into elements",
            cure="Give a list, a tuple or an array, or broadcast the argument",
        )
    return [value[index] for index in range(len(value))]


def _chosen(chooser: Chooser, value: Any, servers: int, label: str) -> ArgumentPlacement:
    name = getattr(chooser, "__qualname__", repr(chooser))
    try:
        pairs = [(target, part) for target, part in chooser(value, servers)]
    except Exception as error:
        raise DispatchError(
            f"the distribution function {name} failed for {label}: {type(error).__name__}: {error}"
        ) from error
    strange = [target for target, _ in pairs if target not in range(servers)]
    if strange:
        raise DispatchError(
            f"the distribution function {name} sends {label} to the servers {strange}",
            cure=f"Positions of servers are 0 to {servers - 1}",
        )
    return ArgumentPlacement([target for target, _ in pairs], [part for _, part in pairs])
