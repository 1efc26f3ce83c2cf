"""What this rank reports when asked why it waits, see `runtime.machine.rank_states`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.collectives.recovery_modes import CommunicatorState
from runtime.machine.rank_states import (
    COLLECTIVE,
    RECEIVE,
    SEND,
    UNKNOWN,
    KnownCommunicator,
    Part,
    RankState,
    RecoveryState,
    Run,
    UnreceivedMessage,
    UnsentMessage,
    Wait,
)
from runtime.matching import ANY
from runtime.mpi.communicators.attributes import looking
from runtime.mpi.point_to_point.partitioned import PartsReceive, PartsSend
from runtime.mpi.point_to_point.probing import BlockingProbe
from runtime.mpi.process.place import here
from runtime.mpi.process.reaching_out import reaches_out
from runtime.mpi.progress import predefined
from runtime.mpi.progress.mailboxes import HEAD, PendingReceive, Receive
from runtime.mpi.progress.membership import communicators
from runtime.mpi.progress.operations import Both, FarSend, Operation, Task
from runtime.mpi.surface.waiting_calls import (
    COLLECTIVES,
    EXCHANGES,
    RECEIVES,
    SENDS,
    WAITS,
    CallOfThread,
    MessagesLook,
    ThreadsLook,
    state_seen,
    wait_in,
)
from runtime.part_names import cluster_of
from runtime.rank_name import RankName

if TYPE_CHECKING:
    from runtime.matching import Pattern
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers

LOCK_TIMEOUT = 0.2
"""Seconds to wait for an operation that a thread is driving just now."""

SETTLED = 0.2
"""For how many seconds a receive has to have lasted before native MPI is asked what has come
instead.
"""

MOST_MESSAGES = 100
"""How many unexpected messages are reported."""

MOST_RECOVERIES = 20
"""So many communicators with modes of recovery are told of."""

_UNKNOWN = Part(UNKNOWN, is_tag_known=False)
"""A request of native MPI may be for anything."""

_COLLECTIVE = Part(COLLECTIVE)


class NamedPeers:
    """The ranks that calls on a communicator refer to, by name, and the name others know it by."""

    def __init__(self, comm: object, cluster: str) -> None:
        m: CommunicatorMembers | None = getattr(comm, "_members", None)
        self.members = m
        self._names: list[str] = []
        self.comm = KnownCommunicator()
        if m is not None:
            self._names = _names_of(m.peers)
            self.comm = _known(m, comm)
        elif isinstance(comm, MPI.Comm) and MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            group = MPI.Comm.Get_group(comm)
            mine = _world_ranks(group)
            peers = mine
            if MPI.Comm.Is_inter(comm):
                peers = _world_ranks(MPI.Intercomm.Get_remote_group(comm))  # type: ignore[arg-type]
            self._names = [f"{cluster}:{rank}" for rank in peers]
            members = [f"{cluster}:{rank}" for rank in sorted({*mine, *peers})]
            name = _name_of(comm, comm)
            known = f"{cluster}/{name}" if _predefined_name(comm) else ""
            self.comm = KnownCommunicator(known, name, _runs(members))

    def name(self, rank: object) -> str:
        """Return the name of a rank, "" for any or an unknown one."""
        if isinstance(rank, int) and 0 <= rank < len(self._names):
            return self._names[rank]
        return ""

    def part(self, kind: str, rank: object, tag: object) -> Part | None:
        """Return one end of a message; None for a message with PROC_NULL."""
        if rank == MPI.PROC_NULL:
            return None
        if not self._names or (rank != MPI.ANY_SOURCE and not self.name(rank)):
            return _UNKNOWN
        number = int(tag) if isinstance(tag, int) and tag != MPI.ANY_TAG else None
        return Part(kind, self.name(rank), number)


def state_of_rank(name: str, look: ThreadsLook, with_stacks: bool) -> RankState:
    """Return what this rank is doing."""
    cluster = cluster_of(name)
    stray: list[UnreceivedMessage] = []
    waits = [_wait_of(call, cluster, stray) for call in look.calls]
    messages = look_at_messages()
    messages.unreceived += [one for one in stray if one not in messages.unreceived]
    if reaches_out() and any(_UNKNOWN in one.parts for one in waits):
        look.may_act = True
    if any(one.state == CommunicatorState.RECOVER for one in messages.recoveries):
        look.may_act = True  # it waits for processes that are being started
    return state_seen(name, look, waits, messages, with_stacks=with_stacks)


def state_at_end(name: str) -> RankState:
    """Return what is left when the program has ended."""
    messages = look_at_messages()
    messages.unreceived += [] if MPI.Is_finalized() else _unreceived_inside()
    engine = predefined.running_engine()
    return RankState(
        name,
        turns=messages.turns,
        unreceived=tuple(messages.unreceived),
        unsent=() if engine is None else tuple(islice(_unsent(engine), MOST_MESSAGES)),
        intercepted=messages.intercepted,
        recoveries=messages.recoveries,
    )


def wait_for_the_ends_of_all() -> None:
    """Return once all ranks of this cluster have called this; whatever they have sent has come.

    A group is made for that, since collectives of the program may be pending on all communicators.
    """
    group = MPI.COMM_WORLD.Get_group()
    if group.size > 1:
        MPI.Intracomm.Create_group(MPI.COMM_WORLD, group).Free()
    group.Free()


def look_at_messages() -> MessagesLook:
    """Return how many collectives were begun, and the unexpected messages."""
    found = MessagesLook()
    engine = predefined.running_engine()
    if engine is None or not engine.lock.acquire(timeout=LOCK_TIMEOUT):
        return found
    try:
        found.turns = tuple(_turns(engine))
        found.unreceived = list(_unreceived(engine))
        found.intercepted = tuple(engine.intercepted())
        found.recoveries = tuple(islice(_recoveries(engine), MOST_RECOVERIES))
    finally:
        engine.lock.release()
    return found


def _turns(engine: Engine) -> Iterator[tuple[str, int]]:
    for m in communicators(engine):
        if m.collecting is not None:
            yield m.context.hex(), m.collecting.mismatches.count


def _recoveries(engine: Engine) -> Iterator[RecoveryState]:
    """Yield name, state and modes of each communicator that has lost members, or has modes."""
    for m in communicators(engine):
        if m.recovery.failed():
            _ = m.recovery.life  # it begins with the losses
        if report := m.recovery.report():
            # one that has yet to join takes part in none, whoever there is besides it
            size = 0 if m.recovery.is_joining else len(m.recovery.everybody)
            present = 0 if m.recovery.is_joining else size - len(m.recovery.gone())
            yield RecoveryState(_name_of(None, m.native), *report, size, present)


def _unreceived(engine: Engine) -> Iterator[UnreceivedMessage]:
    left = MOST_MESSAGES
    for m in communicators(engine):
        if m.recovery.is_closed:
            continue  # nobody can receive there any more, and all know why
        for envelope, incoming in m.box.matcher.kept()[:left]:
            left -= 1
            sender = str(here().everybody[m.peers[envelope.rank]])
            name = _name_of(None, m.native)
            yield UnreceivedMessage(sender, envelope.tag, incoming.size, name)


def _unsent(engine: Engine) -> Iterator[UnsentMessage]:
    """Yield messages of the program whose receiver had ended before they could go.

    The engine is closed.
    """
    names = {m.context: _name_of(None, m.native) for m in communicators(engine)}
    for index, messages in engine.unsent.items():
        for head, size in messages:
            context, is_inner, _, tag = HEAD.unpack_from(head)  # requests have more behind it
            if not is_inner:
                receiver = str(here().everybody[index])
                yield UnsentMessage(receiver, tag, size, names.get(context, ""))


def _unreceived_inside(besides: Iterable[MPI.Comm] = ()) -> list[UnreceivedMessage]:
    """Return the first unexpected message of each communicator that native MPI has.

    Those are the predefined ones, those of the grid, and `besides`. The engine's lock is held, if
    there is an engine.
    """
    engine = predefined.running_engine()
    cluster = here().me.cluster
    status = MPI.Status()
    found: list[UnreceivedMessage] = []
    comms = [one for one in predefined.predefined().comms.values() if one and not _members(one)]
    natives = [m.native for m in (communicators(engine) if engine is not None else ())]
    for comm in (*comms, *natives, *besides):
        if MPI.Comm.Iprobe(comm, MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            one = _message(status, comm, _name_of(comm, comm), cluster)
            found += [one] if one not in found else []
    return found


def _unreceived_beside(used: object) -> list[UnreceivedMessage]:
    """Return the same while a rank waits for a request, of which only native MPI knows whose it is.

    `used` is the communicator on which the program has begun something last.
    """
    engine = predefined.running_engine()
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return []
    if engine is not None and not engine.lock.acquire(timeout=LOCK_TIMEOUT):
        return []
    try:
        is_native = isinstance(used, MPI.Intracomm) and used and not _members(used)
        return _unreceived_inside((used,) if is_native else ())  # type: ignore[arg-type]
    finally:
        if engine is not None:
            engine.lock.release()


def _instead(
    comm: MPI.Comm, source: object, peers: NamedPeers, cluster: str
) -> Iterator[UnreceivedMessage]:
    """Yield the first message that native MPI has from where a call waits for another one."""
    m = peers.members
    native = comm if m is None else m.native
    if isinstance(source, int) and m is not None:
        source = source if source == MPI.ANY_SOURCE else m.near.get(source)
    if not isinstance(source, int) or source == MPI.PROC_NULL or MPI.Comm.Is_inter(native):
        return
    status = MPI.Status()
    if MPI.Query_thread() == MPI.THREAD_MULTIPLE and MPI.Comm.Iprobe(
        native, source, MPI.ANY_TAG, status
    ):
        yield _message(status, native, _name_of(comm, native), cluster)


def _message(status: MPI.Status, native: MPI.Comm, name: str, cluster: str) -> UnreceivedMessage:
    """Return a message that native MPI has for this rank."""
    sender = _world_ranks(MPI.Comm.Get_group(native))[status.source]
    return UnreceivedMessage(f"{cluster}:{sender}", status.tag, status.count, name)


# --- one call -------------------------------------------------------------------------------------


def _wait_of(call: CallOfThread, cluster: str, stray: list[UnreceivedMessage]) -> Wait:
    """Return what is known of a call; what native MPI has for it with another tag is `stray`."""
    with looking:
        return _detailed(call, cluster, stray) if call.goes_on else wait_in(call)


def _detailed(call: CallOfThread, cluster: str, stray: list[UnreceivedMessage]) -> Wait:
    name, *told = call.written or (call.name,)
    is_wait = name in WAITS
    peers = NamedPeers(None if is_wait or not told else told[0], cluster)
    if name in RECEIVES and call.seconds > SETTLED:
        stray += _instead(told[0], told[1], peers, cluster)
    parts, needs_all = _parts(name, told, peers)
    if is_wait and _UNKNOWN in parts and call.seconds > SETTLED:
        stray += _unreceived_beside(call.begun_on)
    known = [one for one in parts if one is not None]
    m: Any = peers.members or (_members_of_request(told[0]) if is_wait and told else None)
    if m is not peers.members:
        peers.comm = _known(m, None)
    is_collective = any(one.kind == COLLECTIVE for one in known)
    root, data = told[1:3] if name in calls.COLLECTIVES else (None, None)
    has_size = name in calls.COLLECTIVES and calls.COLLECTIVES[name].equal
    return wait_in(
        call,
        tuple(known) or (_UNKNOWN,),
        peers.comm,
        needs_all=needs_all,
        turn=m.collecting.mismatches.count if is_collective and m and m.collecting else None,
        root=peers.name(root) if is_collective else "",
        size=_size(data) if has_size else None,
    )


def _size(buffer: object) -> int | None:
    """Return the size of an argument in bytes, as far as it is obvious."""
    memory = buffer[0] if isinstance(buffer, (list, tuple)) and len(buffer) == 1 else buffer
    size = getattr(memory, "nbytes", None)
    return size if isinstance(size, int) else None


def _parts(name: str, told: Sequence[Any], peers: NamedPeers) -> tuple[list[Part | None], bool]:
    """Return what a call waits for, and whether it waits for all of it."""
    if name in SENDS:
        return [peers.part(SEND, *told[1:])], True
    if name in RECEIVES:
        return [peers.part(RECEIVE, *told[1:])], True
    if name in EXCHANGES:
        return [peers.part(RECEIVE, *told[1:3]), peers.part(SEND, *told[3:])], True
    if name in COLLECTIVES:
        return [_COLLECTIVE], True
    requests = told[0] if told else None
    if isinstance(requests, (list, tuple)):
        parts = [part for one in requests for part in _parts_of_request(one)]
        are_known = all(getattr(one, "_operation", None) is not None for one in requests)
        # only native MPI knows which of several of its requests are done
        return parts, name.lower() == "waitall" and are_known
    return _parts_of_request(requests), True


def _parts_of_request(request: object) -> list[Part | None]:
    operation: Operation | None = getattr(request, "_operation", None)
    m: CommunicatorMembers | None = getattr(request, "_members", None)
    if operation is not None and m is not None:
        return [] if operation.done else _parts_of(operation, m)
    source = getattr(request, "_source", None)
    if m is not None and source is not None:
        sender = str(here().everybody[m.peers[source]])
        return [Part(RECEIVE, sender, is_tag_known=False)]
    return [_UNKNOWN]


def _parts_of(operation: Operation, m: CommunicatorMembers) -> list[Part | None]:
    if isinstance(operation, Both):
        return [part for one in operation.parts() for part in _parts_of(one, m)]
    if isinstance(operation, Task):
        return [_COLLECTIVE]
    if isinstance(operation, FarSend | PartsSend):
        receivers = (str(here().everybody[one]) for one in operation.awaited())
        return [Part(SEND, one, is_tag_known=False) for one in receivers]
    if isinstance(operation, PartsReceive):
        senders = (str(here().everybody[one]) for one in operation.awaited())
        return [Part(RECEIVE, one, is_tag_known=False) for one in senders]
    if isinstance(operation, PendingReceive):
        return _parts_of(operation.receive, m)
    if isinstance(operation, Receive):
        return [_part_of_pattern(operation.asked.pattern, m)]
    if isinstance(operation, BlockingProbe):
        return [_part_of_pattern(operation.pattern, m)]
    return [_UNKNOWN]


def _part_of_pattern(pattern: Pattern, m: CommunicatorMembers) -> Part:
    sender = "" if pattern.rank is ANY else str(here().everybody[m.peers[pattern.rank]])
    return Part(RECEIVE, sender, None if pattern.tag is ANY else int(pattern.tag))


def _members(comm: object) -> CommunicatorMembers | None:
    found: CommunicatorMembers | None = getattr(comm, "_members", None)
    return found


def _members_of_request(waited: Any) -> Any:
    for one in waited if isinstance(waited, (list, tuple)) else (waited,):
        m = getattr(one, "_members", None)
        if m is not None:
            return m
    return None


# --- names ----------------------------------------------------------------------------------------


def _known(m: CommunicatorMembers, comm: object) -> KnownCommunicator:
    """Return a communicator of the machine as its members see it."""
    members = _runs(_names_of(sorted({*m.group, *m.peers})))
    return KnownCommunicator(m.context.hex(), _name_of(comm, m.native), members)


def _names_of(indexes: Iterable[int]) -> list[str]:
    everybody = here().everybody
    return [str(everybody[index]) for index in indexes]


def _predefined_name(comm: object) -> str:
    """Return the name of a predefined communicator."""
    if isinstance(comm, MPI.Comm):
        made = predefined.predefined()
        found = [name for name, one in made.comms.items() if one == comm]
        return "COMM_WORLD" if "COMM_WORLD" in found else "".join(found[:1])
    return ""


def _name_of(comm: object, native: MPI.Comm) -> str:
    known = _predefined_name(comm)
    if known or MPI.Is_finalized():
        return known
    return MPI.Comm.Get_name(native).removeprefix("MPI_")


def _world_ranks(group: MPI.Group) -> list[int]:
    world = MPI.COMM_WORLD.Get_group()
    return list(MPI.Group.Translate_ranks(group, None, world))


def _runs(names: Sequence[str]) -> tuple[Run, ...]:
    """Return ranks by name as ranges."""
    found: list[Run] = []
    for name in map(RankName.parse, names):
        cluster, first, last = found[-1] if found else ("", 0, 0)
        if (cluster, last + 1) == (name.cluster, name.rank):
            found[-1] = cluster, first, name.rank
        else:
            found.append((name.cluster, name.rank, name.rank))
    return tuple(found)
