"""The calls that were sent over a channel and have no outcome yet, each with its number."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from gcm.interfaces.call_chain import Link, current
from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.transport.channel_reader import ChannelReader
from runtime.transport.errors import ChannelClosed
from runtime.transport.frames import Frame
from runtime.transport.messages import Codec, outcome_of


class PendingCall(Protocol):
    """A call that one outcome comes to, in the thread that brings it."""

    @property
    def about(self) -> object:
        """The call, with where it goes or who has made it."""

    def arrived(self, outcome: Frame | ChannelClosed) -> None:
        """Take the outcome, unopened."""


class PendingCalls:
    """Gives calls numbers, and each of them one outcome: what is received, or the end.

    Any thread may add calls while another one ends the channel: whoever takes a call out of the
    table brings its outcome.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._calls: dict[int, PendingCall] = {}
        self._ended: ChannelClosed | None = None

    def add(self, call: PendingCall) -> int:
        """Wait for the outcome of a call under a fresh number; 0 if it got that of the end."""
        number = next(self._numbers)
        self._calls[number] = call
        if self._ended is None or not self.withdraw(number):
            return number
        call.arrived(self._ended.without_result_of(call.about))
        return 0

    def withdraw(self, number: int) -> bool:
        """Wait no longer for a call that was not sent; False if it has its outcome."""
        return self._calls.pop(number, None) is not None

    def settle(self, outcome: Frame) -> None:
        """Take an outcome to its call; one that nobody waits for is dropped."""
        if (call := self._calls.pop(outcome.number, None)) is not None:
            call.arrived(outcome)

    def end(self, ended: ChannelClosed) -> None:
        """Let all calls fail, those that come later too."""
        self._ended = ended
        for number in list(self._calls):
            if (call := self._calls.pop(number, None)) is not None:
                call.arrived(ended.without_result_of(call.about))


class BlockingCall:
    """A pending call whose caller does nothing but wait for it."""

    __slots__ = ("_gate", "_peer", "_sent", "number", "outcome")

    def __init__(self, sent: Invocation, peer: str) -> None:
        self._sent = sent
        self._peer = peer
        self._gate: threading.Lock | None = None
        self.number = 0
        self.outcome: Frame | ChannelClosed | None = None

    @property
    def about(self) -> object:
        """The call, and where it goes."""
        return f"{self._sent} at {self._peer}"

    def done(self) -> bool:
        """Return whether the outcome is there."""
        return self.outcome is not None

    def arrived(self, outcome: Frame | ChannelClosed) -> None:
        """Take the outcome, unopened."""
        self.outcome = outcome
        if self._gate is not None:
            self._gate.release()

    def awaited(self, reader: ChannelReader) -> Frame | ChannelClosed:
        """Return the outcome, which this thread reads if it can, and else another one brings."""
        reader.read_for(self.number, self.done, None)
        return self.outcome or self._brought()

    def _brought(self) -> Frame | ChannelClosed:
        gate = threading.Lock()
        gate.acquire()
        self._gate = gate
        if self.outcome is None:
            gate.acquire()
        assert self.outcome is not None
        return self.outcome


class CallFuture(Future[Any]):
    """The future of a pending call: a thread that waits for it reads, if no other does."""

    _state = "RUNNING"  # it cannot be cancelled
    waits: Callable[[Link], AbstractContextManager[None]] | None = None
    """Says that a request waits for it, for as long as it does; None: nobody wants to know."""

    def __init__(self, sent: Invocation, peer: str, codec: Codec, reader: ChannelReader) -> None:
        super().__init__(sent)
        self._peer = peer
        self._codec = codec
        self._reader = reader
        self.number = 0

    @property
    def about(self) -> object:
        """The call, and where it goes."""
        return f"{self._sent} at {self._peer}"

    @about.setter
    def about(self, sent: object) -> None:
        self._sent = sent

    def arrived(self, outcome: Frame | ChannelClosed) -> None:
        """Open the result, or take the reason why there is none."""
        try:
            result = outcome_of(outcome, self._peer, self._codec)
        except Exception as error:  # it is what the call raised
            self.set_exception(error)
        else:
            self.set_result(result)

    def _wait(self, timeout: float | None) -> None:
        link = current()
        if timeout is not None or link is None or self.waits is None:
            self._brought(timeout)
            return
        with self.waits(link):
            self._brought(None)

    def _brought(self, timeout: float | None) -> None:
        if timeout is None:
            self._reader.read_for(self.number, self.done, None)
        else:
            deadline = time.monotonic() + timeout
            self._reader.read_for(self.number, self.done, timeout)
            timeout = max(0.0, deadline - time.monotonic())
        if not self.done():
            super()._wait(timeout)
