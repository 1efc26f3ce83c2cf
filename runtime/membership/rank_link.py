"""A rank's connection to its front-end, without the component framework: a rank starts quickly."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.lazy_import import logger
from runtime.machine.authority import TO_RANKS
from runtime.machine.calls import CallRefused, DispatchTable, stub
from runtime.machine.contracts import (
    CONTRACTS,
    CodeRoutes,
    Coupling,
    CouplingNews,
    LauncherAnswers,
    Mail,
)
from runtime.machine.paths import COUPLING, LAUNCHER, RANKS, clustering_path
from runtime.machine.wrapper import RankWrapper
from runtime.membership.run_directory import read_key
from runtime.rank_name import RankName
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed
from runtime.transport.keys import member_name
from runtime.transport.lean import HANDSHAKE_SECONDS, HOST_SILENCE, LeanChannel
from runtime.transport.messages import CALL, Target
from runtime.transport.transports import socket_for

if TYPE_CHECKING:
    import _socket

    from runtime.membership.bind_address import AdvertisedAddresses
    from runtime.transport.frames import Frame

    Lose = Callable[[str], None]
    C = TypeVar("C")

LAST_CALL_TIMEOUT = 1.0  # seconds for the call that is served when the rank ends

_LATER = 1.25
"""How much later than its front-end a rank gives the other up, so that this one knows the cause."""

_ANSWERS = CONTRACTS[LauncherAnswers]
_MAIL, _NEWS, _CODE_ROUTES = CONTRACTS[Mail], CONTRACTS[CouplingNews], CONTRACTS[CodeRoutes]

_log = logger(__name__)


class SharedChannel(LeanChannel):
    """A channel on which several threads send."""

    __slots__ = ("_sending",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._sending = _thread.allocate_lock()

    def _send(self, frame: Frame) -> None:
        with self._sending:
            super()._send(frame)


def dial_front_end(
    address: str,
    credentials: Credentials,
    cluster: str,
    patience: float = HANDSHAKE_SECONDS,
    *,
    sockets: Callable[[str], tuple[_socket.socket, Any]] = socket_for,
) -> SharedChannel:
    """Connect a rank to the front-end of its cluster; raises as `LeanChannel.dial` does.

    A front-end may stand still for as long as its host answers.
    """
    silence = _LATER * HOST_SILENCE
    return SharedChannel.dial(
        address, credentials, patience, peer=cluster, silence=silence, sockets=sockets
    )


class RankLink:
    """The connection of a rank to its front-end: calls of both, and those relayed for others."""

    def __init__(self, run_directory: str, name: str, *, is_again: bool = False) -> None:
        """Connect to the front-end, with `is_again` as a restarted rank in the place of a lost one.

        Raises OSError without a key in the run directory, Unreachable, AuthenticationFailed.
        """
        bootstrap = read_key(run_directory, name, is_alone=is_again)
        self.is_again = is_again
        self.name = name
        self.rank_name = RankName.parse(name)
        self.incarnation = bootstrap.incarnation
        proved = member_name(name, bootstrap.incarnation)
        self.credentials = Credentials(bootstrap.keys, proved, bootstrap.certificate)
        self.listeners: list[_socket.socket] = []
        """The sockets at which other ranks connect, until the wire takes them over."""
        self._run_directory = run_directory
        self._transports = bootstrap.transports
        self._dispatch = DispatchTable()
        cluster = self.rank_name.cluster
        above = clustering_path(cluster)
        self.wrapper = RankWrapper(
            proved, self._dispatch, self._call_above, self._appeal, above=above
        )
        self._channel = dial_front_end(
            bootstrap.address, self.credentials, cluster, bootstrap.patience
        )
        self._lock = _thread.allocate_lock()
        self._serving = _thread.allocate_lock()
        self.coupling = stub(Coupling, lambda *call: self._tell(COUPLING, *call))
        """The launcher's operations for coupled codes."""
        self._lose_mail: Lose | None = None
        self._early: list[tuple[str, str, tuple[Any, ...]]] = []
        self._lost = ""

    def expect_ranks(self, folder: str) -> AdvertisedAddresses:
        """Listen for ranks of other clusters; return the addresses to advertise.

        Raises:
            TransportError: a transport cannot be used whose class should lie in `folder`.
        """
        from runtime.membership.bind_address import use_transports

        use_transports(self._transports, folder)
        self.listeners, found = self.open_listeners("rank")
        return found

    def open_listeners(self, name: str) -> tuple[list[_socket.socket], AdvertisedAddresses]:
        """Return listeners for other ranks, and the addresses to advertise."""
        from runtime.membership.bind_address import open_listeners

        own = f"{name}{self.rank_name.rank}"
        return open_listeners(self._run_directory, own, self._transports)

    def _call_above(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the component of the cluster; does nothing once its front-end has gone."""
        self._note(Target(self.name, interface, operation), args)

    def _appeal(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the launcher as this incarnation; does nothing once the front-end has gone."""
        self._note(Target(LAUNCHER, interface, operation, self.wrapper.member), args)

    def to(self, contract: type[C], path: str) -> C:
        """Return a contract of another rank, or of the driver, which front-ends relay.

        Any thread may call `Mail` but the listening one: the call may block.
        """
        return stub(contract, lambda *call: self._tell(path, *call))

    def _tell(self, path: str, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call a component beyond the front-end; does nothing once the front-end has gone."""
        self._note(Target(path, interface, operation, self.name), args)

    def _note(self, target: Target, args: tuple[Any, ...]) -> None:
        try:
            self._channel.note(target, *args)
        except ChannelClosed:
            return

    def couple(self, news: CouplingNews, mail: Mail, routes: CodeRoutes, lose: Lose) -> None:
        """Dispatch calls of other codes from now on, first those that have arrived already."""
        with self._lock:
            self._dispatch.serve(CouplingNews, news)
            self._dispatch.serve(Mail, mail)
            self._dispatch.serve(CodeRoutes, routes)
            self._lose_mail = lose
            early, self._early = self._early, []
            for call in early:
                self._dispatch.call(*call)
            if self._lost:
                lose(self._lost)

    def hear_answers(self, answers: LauncherAnswers) -> None:
        """Dispatch what the launcher answers; to be called before anything is asked."""
        self._dispatch.serve(LauncherAnswers, answers)

    def wait_for_go(self) -> None:
        """Serve calls of the front-end until the program may run; raises ChannelClosed."""
        while not self.wrapper.may_go:
            self._take_next()

    def listen(self, lost: Callable[[], None]) -> None:
        """Serve calls until the front-end has gone, then call `lost`."""
        while True:
            try:
                self._take_next()
            except ChannelClosed as end:
                self._lose(str(end))
                lost()
                return

    def stop_serving(self) -> None:
        """Serve no call any more, once the present one is over: the interpreter is about to end.

        A thread that imports a module while Python takes its modules apart crashes the process. A
        call that takes longer than `LAST_CALL_TIMEOUT` is left alone: no end waits for ever.
        """
        self._serving.acquire(timeout=LAST_CALL_TIMEOUT)

    def _take_next(self) -> None:
        frame = self._channel.receive()
        with self._serving:
            self._serve(frame)

    def _serve(self, frame: Frame) -> None:
        answer: object = None
        try:
            target, args, _ = self._channel.opened(frame)
            if target.component.startswith(RANKS):
                self._handle_far(target, args)
            elif frame.kind == CALL:
                answer = self.wrapper.answer(target.interface, target.operation, args)
            else:
                self._dispatch.call(target.interface, target.operation, args)
        except Exception as error:  # a call that fails must not end the others
            answer = error
            _log.error("a call to this rank failed: %s: %s", type(error).__name__, error)
        self._channel.answer(frame, answer)

    def _handle_far(self, target: Target, args: tuple[Any, ...]) -> None:
        """Dispatch a relayed call of the launcher or another rank; front-ends prove the sender."""
        call, sender = (target.interface, target.operation), target.client
        if target.interface in (_NEWS, _ANSWERS):
            if sender != LAUNCHER:
                raise CallRefused(f"{sender} may not call {target.interface}.{target.operation}")
        elif call not in TO_RANKS:
            raise CallRefused(f"another rank may not call {target.interface}.{target.operation}")
        elif TO_RANKS[call] and args[:1] != (sender,):
            raise CallRefused(f"{sender} calls {target.interface}.{target.operation} as {args[:1]}")
        with self._lock:
            if self._lose_mail is None and target.interface in (_NEWS, _MAIL, _CODE_ROUTES):
                self._early.append((*call, args))
            else:
                self._dispatch.call(*call, args)

    def _lose(self, why: str) -> None:
        with self._lock:
            self._lost = why
            if self._lose_mail is not None:
                self._lose_mail(why)


_current: RankLink | None = None


def current() -> RankLink | None:
    """Return the link of the rank that this process is, or None if it is none."""
    return _current


def remember(link: RankLink) -> None:
    """Let `current` return a link: this process is its rank, for as long as it lives."""
    global _current  # noqa: PLW0603 - a process is one rank at most
    _current = link
