"""What a communicator keeps for its collectives, and how one of them is run, begun or prepared."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, wraps
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from mpi4py import MPI

from runtime.calls import COLLECTIVES
from runtime.collectives.between import Sides
from runtime.collectives.blocks import SMALL
from runtime.collectives.choice import (
    COMPONENTS,
    FLAT,
    PLANS,
    SHORT,
    SURVIVING,
    Choice,
    UsualPlans,
    size_class,
)
from runtime.collectives.components import MOST_BYTES
from runtime.collectives.layout import Layout
from runtime.mpi.collectives.equal_sizes import checked_by_leader, checked_by_members
from runtime.mpi.collectives.guard import CollectiveGuard, RootGuard
from runtime.mpi.collectives.mismatches import MismatchDetector, call_of, sized, tag_of
from runtime.mpi.collectives.port import NativePort
from runtime.mpi.collectives.rings import Neighbours
from runtime.mpi.collectives.single_copies import may_read_each_other
from runtime.mpi.collectives.small_messages import MOST_MEMBERS, SmallMessageCall, SmallMessages
from runtime.mpi.errors import refuse, report, tell
from runtime.mpi.point_to_point.sends import refused
from runtime.mpi.process.place import here
from runtime.mpi.progress.collective_mailbox import BUNDLED, LITTLE
from runtime.mpi.progress.membership import (
    CommunicatorMembers,
    derived_context,
    intra,
    near_members,
)
from runtime.mpi.requests.requests import Prequest, new_request, persistent_request

if TYPE_CHECKING:
    from runtime.collectives.brief import TalkOf
    from runtime.collectives.choice import PlanChoice, Sites
    from runtime.collectives.port import Steps
    from runtime.mpi.collectives.reductions import ElementReduction
    from runtime.mpi.progress.operations import Operation, Task

_T = TypeVar("_T")

Algorithm: TypeAlias = "Callable[[NativePort], Steps[_T]]"


class CollectivePlan(Generic[_T]):
    """A collective with checked arguments, which can be carried out any number of times."""

    __slots__ = (
        *("algorithm", "brief", "found", "name", "on_objects"),
        *("reduction", "root", "size", "spreads"),
    )

    def __init__(
        self,
        name: str,
        algorithm: Algorithm[_T],
        reduction: ElementReduction | None = None,
        root: int | None = None,
        *,
        brief: TalkOf | None = None,
        size: int | None = None,
        spreads: bool = False,
        found: list[_T] | None = None,
        on_objects: int | None = None,
    ) -> None:
        """Take the arguments.

        `root` is given if it has to be that of all members; `size` are the bytes that each of them
        gives or gets, None if these may differ. Little data uses the `brief` algorithm, if there is
        one, which puts its result into `found`, nothing where it turns out to be of no use. It
        `spreads` if members only get what one has, which does not wait for them. `on_objects` is
        the number of a reduction of objects, if it has to be that of all members.
        """
        self.name = name
        self.algorithm = algorithm
        self.reduction = reduction
        self.root = root
        self.brief = brief
        self.size = size
        self.spreads = spreads
        self.found = found
        self.on_objects = on_objects

    @property
    def reduced_by(self) -> int | None:
        """The number of its reduction, if all members have to give the same one."""
        if self.reduction is None:
            return self.on_objects
        return None if self.size is None else self.reduction.number


_Planner = TypeVar("_Planner", bound=Callable[..., CollectivePlan[Any]])


def nothing(_: NativePort) -> Steps[None]:
    """Do nothing: the root is another member of this process's group."""
    yield from ()


_REFUSED: CollectivePlan[Any] = CollectivePlan("refused", nothing)
"""The plan of a call with a wrong argument whose error handler has returned: it does nothing."""


_BROADCASTS = ("Bcast", "bcast")
_OBJECTS = ("allgather", "alltoall")
_LEAST_OF_OBJECT = 64
_LARGE_CALLS = 16
_JOINING = {name for name, call in COLLECTIVES.items() if call.has("joins")}


