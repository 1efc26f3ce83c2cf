"""Makes the predefined communicators of every process, and the engine behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.lazy_import import imported
from runtime.membership.everybody import everybody
from runtime.membership.rank_link import current
from runtime.mpi.communicators.classes import near, null, wrap
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.process.options import handle_errors_as_asked
from runtime.mpi.process.place import Place, place_of_plain_mpi, place_of_rank, settle
from runtime.mpi.progress import predefined
from runtime.mpi.progress.engine import Engine
from runtime.mpi.progress.latest_calls import expect_one_thread
from runtime.mpi.progress.membership import derived_context, intra
from runtime.mpi.progress.native_waits import use
from runtime.mpi.progress.predefined import Predefined
from runtime.mpi.surface import communicator_classes as _classes  # noqa: F401 - their classes
from runtime.rank_name import RankName
from runtime.topology import Communicator, RankNames, rank_table
from runtime.transport.keys import member_name

if TYPE_CHECKING:
    from runtime.machine.composition import Composition
    from runtime.membership.everybody import Everybody
    from runtime.membership.rank_link import RankLink
    from runtime.mpi.progress.replica_newcomers import ReplicaNewcomers
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.wire import PeerConnections

_made: Predefined | None = None


def start() -> Predefined:
    """Return the communicators; the first call makes them, together with all of the cluster."""
    global _made  # noqa: PLW0603 - a process is in one machine
    if _made is None:
        link = current()
        known = None if link is None else everybody(link)  # once: it changes when others come
        if link is None or known is None:
            place = place_of_plain_mpi()
        else:
            place = place_of_rank(link, known)
        settle(place)
        engine = None
        if link is not None and known is not None and not place.is_one_cluster:
            engine = _engine(place, link, known)
        _made = Predefined(engine, _communicators(place, engine), find)
        if link is not None and engine is not None and engine.decisions is None:
            _use_modes(_made.comms, link)
        predefined.settle(_made)
        if link is not None:
            expect_one_thread()
        if link is not None and link.wrapper.settings.is_observed:
            from runtime.mpi.surface.counted_calls import count

            count()
        if link is not None and link.wrapper.settings.is_traced:
            from runtime.mpi.surface.traced_calls import trace

            trace()
        if link is not None and link.wrapper.settings.is_checked:
            from runtime.mpi.surface.checked_calls import check

            check(link)
    return _made


def _use_modes(comms: dict[str, MPI.Comm], link: RankLink) -> None:
    """Set how COMM_WORLD recovers from losses; a restarted process joins with it."""
    m = members_behind(comms["COMM_GRID"])
    settings = link.wrapper.settings
    recovery, messages = settings.recovery, settings.recovery_messages
    if m is not None and recovery:
        from runtime.collectives.recovery_modes import MESSAGES_KEY, RECOVERY_KEY, Modes

        told = {RECOVERY_KEY: recovery} | ({MESSAGES_KEY: messages} if messages else {})
        with m.engine.lock:
            m.recovery.use(Modes.of(told))
    if link.is_again:
        for comm in comms.values():
            joining = members_behind(comm)
            if joining is not None:
                with joining.engine.lock:
                    joining.recovery.be_joining()


def find(name: str) -> MPI.Comm:
    """Return a predefined communicator by its name."""
    return start().comms[name]


def other_names() -> dict[str, object]:
    """Return what stands in the module for MPI's own: where ranks have replicas or are checked."""
    engine = start().engine
    checked = imported("runtime.mpi.surface.checked_calls")
    found: dict[str, object] = {} if checked is None else checked.names()
    if engine is not None and engine.decisions is not None:
        found["Wtime"] = engine.decisions.now
    return found


def handle_errors() -> None:
    """Set up error handling as the program asks; under plain MPI mpi4py has done that."""
    if current() is not None:
        handle_errors_as_asked(comm for comm in start().comms.values() if comm)


