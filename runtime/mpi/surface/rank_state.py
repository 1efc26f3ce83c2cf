"""What this rank reports when asked why it waits, as plain data; see `runtime.waits.states`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.collectives.recovery_modes import CommunicatorState
from runtime.matching import ANY
from runtime.mpi.communicators.attributes import looking
from runtime.mpi.point_to_point.probing import BlockingProbe
from runtime.mpi.process.place import here
from runtime.mpi.progress import predefined
from runtime.mpi.progress.mailboxes import HEAD, PendingReceive, Receive
from runtime.mpi.progress.membership import communicators
from runtime.mpi.progress.operations import Both, FarSend, Operation, Task
from runtime.mpi.surface.refusals import reaches_out
from runtime.mpi.surface.waiting_calls import (
    COLLECTIVES,
    EXCHANGES,
    RECEIVES,
    SENDS,
    WAITS,
    CallOfThread,
    CallWatch,
    facts_of_call,
    plain_state,
)
from runtime.part_names import cluster_of
from runtime.rank_name import RankName

if TYPE_CHECKING:
    from runtime.matching import Pattern
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers

Part = list[object]
"""Its kind, the other end or nothing for any rank, the tag or None, and whether that is known."""

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

_UNKNOWN: Part = ["unknown", "", None, False]
"""A request of native MPI may be for anything."""

_COLLECTIVE: Part = ["collective", "", None, True]


class NamedPeers:
    """The ranks that calls on a communicator refer to, by name, and the name others know it by."""

    def __init__(self, comm: object, cluster: str) -> None:
        m: CommunicatorMembers | None = getattr(comm, "_members", None)
        self.members = m
        self._names: list[str] = []
        self.facts: list[object] = ["", "", []]
        if m is not None:
            self._names = _names_of(m.peers)
            everybody = sorted({*m.group, *m.peers})
            self.facts = [m.context.hex(), _name_of(comm, m.native), _runs(_names_of(everybody))]
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
            self.facts = [known, name, _runs(members)]

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
            return list(_UNKNOWN)
        number = tag if isinstance(tag, int) and tag != MPI.ANY_TAG else None
        return [kind, self.name(rank), number, True]


def state_of_rank(name: str, watch: CallWatch, with_stacks: bool) -> dict[str, object]:
    """Return what this rank is doing."""
    cluster = cluster_of(name)
    stray: list[list[object]] = []
    found = plain_state(watch, lambda call: _told(call, cluster, stray), with_stacks=with_stacks)
    messages = state_of_messages()
    messages["unreceived"] += [one for one in stray if one not in messages["unreceived"]]
    if reaches_out() and any(_UNKNOWN in one["parts"] for one in found["waits"]):  # type: ignore[attr-defined]
        found["may_act"] = True
    if any(state == CommunicatorState.RECOVER for _, state, _ in messages.get("recoveries", ())):
        found["may_act"] = True  # it waits for processes that are being started
    return found | messages


def state_at_end() -> dict[str, object]:
    """Return what is left when the program has ended."""
    found = {"waits": [], "at": "", "may_act": False, "stacks": [], "host": "", "pid": 0}
    messages = state_of_messages()
    messages["unreceived"] += [] if MPI.Is_finalized() else _unreceived_inside()
    engine = predefined.running_engine()
    unsent = [] if engine is None else [*islice(_unsent(engine), MOST_MESSAGES)]
    return found | messages | {"unsent": unsent}


def wait_for_the_ends_of_all() -> None:
    """Return once all ranks of this cluster have called this; whatever they have sent has come.

    A group is made for that, since collectives of the program may be pending on all communicators.
    """
    group = MPI.COMM_WORLD.Get_group()
    if group.size > 1:
        MPI.Intracomm.Create_group(MPI.COMM_WORLD, group).Free()
    group.Free()


def state_of_messages() -> dict[str, Any]:
    """Return how many collectives were begun, and the unexpected messages."""
    engine = predefined.running_engine()
    if engine is None or not engine.lock.acquire(timeout=LOCK_TIMEOUT):
        return {"turns": {}, "unreceived": []}
    try:
        return {
            "turns": dict(_turns(engine)),
            "unreceived": list(_unreceived(engine)),
            "intercepted": engine.intercepted(),
            "recoveries": list(islice(_recoveries(engine), MOST_RECOVERIES)),
        }
    finally:
        engine.lock.release()


def _turns(engine: Engine) -> Iterator[tuple[str, int]]:
    for m in communicators(engine):
        if m.collecting is not None:
            yield m.context.hex(), m.collecting.mismatches.count


def _recoveries(engine: Engine) -> Iterator[list[str]]:
    """Yield name, state and modes of each communicator that has lost members, or has modes."""
    for m in communicators(engine):
        if m.recovery.failed():
            _ = m.recovery.life  # it begins with the losses
        if report := m.recovery.report():
            yield [_name_of(None, m.native), *report]


def _unreceived(engine: Engine) -> Iterator[list[object]]:
    left = MOST_MESSAGES
    for m in communicators(engine):
        if m.recovery.is_closed:
            continue  # nobody can receive there any more, and all know why
        for envelope, incoming in m.box.matcher.kept()[:left]:
            left -= 1
            sender = str(here().everybody[m.peers[envelope.rank]])
            yield [sender, envelope.tag, incoming.size, _name_of(None, m.native)]


def _unsent(engine: Engine) -> Iterator[list[object]]:
    """Yield messages of the program whose receiver had ended before they could go.

    The engine is closed.
    """
    names = {m.context: _name_of(None, m.native) for m in communicators(engine)}
    for index, messages in engine.unsent.items():
        for head, size in messages:
            context, is_inner, _, tag = HEAD.unpack(head)
            if not is_inner:
                yield [str(here().everybody[index]), tag, size, names.get(context, "")]


def _unreceived_inside(besides: Iterable[MPI.Comm] = ()) -> list[list[object]]:
    """Return the first unexpected message of each communicator that native MPI has.

    Those are the predefined ones, those of the grid, and `besides`. The engine's lock is held, if
    there is an engine.
    """
    engine = predefined.running_engine()
    cluster = here().me.cluster
    status = MPI.Status()
    found = []
    comms = [one for one in predefined.predefined().comms.values() if one and not _members(one)]
    natives = [m.native for m in (communicators(engine) if engine is not None else ())]
    for comm in (*comms, *natives, *besides):
        if MPI.Comm.Iprobe(comm, MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            sender = _world_ranks(MPI.Comm.Get_group(comm))[status.source]
            one = [f"{cluster}:{sender}", status.tag, status.count, _name_of(comm, comm)]
            found += [one] if one not in found else []
    return found


def _unreceived_beside(used: object) -> list[list[object]]:
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
) -> Iterator[list[object]]:
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
        sender = _world_ranks(MPI.Comm.Get_group(native))[status.source]
        yield [f"{cluster}:{sender}", status.tag, status.count, _name_of(comm, native)]


# --- one call -------------------------------------------------------------------------------------


def _told(call: CallOfThread, cluster: str, stray: list[list[object]]) -> dict[str, object]:
    """Return what is known of a call; what native MPI has for it with another tag is `stray`."""
    with looking:
        return _details_of(call, cluster, stray) if call.goes_on else facts_of_call(call)


def _details_of(call: CallOfThread, cluster: str, stray: list[list[object]]) -> dict[str, object]:
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
        peers.facts = [m.context.hex(), _name_of(None, m.native), _runs(_names_of(_all_of(m)))]
    is_collective = any(one[0] == "collective" for one in known)
    root, data = told[1:3] if name in calls.COLLECTIVES else (None, None)
    has_size = name in calls.COLLECTIVES and calls.COLLECTIVES[name].equal
    return facts_of_call(call) | {
        "parts": known or [list(_UNKNOWN)],
        "comm": peers.facts,
        "needs_all": needs_all,
        "turn": m.collecting.mismatches.count if is_collective and m and m.collecting else None,
        "root": peers.name(root) if is_collective else "",
        "size": _size(data) if has_size else None,
    }


def _size(buffer: object) -> int | None:
    """Return the size of an argument in bytes, as far as it is obvious."""
    memory = buffer[0] if isinstance(buffer, (list, tuple)) and len(buffer) == 1 else buffer
    size = getattr(memory, "nbytes", None)
    return size if isinstance(size, int) else None


def _parts(name: str, told: Sequence[Any], peers: NamedPeers) -> tuple[list[Part | None], bool]:
    """Return what a call waits for, and whether it waits for all of it."""
    if name in SENDS:
        return [peers.part("send", *told[1:])], True
    if name in RECEIVES:
        return [peers.part("receive", *told[1:])], True
    if name in EXCHANGES:
        return [peers.part("receive", *told[1:3]), peers.part("send", *told[3:])], True
    if name in COLLECTIVES:
        return [list(_COLLECTIVE)], True
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
        return [["receive", str(here().everybody[m.peers[source]]), None, False]]
    return [list(_UNKNOWN)]


def _parts_of(operation: Operation, m: CommunicatorMembers) -> list[Part | None]:
    if isinstance(operation, Both):
        return [part for one in operation.parts() for part in _parts_of(one, m)]
    if isinstance(operation, Task):
        return [list(_COLLECTIVE)]
    if isinstance(operation, FarSend):
        return [["send", str(here().everybody[one]), None, False] for one in operation.awaited()]
    if isinstance(operation, PendingReceive):
        return _parts_of(operation.receive, m)
    if isinstance(operation, Receive):
        return [_part_of_pattern(operation.asked.pattern, m)]
    if isinstance(operation, BlockingProbe):
        return [_part_of_pattern(operation.pattern, m)]
    return [list(_UNKNOWN)]


def _part_of_pattern(pattern: Pattern, m: CommunicatorMembers) -> Part:
    sender = "" if pattern.rank is ANY else str(here().everybody[m.peers[pattern.rank]])
    return ["receive", sender, None if pattern.tag is ANY else pattern.tag, True]


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


def _all_of(m: CommunicatorMembers) -> list[int]:
    return sorted({*m.group, *m.peers})


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


def _runs(names: Sequence[str]) -> list[list[object]]:
    """Return ranks by name as ranges: the cluster, the first and the last one."""
    found: list[list[object]] = []
    for cluster, ranks in groupby(map(RankName.parse, names), lambda name: name.cluster):
        first = last = None
        for rank in (name.rank for name in ranks):
            if last is None or rank != last + 1:
                if last is not None:
                    found.append([cluster, first, last])
                first = rank
            last = rank
        found.append([cluster, first, last])
    return found