class Collecting:
    """The members of a communicator as collectives see them, and the count of collectives so far.

    Those of an intercommunicator run among the members of both groups.
    """

    def __init__(self, members: CommunicatorMembers) -> None:
        self.members = members
        self.engine = members.engine
        self.everybody = members
        if members.is_inter:
            both = sorted((*members.group, *members.peers))
            context = derived_context(members.context, "collectives")
            self.everybody = intra(members.engine, both, members.inner, members.inner, context)
            self.everybody.recovery.closing = members.recovery.closing
        self.mismatches = MismatchDetector(self.everybody)
        self._root_guards: dict[int, RootGuard] = {}
        self._chosen: dict[tuple[str, int | None, bool], Choice] = {}
        self._named: PlanChoice | None = None
        self._large: dict[str, int] = {}
        """How many calls with objects are not tried briefly, after one that was in vain."""

    def chosen(self, operation: str, size: int | None, *, may_be_short: bool = True) -> Choice:
        """Return an operation's plan for a size in bytes; one without a name between two groups.

        `may_be_short` says whether the brief algorithm could be used for little data.

        Raises:
            CompositionError: the controller that the descriptor names raises, or answers what there
                is not.
        """
        if self.members.is_inter:
            return Choice("")
        is_little = may_be_short and self._is_little(operation, size)
        if operation in _BROADCASTS and self.survives:
            return Choice(SHORT if is_little and self.brief is not None else SURVIVING)
        key = operation, None if size is None else size_class(size), is_little
        found = self._chosen.get(key)
        if found is None:
            found = self._chosen[key] = self._choose(*key)
        return found

    def may_be_brief(self, operation: str) -> bool:
        """Return whether to try the brief algorithm for objects; all members agree."""
        if self.members.is_inter or here().has_replicas:  # restarted ones do not know what was
            return False
        left = self._large.pop(operation, 0)
        if left > 1:
            self._large[operation] = left - 1
        return not left and self.chosen(operation, None).plan == SHORT

    @property
    def most_of_object(self) -> int:
        """The size up to which the pickle of each member is little data."""
        return BUNDLED // self.everybody.size

    def note_large(self, operation: str) -> None:
        """Take note of objects that were too large for the brief algorithm."""
        self._large[operation] = _LARGE_CALLS

    def choose_by(self, rules: str) -> None:
        """Let rules choose plans from now on, before all else; none if empty.

        Raises:
            RuleFault: something is no rule.
        """
        from runtime.collectives.rules import RuledPlans, read_rules  # few communicators have any

        self._named = RuledPlans(UsualPlans(), read_rules(rules)) if rules else None
        self._chosen.clear()

    def offered(self, operation: str, size: int) -> tuple[str, ...]:
        """Return the plans between ranks that an operation can have for a size in bytes."""
        return self._plans(operation, is_little=self._is_little(operation, size))

    def _plans(self, operation: str, *, is_little: bool) -> tuple[str, ...]:
        has_short = is_little and self.brief is not None
        plans = (one for one in PLANS[operation] if one != COMPONENTS)
        return tuple(one for one in plans if one != SHORT or has_short)

    def _has_components(self, operation: str, size: int | None) -> bool:
        """Return whether the components of the machine can carry an operation out."""
        group = self.everybody.group
        return (
            COMPONENTS in PLANS[operation]
            and self.engine.components is not None
            and size is not None
            and size * len(group) <= MOST_BYTES
            and list(group) == sorted(group)
        )

    def _is_little(self, operation: str, size: int | None) -> bool:
        if SHORT not in PLANS[operation]:
            return False
        if operation in _OBJECTS:
            return self.most_of_object >= _LEAST_OF_OBJECT
        of_all = (size or 0) * self.everybody.size
        return of_all <= BUNDLED if operation in _JOINING else (size or 0) <= LITTLE

    def _choose(self, operation: str, size: int | None, is_little: bool) -> Choice:
        plans = self._plans(operation, is_little=is_little)
        if self._has_components(operation, size):
            plans += (COMPONENTS,)
        sites = self.sites
        composition = self.engine.composition
        if composition is None or self._named is not None:
            choice = self._named or UsualPlans()
            return Choice.read(choice.choose(operation, size, sites, plans))
        return composition.chosen_plan(self._part(), operation, size, sites, plans)

    @property
    def sites(self) -> Sites:
        """The members, as a plan-choice is told of them."""
        return tuple(tuple(part.members for part in site) for site in self.layout.sites)

    def _part(self) -> tuple[int, ...]:
        """Return the part of the machine that spans all members: a site, or the grid."""
        known = here().everybody
        found = {known[index].site for index in self.everybody.group}
        return tuple(found) if len(found) == 1 else ()

    @cached_property
    def layout(self) -> Layout:
        """The sites and clusters of all members."""
        places = [here().neighbourhood_of(index) for index in self.everybody.group]
        return Layout(places, self.everybody.rank)

    @cached_property
    def guard(self) -> CollectiveGuard:
        """Return the guard that detects collectives that cannot complete."""
        group = self.everybody.group
        leaders = [group[part.members[0]] for part in self.layout.remote()]
        return CollectiveGuard(leaders, self.mismatches)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Return the members in this cluster that can be woken."""
        engine = self.engine
        near = near_members(engine, self.everybody.group)
        connections = engine.connections
        copies_at_once = (
            connections is not None
            and all(map(connections.is_near, near))
            and may_read_each_other()
        )
        position = near.index(engine.me)
        return Neighbours(near, position, engine.wake_ups, copies_at_once=copies_at_once)

    @cached_property
    def brief(self) -> SmallMessages | None:
        """Return what carries out brief collectives; all members agree on whether there is one."""
        connections, parts, group = self.engine.connections, self.layout.parts, self.everybody.group
        if (
            connections is None
            or self.members.is_inter
            or max(len(one.members) for one in parts) > MOST_MEMBERS
        ):
            return None
        if not all(
            connections.share_a_machine([group[rank] for rank in one.members]) for one in parts
        ):
            return None
        return SmallMessages(self.everybody, self.layout)

    @cached_property
    def sides(self) -> Sides:
        """Return the two groups of an intercommunicator."""
        ranks = {index: rank for rank, index in enumerate(self.everybody.group)}
        return Sides(
            self.layout,
            [ranks[index] for index in self.members.group],
            [ranks[index] for index in self.members.peers],
        )

    def carry_out(self, plan: CollectivePlan[Any]) -> Operation:
        """Begin a collective that the program waits for, and complete it if that can be soon."""
        brief = None if plan.brief is None else self.brief
        if plan.brief is None or brief is None:
            return self.start(plan)
        turn = self._next_turn(plan, is_little=True)
        call = self._small_call(brief, plan, plan.brief, turn)
        return (brief.carry_out if self.mismatches.is_calm else brief.begin)(call, turn)

    def start(self, plan: CollectivePlan[_T]) -> Task:
        """Begin a collective, after those that were begun before it."""
        brief = None if plan.brief is None else self.brief
        turn = self._next_turn(plan, is_little=brief is not None)
        if plan.brief is not None and brief is not None:
            call = self._small_call(brief, plan, plan.brief, turn)
            return brief.begin(call, turn)
        tag = tag_of(plan.name, turn)
        told = sized(tag, plan.size, plan.reduced_by)
        ends = self.everybody, plan.reduction, self.neighbours, self.mismatches
        port = NativePort(*ends, turn=turn, tag=tag, call=told)
        algorithm = self._checked(plan, plan.algorithm(port), port)
        guard = self._guard_of(plan)
        inner = guard.carried_out(algorithm, turn, port)
        steps = guard.steps(inner, turn, plan.name)
        return self.engine.start(self.everybody, steps, plan.name)

    def _guard_of(self, plan: CollectivePlan[Any]) -> CollectiveGuard:
        """Return what ends a call: the loss of a member, of the root where others may be lost."""
        if plan.name not in _BROADCASTS or plan.root is None or not self.survives:
            return self.guard
        found = self._root_guards.get(plan.root)
        if found is None:
            root = self.everybody.group[plan.root]
            leaders = [] if root == self.engine.me else [root]
            found = self._root_guards[plan.root] = RootGuard(leaders, self.mismatches)
        return found

    @cached_property
    def survives(self) -> bool:
        """Whether broadcasts reach all that live, whoever but the root is lost."""
        return here().is_isolated and not here().has_replicas and not self.members.is_inter

    def _checked(
        self, plan: CollectivePlan[_T], algorithm: Steps[_T], port: NativePort
    ) -> Steps[_T]:
        """Return an algorithm that fails if a member of this cluster gives another size."""
        if plan.size is None or len(self.layout.mine.members) == 1:
            return algorithm
        part = self.layout.mine
        leader = part.leader(-1 if plan.root is None else plan.root)
        if plan.spreads:
            return checked_by_members(algorithm, part, leader, port)
        needs_leader = plan.name in COLLECTIVES and plan.name != "Alltoall"
        at_once = plan.size < SMALL and needs_leader
        return checked_by_leader(algorithm, part, leader, port, at_once=at_once)

    def _next_turn(self, plan: CollectivePlan[_T], *, is_little: bool) -> int:
        is_little = is_little and plan.name != "Barrier"
        return self.mismatches.next_turn(
            call_of(plan.name, plan.root, plan.size, plan.reduced_by, is_little=is_little)
        )

    def _small_call(
        self, brief: SmallMessages, plan: CollectivePlan[Any], talk_of: TalkOf, turn: int
    ) -> SmallMessageCall:
        guard = self._guard_of(plan)
        size, reduction = plan.size, plan.reduced_by
        return SmallMessageCall(
            brief, guard, plan.name, turn, talk_of, size=size, reduction=reduction
        )

    def begin(self, plan: CollectivePlan[Any]) -> Task:
        """Begin a collective that the program does not wait for at once."""
        task = self.start(plan)
        if not task.done:
            self.engine.attend()
        return task


class CollectiveCall:
    """A collective call on a communicator of the grid."""

    __slots__ = ("comm", "state")

    def __init__(self, comm: MPI.Comm, state: Collecting) -> None:
        self.comm, self.state = comm, state

    @property
    def members(self) -> CommunicatorMembers:
        """Return the members that take part."""
        return self.state.members

    @property
    def rank(self) -> int:
        """Return the rank of this process."""
        return self.state.members.rank

    @property
    def size(self) -> int:
        """Return the number of peers: of members, or of those of the other group."""
        return len(self.state.members.peers)

    @property
    def is_inter(self) -> bool:
        """Return whether there are two groups."""
        return self.state.members.is_inter

    @property
    def layout(self) -> Layout:
        """Return where the members live."""
        return self.state.layout

    def layout_of(self, plan: str) -> Layout:
        """Return where members live as a plan sees it: `flat` does not know of clusters."""
        return self.layout.scattered if plan == FLAT else self.layout

    def chosen(self, operation: str, size: int | None, *, may_be_short: bool = True) -> Choice:
        """Return the plan of this call; one without a name where there are two groups."""
        return self.state.chosen(operation, size, may_be_short=may_be_short)

    def has_root(self, root: int) -> bool:
        """Return whether a root is valid."""
        return 0 <= root < self.size or (self.is_inter and root in {MPI.ROOT, MPI.PROC_NULL})

    def common(self, number: int) -> int | None:
        """Return a number, such as a root, if all members have to give the same one."""
        return None if self.is_inter else int(number)

    def common_size(self, size: int | None) -> int | None:
        """Return the size of each member's data if all have to give as much."""
        return None if self.is_inter else size

    def check_root(self, root: int) -> None:
        """Raise MPI's error for an invalid root."""
        if not self.has_root(root):
            refuse(self.comm, MPI.ERR_ROOT)

    def refused(self, error_class: int) -> CollectivePlan[None]:
        """Raise an error of MPI, or return the plan to use if its error handler returns."""
        tell(self.comm, MPI.Exception(error_class))
        return _REFUSED

    def run(self, plan: CollectivePlan[None]) -> None:
        """Carry out a collective."""
        if plan is _REFUSED:
            return
        call = self.state.carry_out(plan)
        if not call.done:
            self.state.engine.waits.wait(call.test, lambda: (call,))
        if call.error is not None:
            tell(self.comm, call.error)

    def result(self, plan: CollectivePlan[_T]) -> _T:
        """Carry out a collective, and return its result."""
        if plan.found is not None:
            self._wait_for(self.state.carry_out(plan))
            if plan.found:
                return plan.found[0]
            self.state.note_large(plan.name)
            plan = CollectivePlan(plan.name, plan.algorithm)
        task = self.state.start(plan)
        self._wait_for(task)
        result: _T = task.result
        return result

    def _wait_for(self, call: Operation) -> None:
        if not call.done:
            self.state.engine.waits.wait(call.test, lambda: (call,))
        if call.error is not None:
            report(self.comm, call.error)

    def begin(self, plan: CollectivePlan[Any]) -> MPI.Request:
        """Begin a collective."""
        begun = refused() if plan is _REFUSED else self.state.begin(plan)
        return new_request(self.members, begun)

    def prepare(self, plan: CollectivePlan[Any]) -> MPI.Prequest:
        """Return the request that begins a collective each time it is started."""
        if plan is _REFUSED:
            return Prequest()
        return persistent_request(self.members, lambda: self.state.begin(plan))