def _communicators(place: Place, engine: Engine | None) -> dict[str, MPI.Comm]:
    comms: dict[str, MPI.Comm] = {"COMM_SELF": near(MPI.COMM_SELF)}
    is_grid = predefined.world_is_grid()
    if not place.is_isolated:
        # Where MPI_COMM_WORLD is the grid, for code in C too, it needs a handle of its own.
        is_apart = is_grid and engine is not None
        comms["COMM_CLUSTER"] = near(MPI.COMM_WORLD.Dup() if is_apart else MPI.COMM_WORLD)
    for name in Communicator:
        if name not in comms:
            comms[name] = _named(place, engine, name)
    comms["COMM_WORLD"] = comms["COMM_GRID" if is_grid else "COMM_CLUSTER"]
    if is_grid:
        comms["COMM_CLUSTER"].Set_name("COMM_CLUSTER")
        comms["COMM_WORLD"].Set_name("MPI_COMM_WORLD")
    return comms


def _named(place: Place, engine: Engine | None, name: Communicator) -> MPI.Comm:
    members = tuple(place.index_of(one) for one in rank_table(place.grid, name, place.me))
    if place.index not in members:
        nobody: MPI.Comm = null()
        return nobody
    comm = _over(place, engine, name, members)
    comm.Set_name(name)
    return comm


def _over(
    place: Place, engine: Engine | None, name: Communicator, members: Sequence[int]
) -> MPI.Comm:
    close = [one for one in members if place.first <= one < place.last]
    parent = MPI.COMM_SELF if len(close) == 1 else MPI.COMM_WORLD
    made: MPI.Comm
    if len(close) == len(members) or engine is None:
        made = near(parent.Dup())
    else:
        context = derived_context(b"", name, tuple(members))
        made = wrap(intra(engine, members, parent.Dup(), parent.Dup(), context))
    return made


def _engine(place: Place, link: RankLink, known: Everybody) -> Engine:
    from runtime.wire import open_connections  # only where there are other clusters

    engine = Engine(place.index, place.first, place.last, place.name_of, place.process_of)
    composition = engine.composition = _composition(place, link)
    make: Any = None
    if composition is not None and composition.has_interceptors:
        from runtime.mpi.progress.interception import InterceptedConnections, Ports

        make = partial(
            InterceptedConnections,
            ports=Ports(composition, place.everybody, place.index, place.names),
        )
    replicas = link.wrapper.settings.replicas
    replicated, again = None, None
    if replicas > 1:
        replicated, again = _replicated(place, link, engine, known, replicas)
    if place.is_isolated and replicated is None:
        from runtime.mpi.progress.newcomers import Newcomers

        engine.newcomers = Newcomers(place, engine, link)  # before anybody can send anything
    connections = open_connections(link, replicated or engine, make, composition, known)
    if replicated is not None:
        from runtime.mpi.progress.decision_points import DecisionPoints

        replicated.stand_on(connections)
        engine.decisions = DecisionPoints(engine, engine.waits, replicated, again)
    engine.attach(replicated or connections, connections.wake_ups)
    use(engine)
    _listen(place, link, engine, connections, replicated, known=known)
    return engine


def _listen(
    place: Place,
    link: RankLink,
    engine: Engine,
    connections: PeerConnections,
    replicated: ReplicatedConnections | None,
    *,
    known: Everybody,
) -> None:
    """Hear of those that end and of those that are started again, and tell who is suspected."""
    index_of: Callable[[RankName, int], int | None] = place.index_in
    name_of: Callable[[int], str] = partial(_name_of, place)
    ended: Callable[[int, int], None] | None = None
    connections.are_all_ends_told = engine.newcomers is not None or replicated is not None
    if engine.newcomers is not None:
        handle_view = engine.newcomers.handle_view
        link.wrapper.on_views(lambda table: connections.soon(partial(handle_view, table)))
    elif replicated is not None:
        name_of, index_of = partial(_name_of_resident, known), partial(_index_of_resident, known)
    again = None if engine.decisions is None else engine.decisions.newcomers
    if again is not None:
        name_of, index_of = again.name_of, again.index_of
        ended, hear = again.handle_end, again.handle_view
        link.wrapper.on_views(lambda table: connections.soon(partial(hear, table)))
    connections.suspect = partial(_report_suspicion, link, name_of)
    connections.ask_for_end = partial(_ask_for_end, link, name_of)
    if engine.composition is not None and not place.is_isolated:
        from runtime.mpi.progress.component_calls import ComponentCalls

        engine.components = ComponentCalls(link.wrapper)
        take = engine.components.arrived
        link.wrapper.on_results(lambda *result: connections.soon(partial(take, *result)))
    explain = partial(_explain_ends, connections, index_of, link.name, ended, names=place.names)
    link.wrapper.on_ends(lambda reports: connections.soon(partial(explain, reports)))


