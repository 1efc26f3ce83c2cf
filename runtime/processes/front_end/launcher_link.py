"""The connection of a front-end to its launcher: reports, the log, and what is owed at the end."""

from __future__ import annotations

import logging
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from gcm.invocation import Invocation
from runtime.machine.calls import reports_of
from runtime.machine.contracts import Reports
from runtime.machine.paths import LAUNCHER
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.processes.front_end.output_handover import OutputHandover
from runtime.transport.channel import Channel, Handler, Relay
from runtime.transport.errors import ChannelClosed
from runtime.transport.messages import PLAIN_DATA
from runtime.transport.reactor import Reactor
from runtime.transport.streams import ByteStream

_LOGGED = [logging.getLogger(f"runtime.{one}") for one in ("processes", "launchers", "transitions")]


class LauncherLog(logging.Handler):
    """Sends what this process logs to the launcher, whose run has the log."""

    def __init__(self, launcher: Reports) -> None:
        super().__init__(logging.INFO)
        self._launcher = launcher

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record, without waiting."""
        text = self.format(record)
        if record.levelno >= logging.WARNING:
            print(text, file=sys.stderr)  # which is quoted where this process fails
            text = f"{record.levelname}: {text}"
        self._launcher.logged(text)


class LauncherLink:
    """Sends the launcher what the front-end of a `cluster` reports, and hears its orders.

    `handler` serves what comes, `relay` says where the rest goes. Nothing is sent, and nothing
    raised, once the launcher has gone.
    """

    def __init__(
        self, reactor: Reactor, stream: ByteStream, cluster: str, handler: Handler, relay: Relay
    ) -> None:
        self.channel = Channel(
            reactor, stream, "the launcher", handler, relay=relay, codec=PLAIN_DATA
        )
        self.reports = reports_of(cluster, self.send)
        self.credit = OutputCredit(reactor)
        """Holds output until the launcher takes it."""
        self._reactor = reactor
        self._log = LauncherLog(reports_of(cluster, self._send_now))
        self._is_abandoned = False

    def open(self, received: bytes) -> None:
        """Use the connection from now on, and send the log over it; `received` came before."""
        self.channel.open(received)
        for logger in _LOGGED:
            logger.addHandler(self._log)
            logger.setLevel(logging.INFO)

    def send(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the launcher; a thread that sends more than leaves waits."""
        with suppress(ChannelClosed):
            self.channel.note(Invocation(LAUNCHER, interface, operation, args))

    def _send_now(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        with suppress(ChannelClosed):
            self.channel.note(Invocation(LAUNCHER, interface, operation, args), now=True)

    def abandon(self) -> None:
        """Pass no output on any more, since this process is to end now; fit for signal handlers."""
        self._is_abandoned = True

    def hang_up(self) -> None:
        """End the connection, and wait until it has ended."""
        ended = threading.Event()
        self.channel.when_closed(lambda _: ended.set())
        self.channel.close()
        ended.wait()

    def pass_output_on(self) -> None:
        """Wait until the launcher has taken the output that is left, unless it does not want to."""
        self._await_taken()
        for _ in range(2):  # how ranks ended is told behind their output, and in turns
            turn = threading.Event()
            self._reactor.soon(turn.set)
            turn.wait()
        if not self.credit.holds_any:
            self.reports.output_passed_on()
        self._await_taken()

    def _await_taken(self) -> None:
        handover = OutputHandover()
        while not (self.channel.is_closed or self._is_abandoned):
            held, unsent = self.credit.holds_any, bool(self.channel.unsent_bytes)
            look = handover.look(time.monotonic(), is_held=held, is_unsent=unsent)
            if look is None:
                return
            if look.reminds:
                self.reports.output_follows()
            time.sleep(look.pause)

    def close(self) -> None:
        """Send the log no more, and end the connection once all has left."""
        for logger in _LOGGED:
            logger.removeHandler(self._log)
            logger.setLevel(logging.NOTSET)
        self.channel.close()