def planned(name: str, **others: str) -> Callable[[_Planner], _Planner]:
    """Tell the other members when planning fails, since they wait for this process.

    They are told that this process refuses the call `name`, or `others[word]` if its argument
    `word` is true.
    """

    def announced(plan: _Planner) -> _Planner:
        @wraps(plan)
        def made(call: CollectiveCall, *args: Any, **kwargs: Any) -> CollectivePlan[Any]:
            try:
                found = plan(call, *args, **kwargs)
            except Exception as error:
                notify_others(call, kwargs, error)
                raise
            if found is _REFUSED:
                notify_others(call, kwargs, "an argument is wrong")
            return found

        def notify_others(
            call: CollectiveCall, kwargs: dict[str, Any], why: Exception | str
        ) -> None:
            kind = next((others[word] for word in others if kwargs.get(word)), name)
            call.state.mismatches.refuse(kind, why)

        return made  # type: ignore[return-value] # it takes and returns what `plan` does

    return announced


def state_of(members: CommunicatorMembers) -> Collecting:
    """Return the collective state of a communicator of the grid."""
    state: Collecting | None = members.collecting
    if state is None:
        state = Collecting(members)
        members.inner.Set_attr(_key(), state)
        members.collecting = state
    return state


@cache
def _key() -> int:
    """Return the attribute key whose deletion tells that a native duplicate is freed."""
    return MPI.Comm.Create_keyval(delete_fn=_forget)


def _forget(_comm: MPI.Comm, _key: int, state: Collecting) -> None:
    """Drop the collective state of a communicator that is freed."""
    state.members.collecting = None
    if state.everybody is not state.members:
        state.engine.leave(state.everybody)
