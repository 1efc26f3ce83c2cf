"""What a member serves to whom: the one place where names that come in become calls."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from gcm.records import dataclass
from runtime.peers.connections.calls import Call
from runtime.peers.connections.connection import operations
from runtime.peers.connections.sockets import PeerSocket
from runtime.peers.contracts import CALL_SIZES, CALLERS, CONTRACTS, GUARDED, CallSize
from runtime.peers.errors import Refused
from runtime.peers.model import MemberRole, Principal, Reason

C = TypeVar("C")

_HOST: ContextVar[str] = ContextVar("host of a caller", default="")


def calling_host() -> str:
    """Return the address from which the call came that this thread carries out."""
    return _HOST.get()


@dataclass(frozen=True, slots=True)
class _Operation:
    method: Callable[..., Any]
    types: tuple[Any, ...]
    roles: frozenset[MemberRole]
    is_guarded: bool
    size: CallSize


@dataclass(frozen=True, slots=True)
class TakeOver:
    """What an operation returns after whose answer the connection carries no calls any more.

    `carry` gets the socket and returns when it is done; the listener closes the socket then.
    """

    answer: Any
    carry: Callable[[PeerSocket], None]


class Services:
    """The services of one process; calls are carried out by the thread of their connection."""

    def __init__(self, denies: Callable[[str], bool] = lambda _: False) -> None:
        self._denies = denies
        self._known: dict[tuple[str, str], _Operation] = {}

    def serve(self, contract: type[C], implementation: C) -> None:
        """Let calls of a contract reach an object that has its operations."""
        for name in operations(contract):
            hints = get_type_hints(getattr(contract, name))
            hints.pop("return", None)
            self._known[CONTRACTS[contract], name] = _Operation(
                getattr(implementation, name),
                tuple(hints.values()),
                CALLERS[contract, name],
                contract in GUARDED,
                CALL_SIZES.get((contract, name), CallSize()),
            )

    def admit(self, service: str, operation: str, caller: Principal, host: str) -> CallSize:
        """Return how large a call may be that somebody begins; raises Refused as `carry_out`."""
        return self._admitted(service, operation, caller, host).size

    def carry_out(self, call: Call, caller: Principal, host: str) -> Any:
        """Return the answer to a call from a host.

        Raises:
            Refused: there is no such operation, not for this caller, or not with such arguments;
                or the operation refuses.
        """
        operation = self._admitted(call.service, call.operation, caller, host)
        if len(call.arguments) != len(operation.types) or not all(
            map(_is, call.arguments, operation.types)
        ):
            raise Refused(f"{call} was called with wrong arguments", reason=Reason.BAD_REQUEST)
        if call.arguments[0] != str(caller):
            raise Refused(
                f"{caller} calls {call} in the name of another one", reason=Reason.BAD_REQUEST
            )
        _HOST.set(host)
        return operation.method(*call.arguments)

    def _admitted(self, service: str, name: str, caller: Principal, host: str) -> _Operation:
        operation, call = self._known.get((service, name)), f"{service:.40}.{name:.40}"
        if operation is None:
            raise Refused(
                f"nothing here serves {call}",
                reason=Reason.BAD_REQUEST,
                cure="It is a peer that is asked as a supernode, or one of another version",
            )
        if caller.role not in operation.roles:
            raise Refused(f"{call} is not for a {caller.role}", reason=Reason.NOT_TRUSTED)
        if operation.is_guarded and self._denies(host):
            raise Refused(f"the deny list has the address {host}", reason=Reason.DENIED)
        return operation


def _is(value: Any, kind: Any) -> bool:
    """Tell whether a plain value is of a type as it is written in a contract."""
    if kind is Any:
        return True
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    origin = get_origin(kind)
    if origin is None:
        return isinstance(value, kind)
    if not isinstance(value, origin):
        return False
    return origin is not list or all(_is(one, get_args(kind)[0]) for one in value)
