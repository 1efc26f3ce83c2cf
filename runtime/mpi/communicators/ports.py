"""Ports and names over several clusters, and the intercommunicators that are made through them.

A port belongs to the rank that opened it. The roots of `Accept` and `Connect` both ask the desk of
that rank (`runtime.ports`), which pairs them; then both groups make their part of the communicator,
as they do in `Create_intercomm`. In a run of one cluster all of this is native MPI's.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from functools import cache, partial
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn

from mpi4py import MPI

from runtime.machine.table import decoded, encoded
from runtime.membership.rank_link import current
from runtime.mpi.communicators.children import meet, near_or_null, over_two
from runtime.mpi.communicators.leaders import tell_bytes
from runtime.mpi.communicators.members import indexes_of, members_behind
from runtime.mpi.errors import (
    FailureError,
    NotOnTheGrid,
    ProcessGone,
    failure_classes,
    refuse,
    report,
)
from runtime.mpi.process.options import hand_down
from runtime.mpi.process.place import here
from runtime.mpi.process.reaching_out import reaches_out_by
from runtime.mpi.progress.operations import Operation
from runtime.mpi.progress.predefined import predefined
from runtime.ports import (
    DESK_KEY,
    NameAnswer,
    NameRequest,
    PortAnswer,
    PortDesk,
    PortName,
    PortRequest,
)
from runtime.ports.names import LONGEST, MOST
from runtime.wire import PeerConnections, PeerLeft

if TYPE_CHECKING:
    from runtime.membership.rank_link import RankLink
    from runtime.mpi.communicators.group_algebra import Members
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.losses import LossHandler
    from runtime.ports import PortQuestion

# --- ports and names ------------------------------------------------------------------------------


def open_port(engine: Engine) -> str:
    """Return the name of a new port of this process."""
    _refuse_replicas("Open_port")
    name = PortName(engine.me, int.from_bytes(os.urandom(6)))
    with engine.lock:
        engine.desk.open(name.number)
    return str(name)


def close_port(engine: Engine, name: str) -> None:
    """Close a port of this process. Raises MPI.Exception."""
    port = PortName.of(name)
    effects = None
    if port is not None and port.rank == engine.me:
        with engine.lock:
            effects = engine.desk.close(port.number)
            engine.services().carry_out(DESK_KEY, effects or ())
            engine.wake()
    if effects is None:
        where = f", but of rank {port.rank}" if port is not None and port.rank != engine.me else ""
        _fail("ERR_PORT", f"{name} is no open port of this process{where}")


def publish(engine: Engine, name: str, port: str) -> None:
    """Let all processes of the run find a port by a name. Raises MPI.Exception."""
    answer, found = _asked(engine, NameRequest.PUBLISH, name, port)
    if answer == NameAnswer.TAKEN:
        _fail("ERR_SERVICE", f"{name!r} is published already, for {found}. Unpublish it first")
    if answer == NameAnswer.TOO_MANY:
        _fail("ERR_SERVICE", f"this rank has published {MOST} names already")


def unpublish(engine: Engine, name: str, port: str) -> None:
    """Take the name of a port back. Raises MPI.Exception."""
    answer, found = _asked(engine, NameRequest.UNPUBLISH, name, port)
    if answer == NameAnswer.UNKNOWN:
        _fail("ERR_SERVICE", f"nobody in this run has published {name!r}")
    if answer == NameAnswer.OTHER_PORT:
        _fail("ERR_SERVICE", f"{name!r} is published for {found}, and not for {port}")


def look_up(engine: Engine, name: str) -> str:
    """Return the port that has a name. Raises MPI.Exception."""
    answer, found = _asked(engine, NameRequest.LOOK_UP, name)
    if answer == NameAnswer.UNKNOWN:
        _fail("ERR_NAME", f"nobody in this run has published {name!r}")
    return found


def _asked(engine: Engine, kind: NameRequest, name: str, port: str = "") -> tuple[NameAnswer, str]:
    """Return what the launcher says of a name. Raises MPI.Exception."""
    _refuse_replicas("A name for a port")
    if max(len(name), len(port)) > LONGEST:
        _fail("ERR_ARG", f"a name or a port has more than {LONGEST} characters")
    asked = _questions(engine).ask(kind, name, port)
    engine.waits.wait_for(asked)
    return NameAnswer(asked.answer), asked.port


class _AskedName(Operation):
    """A question about a name, which the launcher answers."""

    __slots__ = ("_name", "answer", "port")

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self.answer, self.port = name, 0, ""

    def describe(self) -> str:
        """Describe what is waited for."""
        return f"what the launcher knows of the name {self._name!r}"


class _NameQuestions:
    """What this process has asked the launcher about names."""

    def __init__(self, engine: Engine, link: RankLink) -> None:
        self._engine, self._link = engine, link
        self._asked: dict[int, _AskedName] = {}
        self._numbers = count(1)
        link.hear_answers(self)

    def ask(self, kind: NameRequest, name: str, port: str) -> _AskedName:
        """Ask about a name."""
        asked, number, wrapper = _AskedName(name), next(self._numbers), self._link.wrapper
        self._asked[number] = asked
        wrapper.appeals.asks_for_name(wrapper.member, number, kind.value, name, port)
        return asked

    def name_answered(self, number: int, answer: int, port: str) -> None:
        """Take an answer, on the thread that listens, which must not wait for the lock."""
        connections = self._engine.connections
        if isinstance(connections, PeerConnections):
            connections.soon(partial(self._finish, number, answer, port))

    def _finish(self, number: int, answer: int, port: str) -> None:
        asked = self._asked.pop(number, None)
        if asked is not None:
            asked.answer, asked.port = answer, port
            asked.finish()
            self._engine.wake()


@cache
def _questions(engine: Engine) -> _NameQuestions:
    link = current()
    assert link is not None, "where there is an engine, this is a rank"
    return _NameQuestions(engine, link)


# --- communicators --------------------------------------------------------------------------------


def accepted(comm: MPI.Intracomm, port_name: str, info: MPI.Info, root: int) -> MPI.Intercomm:
    """Return a communicator of this group and the next one that connects to a port."""
    return _joined(comm, PortRequest.ACCEPT, port_name, info, root)


def connected(comm: MPI.Intracomm, port_name: str, info: MPI.Info, root: int) -> MPI.Intercomm:
    """Return a communicator of this group and the one that accepts at a port."""
    return _joined(comm, PortRequest.CONNECT, port_name, info, root)


def _joined(
    comm: MPI.Intracomm, side: PortRequest, port_name: str, info: MPI.Info, root: int
) -> MPI.Intercomm:
    engine = predefined().engine
    native = MPI.Intracomm.Accept if side == PortRequest.ACCEPT else MPI.Intracomm.Connect
    if engine is None:
        reaches_out_by(side.name.capitalize())
        return hand_down(comm, near_or_null(native(comm, port_name, info, root)))
    _refuse_replicas(side.name.capitalize())
    group = indexes_of(comm, engine)
    if not 0 <= root < len(group):
        refuse(comm, MPI.ERR_ROOT)
    said = b""
    if group[root] == engine.me:
        said = encoded([_agreed(comm, engine, side, port_name, group)])
    (told,) = decoded(tell_bytes(comm, engine, root, said))
    if "error" in told:
        report(comm, _error(told["error"], told["text"]))
    if "lost" in told:
        report(comm, ProcessGone(told["lost"], cause=told["cause"]))
    if "context" not in told:
        reaches_out_by(side.name.capitalize())
        return hand_down(comm, near_or_null(native(comm, port_name, info, root)))
    peers = tuple(told["group"])
    grid = members_behind(predefined().comms["COMM_GRID"])
    assert grid is not None, "where there is an engine, the grid has several clusters"
    meet(grid, group + peers)
    made: MPI.Intercomm = over_two(engine, group, peers, told["context"])
    return hand_down(comm, made)


def _agreed(
    comm: MPI.Intracomm, engine: Engine, side: PortRequest, port_name: str, group: Members
) -> dict[str, Any]:
    """Return what a root tells its group: the other one, nothing where native MPI is to be called.

    Its own errors too: the others would wait for ever.
    """
    port = PortName.of(str(port_name))
    if port is None:
        is_native = members_behind(comm) is None
        return {} if is_native else _refusal("ERR_PORT", f"{port_name!r} is no port of this run")
    if port.rank >= len(here().everybody):
        return _refusal("ERR_PORT", f"{port} is no port of this run")
    if len(group) == len(here().everybody) and engine.newcomers is None:
        return _refusal("ERR_PORT", "all ranks of the run are in this group: nobody can come")
    try:
        return _paired(comm, engine, side, port, group)
    except ProcessGone as gone:
        if isinstance(engine.losses.gone.get(port.rank), PeerLeft):
            text = f"{port} is gone: {engine.name_of(port.rank)}, which had it, has ended"
            return _refusal("ERR_PORT", text)
        return {"lost": gone.what, "cause": gone.cause}
    except FailureError as error:  # the communicator is closed, which the others know, too
        return _refusal(error.error_name, error.what)
    except MPI.Exception as error:
        return _refusal("ERR_PORT", " ".join(getattr(error, "__notes__", ())))


def _refusal(kind: str, text: str) -> dict[str, Any]:
    return {"error": kind, "text": text}


def _paired(
    comm: MPI.Intracomm, engine: Engine, side: PortRequest, port: PortName, group: Members
) -> dict[str, Any]:
    """Wait for the other side, and return what the group is to be told."""
    with engine.lock:
        question, send = engine.desk.ask(side, port, group)
    members = members_behind(comm)
    recovery = None if members is None else members.recovery
    waiting = _AtPort(engine, question, port, side, group=group, recovery=recovery)
    try:
        with engine.lock:
            engine.request(DESK_KEY, send)
            engine.wake()
        engine.waits.wait_for(waiting)
    except BaseException:  # a Ctrl-C too: nobody may be paired with who waits no more
        with engine.lock:
            engine.request(DESK_KEY, engine.desk.withdraw(question))
        raise
    if question.outcome == PortAnswer.NO_PORT:
        text = f"{engine.name_of(port.rank)} has no port {port}: it is closed, or of another run"
        return _refusal("ERR_PORT", text)
    if question.outcome == PortAnswer.BOTH_SIDES:
        both = engine.name_of(array("q", question.body)[0])
        return _refusal("ERR_COMM", f"{both} is on both sides of {port}")
    context, peers = PortDesk.pairing(question.body)
    return {"context": context, "group": list(peers)}


class _AtPort(Operation):
    """The answer of a desk to an offer.

    It is an error, too, once nobody can come any more, or a member of the group is lost.
    """

    __slots__ = ("_desk", "_engine", "_group", "_question", "_recovery", "_what")

    def __init__(
        self,
        engine: Engine,
        question: PortQuestion,
        port: PortName,
        side: PortRequest,
        *,
        group: Members,
        recovery: LossHandler | None,
    ) -> None:
        super().__init__()
        self._engine, self._question, self._desk = engine, question, port.rank
        self._group, self._recovery = group, recovery
        opener = "this process" if port.rank == engine.me else engine.name_of(port.rank)
        does = "connects to" if side == PortRequest.ACCEPT else "accepts at"
        self._what = f"somebody who {does} {port} of {opener}"

    def test(self) -> bool:
        """Ask whether the other side is there; the lock is held."""
        losses = self._engine.losses
        if self.done:
            return True
        if self._question.outcome is not None:
            self.finish()
        elif self._recovery is not None and self._recovery.is_closed:
            self.finish(self._recovery.error)
        elif losses.gone:
            left = self._others()
            if self._desk in losses.gone:
                self.finish(losses.of(self._desk))
            elif (error := losses.among(self._group, near=True)) is not None:
                self.finish(error)
            elif left and all(one in losses.gone for one in left):
                self.finish(_error("ERR_PORT", f"nobody is left: this was a wait for {self._what}"))
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return self._what

    def awaited(self) -> Sequence[int]:
        """Return those that may come."""
        return self._others()

    def _others(self) -> list[int]:
        return [one for one in range(len(here().everybody)) if one not in self._group]


def _fail(kind: str, text: str) -> NoReturn:
    """Raise an error that has to do with no communicator, as MPI does: that is COMM_SELF's."""
    report(predefined().comms["COMM_SELF"], _error(kind, text))


def _error(kind: str, text: str) -> MPI.Exception:
    number = failure_classes().get(kind) or getattr(MPI, kind)
    error = MPI.Exception(number)
    error.add_note(text)
    return error


def _refuse_replicas(call: str) -> None:
    if here().has_replicas:
        raise NotOnTheGrid(
            f"{call} is not possible where ranks have replicas",
            cure="Use messages and collectives there",
        )
