"""Runs a command behind a line: `slow_pipe.py DELAY RATE COMMAND...`.

The program that stands in for ssh in an emulated grid enters the other cluster by the kernel, not
by the network. Between sites this program stands before the command, so that what goes through ssh
takes as long as what goes through sockets. Nothing is lost: whoever writes waits when the line is
full. Imports nothing of the package, as it starts with every ssh.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections import deque

CHUNK = 1 << 16


class Way:
    """One direction: bytes that wait for the moment at which they arrive; pure.

    >>> way = Way(delay=0.5, rate=8000.0)
    >>> way.enters(10.0, b"x" * 1000), way.next_at
    (None, 11.5)
    >>> way.arrived(11.0), len(way.arrived(11.5))
    (b'', 1000)
    """

    def __init__(self, delay: float, rate: float) -> None:
        self._delay, self._rate = delay, rate
        self._most = 2 * 2 * delay * rate / 8 + 4 * CHUNK
        self._under_way: deque[tuple[float, bytes]] = deque()
        self._held, self._busy_until = 0, 0.0
        self.is_ended = False
        """Whether nothing more enters; what is under way still arrives."""

    @property
    def has_room(self) -> bool:
        """Whether something may enter."""
        return not self.is_ended and self._held < self._most

    @property
    def next_at(self) -> float | None:
        """When the next bytes arrive; None if there are none."""
        return self._under_way[0][0] if self._under_way else None

    @property
    def is_done(self) -> bool:
        """Whether all has arrived that will."""
        return self.is_ended and not self._under_way

    def enters(self, now: float, data: bytes) -> None:
        """Take bytes; none mean the end."""
        if not data:
            self.is_ended = True
            return
        self._busy_until = max(self._busy_until, now) + 8 * len(data) / self._rate
        self._under_way.append((self._busy_until + self._delay, data))
        self._held += len(data)

    def arrived(self, now: float) -> bytes:
        """Return what has arrived by now."""
        found = []
        while self._under_way and self._under_way[0][0] <= now:
            found.append(self._under_way.popleft()[1])
        data = b"".join(found)
        self._held -= len(data)
        return data


def main() -> int:
    """Run the command to its end; return its exit code."""
    delay, rate = float(sys.argv[1]), float(sys.argv[2])
    with subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as command:
        assert command.stdin is not None
        assert command.stdout is not None
        there, back = command.stdin.fileno(), command.stdout.fileno()
        ways = {0: (Way(delay, rate), there), back: (Way(delay, rate), 1)}
        while not ways[back][0].is_done:
            _step(ways)
            to_command = ways[0][0]
            if to_command.is_done and not command.stdin.closed:
                command.stdin.close()
        code = command.wait()
    return code if code >= 0 else 128 - code


def _step(ways: dict[int, tuple[Way, int]]) -> None:
    """Wait for the next thing to happen in either direction, and let it happen."""
    readable = [source for source, (way, _) in ways.items() if way.has_room]
    dues = [way.next_at for way, _ in ways.values() if way.next_at is not None]
    timeout = max(0.0, min(dues) - time.monotonic()) if dues else None
    ready, _, _ = select.select(readable, [], [], timeout)
    for source in ready:
        ways[source][0].enters(time.monotonic(), os.read(source, CHUNK))
    for way, target in ways.values():
        data = memoryview(way.arrived(time.monotonic()))
        with contextlib.suppress(BrokenPipeError):  # it reads no more: its end says the rest
            while data:
                data = data[os.write(target, data) :]


if __name__ == "__main__":
    sys.exit(main())