def _replicated(
    place: Place, link: RankLink, engine: Engine, known: Everybody, replicas: int
) -> tuple[ReplicatedConnections, ReplicaNewcomers | None]:
    # only where ranks have replicas
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.replicas.table import ReplicaTable

    table = ReplicaTable(place.grid.size, replicas)
    ranks = [table.rank_of(known.place_of(one.identifier)) for one in known.residents]
    restarts = link.wrapper.settings.restart
    made = ReplicatedConnections(known.index, ranks, table, engine, restarts=restarts)
    if not restarts:
        return made, None
    from runtime.mpi.progress.replica_newcomers import ReplicaNewcomers

    return made, ReplicaNewcomers(link, known, engine, engine.waits, made)


def _composition(place: Place, link: RankLink) -> Composition | None:
    """Return what the descriptor names for this rank, or None."""
    told, plans = link.wrapper.settings.named_classes, link.wrapper.settings.plans
    if not told and not plans:
        return None
    from runtime.machine.composition import Composition

    me = place.me
    cluster = place.grid.cluster_of(me)
    path = f"{place.grid.sites[me.site].name}/{cluster.name}/wrapper{me.rank}"
    return Composition(told, path, (me.site, me.number), plans)


def _explain_ends(
    connections: PeerConnections,
    index_of: Callable[[RankName, int], int | None],
    me: str,
    ended: Callable[[int, int], None] | None,
    reports: list[dict[str, Any]],
    *,
    names: RankNames,
) -> None:
    """Tell connections which processes have ended.

    The listener posts it: the lock may be held by a thread that closes the connections, and waits
    for just this.
    """
    from runtime.machine.deaths import RankDeath
    from runtime.wire import PeerLeft, PeerLost

    for one in reports:
        death = RankDeath.parse(one)
        kind = PeerLost if death.code else PeerLeft
        index = index_of(death.rank.place, death.rank.incarnation)
        if index in (None, connections.me) or index >= connections.size:
            continue  # nobody, or one that has come when these connections were being closed
        if one.get("lost_to") == me:
            connections.confirm(index)
        elif "lost_to" not in one and one.get("told_to", me) == me:
            connections.explain(index, kind(death.sentence(names)))
            if ended is not None:
                ended(index, death.code)


def _report_suspicion(
    link: RankLink, name_of: Callable[[int], str], index: int, why: Exception | None
) -> None:
    """Report that a process cannot be reached, or can be again."""
    name, wrapper = name_of(index), link.wrapper
    if why is None:
        wrapper.appeals.trusts(wrapper.member, name)
    else:
        wrapper.appeals.suspects(wrapper.member, name, str(why))


def _ask_for_end(link: RankLink, name_of: Callable[[int], str], index: int) -> None:
    """Ask to be told once a process has ended."""
    link.wrapper.appeals.awaits_end(link.wrapper.member, name_of(index))


def _name_of(place: Place, index: int) -> str:
    return member_name(str(place.everybody[index]), place.incarnation_of(index))


def _index_of_resident(known: Everybody, process: RankName, _: int) -> int | None:
    residents = known.residents
    return next((at for at, one in enumerate(residents) if one.identifier == process), None)


def _name_of_resident(known: Everybody, index: int) -> str:
    return member_name(str(known.residents[index].identifier), 1)
