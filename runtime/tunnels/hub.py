"""The process on the launcher's machine that joins the ends of tunnels, and starts them.

It reads a line of JSON, the ends with the commands that lead there, and says what happens in lines
of JSON: that all ends are there, that one has gone, and what was carried once its input has ended.
A process of its own, it goes on while the launcher is stopped or busy.
"""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from runtime.launchers.session import Marked
from runtime.launchers.wire import HEADER, frame, frames
from runtime.tunnels.frames import (
    DATA,
    GONE,
    LEASE,
    OPEN,
    PIECE,
    PING,
    end_and_connection,
    number_of,
)

MODULE = "runtime.tunnels.hub"

MOST_HELD = 4 << 20
"""Bytes on their way to an end beyond which no end is read that has sent it more."""

_PERIOD = LEASE / 6
_FIRST_PERIOD = 0.02
"""Seconds between the first two pings of an end; a short run has a round trip to show, too."""

_PIPE = 1 << 20  # bytes of a pipe: fewer turns for many bytes
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class HubEnd:
    """One end as the hub has it: the process that leads there, and what it is still to be sent."""

    def __init__(self, number: int, process: subprocess.Popen[bytes], marker: tuple[str, str]):
        assert process.stdin is not None
        assert process.stdout is not None
        self.number = number
        self.process = process
        self.source, self.sink = process.stdout.fileno(), process.stdin.fileno()
        self.marked = Marked(marker)
        self.received = bytearray()
        self.to_send = bytearray()
        self.held_by: set[HubEnd] = set()
        """The ends that had more to read than they may when it sent them more: it waits for them.

        It is one of them if it does not read what it is told itself.
        """
        self.is_gone = False
        self.round_trip: float | None = None
        """The least seconds until it answered a ping; None if it has answered none."""
        self.ping_at = float("inf")
        """When it is pinged next: not before it has come up, which is no part of a round trip."""
        self.waits_since = float("inf")
        """Since when it has taken nothing of what it is to be sent, if there is something."""
        self._pinged = b""
        self._period = _FIRST_PERIOD

    def ping(self, now: float) -> None:
        """Ping it, and plan the next time: such periods grow, up to the usual one."""
        self._pinged = repr(now).encode()
        self.to_send += frame(PING, 0, self._pinged)
        self.ping_at = now + self._period
        self._period = min(2 * self._period, _PERIOD)

    def answered(self, payload: bytes, now: float) -> None:
        """Measure the round trip, if that was the last ping: of others it may have been."""
        if payload == self._pinged != b"":
            self._pinged = b""
            seconds = now - float(payload)
            self.round_trip = min(seconds, self.round_trip or seconds)

    def close(self) -> None:
        """End the process that leads there."""
        self.is_gone = True
        self.to_send.clear()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what was not written is of no use any more
                assert pipe is not None
                pipe.close()


