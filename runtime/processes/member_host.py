"""The host of a front-end, whose process is itself a member of the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gcm.errors import NoSuchComponentError
from gcm.interfaces.future import Future, finished
from gcm.interfaces.stub import Stub
from runtime.coupling.message_paths import cluster_of
from runtime.hosting.host import Host
from runtime.hosting.lent_blocks import BLOCKS
from runtime.hosting.remote import RemoteInterface
from runtime.machine.calls import CallRefused, DispatchTable
from runtime.machine.contracts import (
    BINDING_CONTROLLER,
    CONTRACTS,
    Membership,
    Views,
)
from runtime.machine.paths import (
    COUPLING,
    DRIVER_PATH,
    GRID,
    LAUNCHER,
    RANKS,
    above_path,
    clustering_path,
)
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.errors import TransportError
from runtime.transport.messages import PLAIN_DATA, Target
from runtime.transport.reactor import Reactor

T = TypeVar("T")

FRONT_END = "/front-end"

HEARTBEAT = "health-controller"
"""The interface through which failure detectors of front-ends speak to each other."""

_SUSPECTS = HEARTBEAT, "suspects"
"""A question that changes nothing, so everybody in the machine may ask it."""

_STATE = "lifecycle-controller", "state"

_MEMBERSHIP, _VIEWS = CONTRACTS[Membership], CONTRACTS[Views]

BETWEEN_FRONT_ENDS = {_MEMBERSHIP, _VIEWS, HEARTBEAT}
"""What one front-end may call of the clustering components of another: plain data, by name."""


class MemberHost(Host):
    """A host that also serves contracts of its process, at once and on the reactor's thread.

    It opens plain data only, also of what nodes say: components of the user live in these.
    """

    def __init__(self, home: str, reactor: Reactor, dispatch: DispatchTable) -> None:
        super().__init__(home, reactor)
        self.codec = PLAIN_DATA
        self._dispatch = dispatch

    def onward(self, target: Target, source: Channel) -> Channel | None:
        """Return the way on for what a node calls, which must not be the machine itself.

        Raises:
            TransportError: it is.
        """
        path = target.component
        is_member = path in (FRONT_END, COUPLING, DRIVER_PATH) or path.startswith(RANKS)
        if is_member or is_to_launcher(target) or f"{path}/".startswith(f"{GRID}/"):
            raise TransportError(f"{source.peer} may not call {target}")
        return super().onward(target, source)

    def serve(self, request: IncomingCall) -> Future[Any] | IncomingCall:
        """Serve a call that came in over a channel."""
        target = request.target
        if target.component == FRONT_END:
            opened = request.invocation().args
            return finished(self._dispatch.call, (target.interface, target.operation, opened), {})
        if cluster_of(target.component):  # ranks may send it, so it must not be opened here
            raise NoSuchComponentError("there is no such rank here", component=target.component)
        question = target.interface, target.operation
        if target.interface in BETWEEN_FRONT_ENDS and question != _SUSPECTS:
            call = request.invocation()
            check_sender(target, call.args)
            if target.interface == HEARTBEAT:  # it takes no time, which waking a worker does
                heard = self.exports.operation(target, request.channel)
                return finished(heard, call.args, {})
            return self._serving.serve(target, lambda: call, request.channel)
        answer = super().serve(request)
        if not isinstance(answer, Future):
            return answer
        if question == (BINDING_CONTROLLER, "lookup"):
            return names_in(answer, self._name_of)
        return answered(answer, str) if question == _STATE else answer

    def _name_of(self, found: Any) -> str:
        end = found._end if isinstance(found, Stub) else found
        if isinstance(end, RemoteInterface):
            return f"{end.component}.{end.interface}"
        return f"{self.exports.name_of(end.owner)}.{end.name}"


def names_in(answer: Future[Any], name_of: Callable[[Any], str]) -> Future[list[str]]:
    """Return the names of the ends that are answered: references are no plain data.

    >>> asked = Future("it")
    >>> names = names_in(asked, str.upper)
    >>> asked.set_result(["a", None, "b"])
    >>> names.result()
    ['A', 'B']
    """

    def names(found: Any) -> list[str]:
        ends = found if isinstance(found, list | tuple) else [found]
        return [name_of(one) for one in ends if one is not None]

    return answered(answer, names)


def answered(answer: Future[Any], change: Callable[[Any], T]) -> Future[T]:
    """Return what is sent in place of an answer that is no plain data."""
    changed: Future[T] = Future(answer)

    def tell(_: object) -> None:
        try:
            changed.set_result(change(answer.result()))
        except Exception as fault:  # whoever asked waits for an answer
            changed.set_exception(fault)

    answer.add_done_callback(tell)
    return changed


def check_sender(target: Target, args: tuple[Any, ...]) -> None:
    """Refuse what a clustering component may not call of another; raises CallRefused.

    That the caller lives where its name says was seen to by the launcher, which passes the call on.

    >>> sender = "/grid/site0/cluster1/clustering.membership-up"
    >>> check_sender(Target("/grid/site0/clustering", "membership", "ready", sender), ("0:1", []))
    """
    sender = sender_of(target)
    if target.interface == _VIEWS:
        is_right = sender == above_path(target.component)
    else:
        member = args[0] if args else None
        is_right = isinstance(member, str) and sender == clustering_path(member)
        is_right &= target.interface != _MEMBERSHIP or above_path(sender) == target.component
    if not is_right:
        raise CallRefused(f"{sender or 'somebody'} may not call {target}")


def is_to_launcher(target: Target) -> bool:
    """Tell whether a call is for the launcher itself, and not for an array that lies there."""
    return target.component == LAUNCHER and target.interface != BLOCKS


def sender_of(target: Target) -> str:
    """Return the path of the component that calls; empty if it does not say."""
    return target.client.rpartition(".")[0]
