"""The controllers and interceptors that a descriptor names, in the process of a rank.

All ranks of a machine are told the same list, so that all of them, and both ends of a pair, compose
the same controllers and the same ports. The classes are loaded from the program's own folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from runtime.errors import GridError
from runtime.lazy_import import LazyModule
from runtime.machine.roles import INTERCEPTOR, PLAN_CHOICE

if TYPE_CHECKING:
    from runtime.collectives.choice import Choice, PlanChoice
    from runtime.machine import named_classes
else:
    named_classes = LazyModule("runtime.machine.named_classes")

SITES, CLUSTERS = "sites", "clusters"

PlainNamed = tuple[str, str, tuple[int, ...], str, str]
"""A named class as it is told: its role, its name, the part of the machine in which it is named,
between what an interceptor stands, and where that is written."""


class CompositionError(GridError):
    """A class that a descriptor names cannot do what it was named for."""


class Named:
    """A class that a descriptor names. `scope` is empty for the grid, else a site or a cluster."""

    __slots__ = ("between", "name", "role", "scope", "written")

    def __init__(self, plain: PlainNamed) -> None:
        self.role, self.name, scope, self.between, self.written = plain
        self.scope = tuple(scope)

    def __str__(self) -> str:
        return f"{self.role} {self.name} ({self.written})"

    def stands_between(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Tell whether an interceptor stands in the ports of ranks of two clusters.

        It stands where at least one of the two lies in the part of the machine that names it.
        """
        if one == other or (self.between == SITES and one[0] == other[0]):
            return False
        return any(place[: len(self.scope)] == self.scope for place in (one, other))


class _Guarded:
    """A controller; what it raises becomes an error that names it."""

    def __init__(self, controller: Any, raised: Callable[[Exception], CompositionError]) -> None:
        self._controller, self._raised = controller, raised

    def __getattr__(self, name: str) -> Any:
        called = getattr(self._controller, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return called(*args, **kwargs)
            except Exception as error:
                raise self._raised(error) from error

        return call


class Composition:
    """What is named for one rank, whose component has a `path`; `here` is its site and cluster.

    >>> told = [("plan-choice", "plans.Chain", (), "", "deploy.xml:3")]
    >>> str(Composition(told, "north/alder/wrapper0").named("plan-choice")[0])
    'plan-choice plans.Chain (deploy.xml:3)'
    """

    def __init__(
        self,
        plain: Iterable[PlainNamed],
        path: str,
        here: tuple[int, ...] = (),
        plans: str = "",
    ) -> None:
        self.path, self.here, self._plans = path, here, plans
        self._named = [Named(one) for one in plain]
        self._made: dict[tuple[str, tuple[int, ...]], Any] = {}

    def named(self, role: str, part: tuple[int, ...] = ()) -> list[Named]:
        """Return what is named for a part of the machine: the nearest first, then as written."""
        found = [
            one for one in self._named if one.role == role and part[: len(one.scope)] == one.scope
        ]
        return sorted(found, key=lambda one: -len(one.scope))

    def controller(self, role: str, usual: Any, part: tuple[int, ...] | None = None) -> Any:
        """Return the controller of a part of the machine; each precedes the next, `usual` is last.

        Without a part it is that of the rank's own cluster. Where one is named, what its methods
        raise becomes a CompositionError.

        Raises:
            CompositionError: a class cannot be found, or does not fulfil its contract.
        """
        key = role, self.here if part is None else part
        if key not in self._made:
            made, named = usual, self.named(*key)
            for one in reversed(named):
                made = self.make(one, made)
            self._made[key] = _Guarded(made, partial(self.raised, named)) if named else made
        return self._made[key]

    @property
    def has_interceptors(self) -> bool:
        """Whether any interceptor is named."""
        return any(one.role == INTERCEPTOR for one in self._named)

    def interceptors(self, one: tuple[int, int], other: tuple[int, int]) -> list[Named]:
        """Return what stands in the ports of ranks of two clusters, in the order as written."""
        return [
            named
            for named in self._named
            if named.role == INTERCEPTOR and named.stands_between(one, other)
        ]

    def make(self, named: Named, *arguments: Any) -> Any:
        """Return an object of a named class; an interceptor is the same one in all ports.

        Raises:
            CompositionError: the class cannot be found, does not fulfil its contract, or raises.
        """
        try:
            found = named_classes.load(named.name)
            fault = named_classes.fault_of(named.role, found)
            if fault:
                raise named_classes.NotFound(fault)
            return found(*arguments)
        except named_classes.NotFound as error:
            raise CompositionError(
                f"{named} cannot be used: {error}", place=self.path, cure=named_classes.CURE
            ) from None
        except Exception as error:
            raise self.raised([named], error) from error

    def raised(self, named: Sequence[Named], error: Exception) -> CompositionError:
        """Return what is raised from an error of one of some classes."""
        who = ", ".join(map(str, named))
        return CompositionError(f"{who} raised {type(error).__name__}: {error}", place=self.path)

    def chosen_plan(self, part: tuple[int, ...], operation: str, *call: Any) -> Choice:
        """Return what the plan-choice of a part answers; see `runtime.collectives.choice`.

        Named classes precede the rules of `plans`, which precede the usual choice.

        Raises:
            CompositionError: it raises, or answers something else than one of the plans.
        """
        named = self.named(PLAN_CHOICE, part)
        usual = named_classes.usual_plans(self._plans)
        choice: PlanChoice = self.controller(PLAN_CHOICE, usual, part)
        answer = choice.choose(operation, *call)
        plans = call[-1]
        plan, _, segment = str(answer).partition("/")
        if plan not in plans or not (segment or "1").isdecimal():
            raise CompositionError(
                f"{', '.join(map(str, named))} answers {answer!r} for {operation}, "
                "which is not a plan",
                place=self.path,
                cure=f"There are: {', '.join(plans)}",
            )
        return named_classes.Choice.read(answer)