class TunnelHub:
    """Passes frames between ends, which it counts and does not open.

    `report` gets what the launcher is to know. An end that takes nothing for `lease` seconds counts
    as lost.
    """

    def __init__(
        self,
        ends: Sequence[HubEnd],
        orders: int,
        report: Callable[[Mapping[str, Any]], None],
        lease: float = LEASE,
    ) -> None:
        self._lease = lease
        self._ends = ends
        self._orders = orders
        self._report = report
        self._opened: Counter[tuple[int, int]] = Counter()
        self._carried: Counter[tuple[int, int]] = Counter()
        self._is_ready = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(orders, _READ)
        self._actions: dict[int, Callable[[], None]] = {}
        for end in ends:
            self._actions[end.source] = partial(self._read, end)
            self._actions[end.sink] = partial(self._flush, end)
            for descriptor in (end.source, end.sink):
                os.set_blocking(descriptor, False)
                with suppress(OSError):  # a system may not give so many
                    fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)

    def run(self) -> None:
        """Serve until the launcher says no more; report then what was carried."""
        while True:
            self._watch_all()
            for key, _ in self._selector.select(self._until_ping()):
                if key.fd == self._orders:
                    self._report({"carried": self._figures()})
                    return
                self._actions[key.fd]()
            now = time.monotonic()
            for end in list(self._living()):
                if now >= end.ping_at:
                    end.ping(now)
                if not end.to_send:
                    end.waits_since = float("inf")
                elif now > end.waits_since + self._lease:
                    self._lose(end)  # what others send it holds up what they send elsewhere
                else:
                    end.waits_since = min(end.waits_since, now)

    def _living(self) -> Iterator[HubEnd]:
        return (end for end in self._ends if not end.is_gone)

    def _until_ping(self) -> float | None:
        """Return for how many seconds nobody is pinged; None for ever."""
        ping_at = min((end.ping_at for end in self._living()), default=float("inf"))
        return None if ping_at == float("inf") else max(0.0, ping_at - time.monotonic())

    def close(self) -> None:
        """Let all ends go."""
        for end in self._ends:
            if not end.is_gone:
                end.close()
        self._selector.close()

    def _read(self, end: HubEnd) -> None:
        try:
            data = os.read(end.source, 4 * PIECE)
        except BlockingIOError:
            return
        if not data:
            self._lose(end)
            return
        end.received += end.marked.take(data)
        if end.marked.is_behind and end.ping_at == float("inf"):
            end.ping_at = time.monotonic()
        try:
            for kind, number, payload in frames(end.received, PIECE):
                self._pass(end, kind, number, payload)
        except ValueError:  # it sends what no end sends
            self._lose(end)
        if not self._is_ready and all(one.marked.is_behind for one in self._ends):
            self._is_ready = True
            self._report({"ready": True})

    def _pass(self, end: HubEnd, kind: bytes, number: int, payload: bytes) -> None:
        if kind == PING:
            end.answered(payload, time.monotonic())
            return
        other, connection = end_and_connection(number)
        if other == end.number or other >= len(self._ends):
            raise ValueError(f"there is no end {other}")
        target = self._ends[other]
        if target.is_gone:
            end.to_send += frame(GONE, number_of(other, 0))
            self._hold(end, end)
            return
        target.to_send += frame(kind, number_of(end.number, connection), payload)
        self._opened[end.number, other] += kind == OPEN
        self._carried[end.number, other] += len(payload) if kind == DATA else 0
        if len(target.to_send) - len(payload) <= HEADER:  # it may have been idle
            self._flush(target)
        self._hold(end, target)

    def _hold(self, end: HubEnd, target: HubEnd) -> None:
        if len(target.to_send) >= MOST_HELD:
            end.held_by.add(target)

    def _flush(self, end: HubEnd) -> None:
        try:
            del end.to_send[: os.write(end.sink, end.to_send)]
            end.waits_since = float("inf")
        except BlockingIOError:
            pass
        except OSError:
            self._lose(end)

    def _lose(self, end: HubEnd) -> None:
        """Tell the others that an end has gone, and the launcher how."""
        if end.is_gone:
            return
        for descriptor in (end.source, end.sink):
            self._watch(descriptor, 0)
        end.close()
        for other in self._ends:
            if other is not end and not other.is_gone:
                other.to_send += frame(GONE, number_of(end.number, 0))
        self._report({"gone": end.number, "code": end.process.returncode})

    def _figures(self) -> list[tuple[int, int, int, int, int, float | None]]:
        """Return for each two ends connections, bytes each way, and seconds there and back."""
        found = []
        for one, two in sorted({tuple(sorted(pair)) for pair in self._opened}):
            opened = self._opened[one, two] + self._opened[two, one]
            there, back = self._carried[one, two], self._carried[two, one]
            ways = [self._ends[at].round_trip for at in (one, two)]
            seconds = None if None in ways else sum(way or 0.0 for way in ways)
            found.append((one, two, opened, there, back, seconds))
        return found

    def _watch_all(self) -> None:
        for end in self._ends:
            if not end.is_gone:
                end.held_by = {one for one in end.held_by if len(one.to_send) >= MOST_HELD}
                self._watch(end.source, 0 if end.held_by else _READ)
                self._watch(end.sink, _WRITE if end.to_send else 0)

    def _watch(self, descriptor: int, events: int) -> None:
        is_watched = descriptor in self._selector.get_map()
        if events and not is_watched:
            self._selector.register(descriptor, events)
        elif is_watched and not events:
            self._selector.unregister(descriptor)


def start_end(number: int, end: Mapping[str, Any]) -> HubEnd:
    """Start the command that leads to an end; raises OSError."""
    environment = dict(os.environ)
    for name, value in end["environment"].items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    process = subprocess.Popen(
        end["argv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0
    )
    first, second = end["marker"]
    return HubEnd(number, process, (first, second))


def main() -> None:
    """Be the hub."""
    line = b""
    while not line.endswith(b"\n"):
        read = os.read(0, PIECE)
        if not read:
            return
        line += read

    def report(what: Mapping[str, Any]) -> None:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()

    hub = TunnelHub(
        [start_end(number, end) for number, end in enumerate(json.loads(line))], 0, report
    )
    try:
        hub.run()
    finally:
        hub.close()


if __name__ == "__main__":
    main()
