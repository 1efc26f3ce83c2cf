"""Recovery of a communicator by its mode, in `Dup`, `Split` and `Create`; collective.

All members agree on which processes are lost, and then make what the mode says. A process that was
restarted in place of a lost one joins them with the same call on `COMM_WORLD`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NoReturn

from mpi4py import MPI

from runtime.collectives.recovery_modes import (
    KEYS,
    MOST_TRIES,
    RECOVERY_KEY,
    CommunicatorEvent,
    CommunicatorState,
    Modes,
    ProcessState,
    RecoveryMode,
    agreed_newcomers,
    flag_of_newcomers,
    with_places_taken,
)
from runtime.mpi.communicators.attributes import FT_ERRORS, FT_PROCESSES, FT_STATE, remember
from runtime.mpi.communicators.children import add_dense, finish, inherit, over, over_two
from runtime.mpi.communicators.classes import wrap
from runtime.mpi.communicators.groups import group_of, members_of
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.errors import NotOnTheGrid, ProcessGone, report
from runtime.mpi.process.options import hand_down
from runtime.mpi.process.place import here
from runtime.mpi.progress.membership import derived_context, intra
from runtime.mpi.progress.newcomers import Invitation
from runtime.wire import LinkLost, PeerLeft

if TYPE_CHECKING:
    from runtime.collectives.agreement import Value
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.newcomers import Newcomers
    from runtime.mpi.progress.recovery import AgreementOperation

MOST_ROUNDS, PAUSE = 1000, 0.01
"""How often, and every how many seconds, members compare which processes are replacements."""

_ALL_WELL, _CLOSED = 1, 0


def recovered(m: CommunicatorMembers) -> Any:
    """Return the replacement of a communicator that has modes; None if nothing is wrong.

    Raises:
        ProcessGone: no communicator could be made, for example because no process can be started.
    """
    newcomers = m.engine.newcomers
    if newcomers is not None and newcomers.is_newcomer and m.recovery.is_joining:
        return _joined(m, newcomers)
    with m.engine.lock:
        m.recovery.life.happens(CommunicatorEvent.RECOVERY)
    agreeing, decision = _agreed(m, _CLOSED if m.recovery.is_closed else _ALL_WELL)
    has_gaps_to_fill = bool(m.gaps) and m.recovery.life.modes.fills_gaps
    if decision.flag == _ALL_WELL and not (decision.failed or has_gaps_to_fill):
        _happened(m, CommunicatorEvent.NOTHING_LOST)
        return None
    try:
        made = _MAKERS[m.recovery.life.modes.recovery](m, agreeing, decision)
    except BaseException:
        _happened(m, CommunicatorEvent.NOT_RECOVERED)
        raise
    _happened(m, CommunicatorEvent.RECOVERED)
    m.engine.losses.survived.update(decision.failed)
    return made


def use_info(m: CommunicatorMembers, info: MPI.Info) -> None:
    """Set how a communicator recovers from losses, if its hints say so.

    Raises:
        MPI.Exception: of class ERR_INFO_VALUE; the hints name a mode that does not exist.
    """
    given = {key: str(info.Get(key)) for key in KEYS if info and info.Get(key) is not None}
    if not given:
        return
    try:
        chosen = Modes.of(given, m.recovery.life.modes)
    except ValueError as wrong:
        error = MPI.Exception(MPI.ERR_INFO_VALUE)
        error.add_note(str(wrong))
        report(m.native, error)
    survives = here().is_isolated and not here().has_replicas
    if chosen.recovery is not RecoveryMode.NONE and not survives:
        raise NotOnTheGrid(
            f"{RECOVERY_KEY}={chosen.recovery}: the loss of a rank ends this run",
            cure="Start it with --failures return, and without replicas",
        )
    with m.engine.lock:
        m.recovery.use(chosen)


def attribute_of_native(comm: MPI.Comm, keyval: int) -> Any:
    """Return the same for a communicator that native MPI serves, which does not survive a loss."""
    everybody = MPI.Comm.Get_group(comm)
    size = everybody.Get_size()
    everybody.Free()
    return {
        FT_STATE: str(CommunicatorState.OK),
        FT_PROCESSES: (str(ProcessState.OK),) * size,
        FT_ERRORS: [],
    }.get(keyval, 1)


def attribute(m: CommunicatorMembers, keyval: int) -> Any:
    """Return the value of an attribute that describes losses, see `FT_STATE` in `creation`."""
    m.engine.poll()
    place, gone = here(), m.engine.losses.gone
    if keyval == FT_STATE:
        return str(m.recovery.life.state)
    if keyval == FT_PROCESSES:
        return tuple(str(_state_of(one, gone.get(one), place.newest(one))) for one in m.peers)
    if keyval == FT_ERRORS:
        lost = [one for one in m.recovery.failed() if one in m.peers]
        return [
            {
                "rank": m.peers.index(one),
                "process": str(place.everybody[one]),
                "incarnation": place.incarnation_of(one),
                "host": place.hosts[one],
                "why": str(gone[one]),
            }
            for one in lost
        ]
    return place.incarnation_of(place.index)


def _state_of(one: int, why: Exception | None, newest: int) -> ProcessState:
    """Return the state of a member, as far as this process knows."""
    if why is None or isinstance(why, PeerLeft):
        return ProcessState.OK
    if newest != one:
        return ProcessState.JOINING
    return ProcessState.UNAVAILABLE if isinstance(why, LinkLost) else ProcessState.FAILED


def translated(group: MPI.Group, whole: MPI.Comm) -> MPI.Group:
    """Return a group of the recovered communicator: replacements stand for lost members.

    Where these come last in the communicator its order counts, which all know, and not the group's.
    """
    m = members_behind(whole)
    assert m is not None, "it has modes"
    place = here()
    known = [one if one in m.group else place.newest(one) for one in members_of(group, m.engine)]
    in_order = m.group if m.recovery.life.modes.puts_newcomers_last else known
    return group_of(m.engine, tuple(one for one in in_order if one in known and one in m.group))


def _happened(m: CommunicatorMembers, event: CommunicatorEvent) -> None:
    with m.engine.lock:
        m.recovery.life.happens(event)


def _agreed(m: CommunicatorMembers, flag: int) -> tuple[AgreementOperation, Value]:
    """Return the agreement of all live members, and its result."""
    with m.engine.lock:
        agreeing = m.recovery.agree(flag)
    finish(m, agreeing)
    assert agreeing.decision is not None, "it is done"
    return agreeing, agreeing.decision


# --- what the modes make --------------------------------------------------------------------------


def shrunk(m: CommunicatorMembers, agreeing: AgreementOperation, decision: Value) -> Any:
    """Return the communicator of the members that have not failed, as all have agreed."""
    lost = decision.failed | m.gaps
    m.engine.losses.survived.update(decision.failed)
    group = tuple(one for one in m.group if one not in lost)
    peers = tuple(one for one in m.peers if one not in lost)
    context = derived_context(m.context, "Shrink", agreeing.number, *sorted((group, peers)))
    if m.is_inter:
        return hand_down(m.native, inherit(m, over_two(m.engine, group, peers, context)))
    return hand_down(m.native, inherit(m, over(m.engine, group, context)))


def _blanked(m: CommunicatorMembers, agreeing: AgreementOperation, decision: Value) -> Any:
    """Return a communicator of the same size, in which the ranks of the lost are gaps."""
    _refuse_two_groups(m)
    gaps = m.gaps | decision.failed
    context = derived_context(m.context, "Blank", agreeing.number, m.group, *sorted(gaps))
    return _like(m, m.group, context, gaps)


def _rebuilt(m: CommunicatorMembers, _: AgreementOperation, decision: Value) -> Any:
    """Return a communicator of the same size, with new processes for lost ones and for gaps."""
    _refuse_two_groups(m)
    newcomers = m.engine.newcomers
    if newcomers is None:
        raise NotOnTheGrid(
            "ranks that have replicas are not started again",
            cure='Choose another recovery, or replicas="1"',
        )
    lost: list[int] = []
    tries = rounds = 0
    while tries < MOST_TRIES and rounds < MOST_ROUNDS:
        lost = [one for one in m.group if one in decision.failed or one in m.gaps]
        finish(m, newcomers.ask_for(lost))
        newest = {one: newcomers.newest(one) for one in lost}
        have_come = all(one not in m.engine.losses.gone for one in newest.values())
        agreeing, again = _agreed(m, flag_of_newcomers(newest.values(), have_come=have_come))
        if again.failed != decision.failed:  # others were lost
            decision = again
            continue
        all_have_come, same = agreed_newcomers(again.flag)
        if all_have_come and not same:  # some have not heard yet of one that was lost meanwhile
            rounds += 1
            time.sleep(PAUSE)
            continue
        if all_have_come:
            made = _with_newcomers(m, newcomers, newest, agreeing.number)
            if made is not None:
                return made
            _, again = _agreed(m, _ALL_WELL)
        tries += again.failed == decision.failed
        decision = again
    return _refuse_to_try_again(m, newcomers, lost)


def _refuse_to_try_again(m: CommunicatorMembers, newcomers: Newcomers, lost: list[int]) -> NoReturn:
    last = [one for one in map(newcomers.newest, lost) if one in m.engine.losses.gone]
    names = ", ".join(map(newcomers.name_of, last or lost))
    why = m.engine.losses.gone.get((last or lost)[0]) if lost else None
    report(
        m.native,
        ProcessGone(
            f"{names}: {MOST_TRIES} attempts to restart it have failed",
            cause="" if why is None else str(why),
            cure="See what was said there last. SHRINK and BLANK go on without lost ranks",
        ),
    )


def _with_newcomers(
    m: CommunicatorMembers, newcomers: Newcomers, newest: dict[int, int], number: int
) -> Any:
    """Return the communicator with the newest processes; None if one was lost meanwhile."""
    modes = m.recovery.life.modes
    at_end = modes.puts_newcomers_last
    group = with_places_taken(m.group, newest, at_end=at_end)
    context = derived_context(m.context, "Rebuild", number, group)
    newcomers.invite(newest.values(), Invitation(context, group, modes.as_hints(), m.native.name))
    return _begun(m, _like(m, group, context, frozenset(), keeps_places=not at_end))


def _begun(m: CommunicatorMembers, made: Any) -> Any:
    """Return a communicator once all its members are there; None if one is lost already."""
    child = members_behind(made)
    assert child is not None, "its members are processes of their own"
    _, decision = _agreed(child, _ALL_WELL)
    return None if decision.failed else hand_down(m.native, made)


def _joined(m: CommunicatorMembers, newcomers: Newcomers) -> Any:
    """Return the communicator that this restarted process joins."""
    _happened(m, CommunicatorEvent.RECOVERY)
    while True:
        welcome = newcomers.await_invitation()
        finish(m, welcome)
        one = welcome.invitation
        assert one is not None, "it is done"
        native, inner = MPI.COMM_SELF.Dup(), MPI.COMM_SELF.Dup()
        child = intra(m.engine, one.members, native, inner, one.context)
        made = _face(child, Modes.of(one.modes), one.name)
        found = _begun(m, made)
        if found is not None:
            _happened(m, CommunicatorEvent.RECOVERED)
            return found


def _like(
    m: CommunicatorMembers,
    group: tuple[int, ...],
    context: bytes,
    gaps: frozenset[int],
    *,
    keeps_places: bool = True,
) -> Any:
    """Return a communicator with the modes and the name of another one.

    It has its topology, too, where its members keep their places.
    """
    native, inner = MPI.COMM_SELF.Dup(), MPI.COMM_SELF.Dup()
    topology = m.topology if keeps_places else None
    child = intra(m.engine, group, native, inner, context, topology=topology, gaps=gaps)
    return _face(child, m.recovery.life.modes, m.native.name)


def _face(child: CommunicatorMembers, modes: Modes, name: str) -> Any:
    add_dense(child)
    with child.engine.lock:
        child.recovery.use(modes)
        if child.dense is not None:
            child.dense._members.recovery.use(modes)
    child.native.Set_name(name)
    remember(child)
    return wrap(child)


def _refuse_two_groups(m: CommunicatorMembers) -> None:
    if m.is_inter:
        raise NotOnTheGrid(
            "an intercommunicator can only be recovered by SHRINK",
            cure="Recover the communicators of which it was made, and make it again",
        )


_MAKERS = {
    RecoveryMode.SHRINK: shrunk,
    RecoveryMode.BLANK: _blanked,
    RecoveryMode.REBUILD: _rebuilt,
    RecoveryMode.REBUILD_AT_END: _rebuilt,
}
