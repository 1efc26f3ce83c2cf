"""How many connections a pair needs, judged from measurements. Pure; time is handed in.

One connection cannot fill a line when its window is smaller than what the line holds, or when
packets are lost. The sign: there is always more to send, and yet nothing queues on the way, so the
round trip does not grow. Then the number of connections is doubled, as long as the rate doubles too
or the line becomes full. Connections that did not help are closed again and not tried for a while,
unless the rate falls far below what it was.
"""

from __future__ import annotations

from gcm.records import dataclass

MOST = 8
"""The most connections of one pair, including the first."""

FAR = 2e-3
"""Seconds of round trip from which a line can hold more than a window."""

ENOUGH = 1 << 20
"""Bytes that have to be waiting at each look: slower senders have nothing to gain."""

REST = 10.0
"""Seconds without that much waiting after which the pair returns to one connection."""

_QUEUED = 1.25  # times the shortest round trip: the line is full, and packets queue
_GAIN = 1.1  # times the rate before, for twice as many connections to have helped
_SETTLED = 1.1  # times the rate of the last look, up or down: still changing
_FALLEN = 0.7  # times the rate at which more did not help: conditions have changed
_OPENING = 5.0  # seconds for connections to open
_WARMING = 12  # round trips in which a connection finds its rate
_PAUSE, _LONGEST_PAUSE = 30.0, 600.0


@dataclass(frozen=True, slots=True)
class FlowSample:
    """One measurement of a pair: bytes `sent` so far, and bytes waiting; times are in seconds."""

    sent: int
    waiting: int
    round_trip: float
    shortest: float
    connections: int


class ScaleOut:
    """The decision for one direction of one pair.

    >>> scale_out = ScaleOut()
    >>> looks = [FlowSample(look * 10**6, 1 << 23, 0.0201, 0.02, 1) for look in range(4)]
    >>> [scale_out.update(flow, 0.1 * number) for number, flow in enumerate(looks)]
    [1, 1, 2, 2]
    """

    __slots__ = ("_barred_until", "_base", "_begin", "_in_vain", "_is_barred", "_kept", "_last",
                 "_most", "_pause", "_rate", "_used_at", "wanted")  # fmt: skip

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self.wanted = 1
        self._kept = 1  # the number that helped
        self._base = 0.0  # the rate without those on trial
        self._in_vain = 0.0  # the rate at which more did not help
        self._begin = 0.0  # when that number was requested
        self._last: tuple[float, int] | None = None  # time of the last look, bytes sent by then
        self._rate: float | None = None
        self._used_at = 0.0
        self._is_barred = False  # since the last step
        self._barred_until = 0.0
        self._pause = _PAUSE

    @staticmethod
    def interval(round_trip: float) -> float:
        """Return the seconds from one look to the next."""
        return max(0.1, 5 * round_trip)

    def update(self, flow: FlowSample, now: float) -> int:
        """Return how many connections there should be."""
        if flow.waiting < ENOUGH:
            self._forget()
            if now - self._used_at >= REST:
                self.wanted = 1
            return self.wanted
        self._used_at = now
        if self.wanted < self._kept:
            self._want(self._kept, now)
        if not self._are_warm(flow, now):
            self._forget()
            return self.wanted
        rate, before = self._measured(flow, now), self._rate
        self._rate = rate
        if rate and before and 1 / _SETTLED <= rate / before <= _SETTLED:
            self._decide(flow, (before + rate) / 2, now)
        return self.wanted

    def bar(self, now: float, there: int = MOST) -> None:
        """Return to the connections that helped and are `there`, and try no more for a while.

        A step is barred once, however many of its connections cannot be opened.
        """
        self.wanted = self._kept = min(self._kept, there)
        self._in_vain = 0.0
        if not self._is_barred or now >= self._barred_until:
            self._is_barred = True
            self._barred_until = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._forget()

    def narrow(self, now: float) -> None:
        """Return to one connection for a while: others need the room."""
        self.bar(now, 1)

    def _are_warm(self, flow: FlowSample, now: float) -> bool:
        """Return whether all requested connections are open and have found their rate."""
        if flow.connections < self.wanted:
            if now - self._begin >= _OPENING:
                self.bar(now, flow.connections)
            return False
        return self.wanted == 1 or now - self._begin >= _WARMING * flow.round_trip

    def _measured(self, flow: FlowSample, now: float) -> float | None:
        last, self._last = self._last, (now, flow.sent)
        if last is None or now <= last[0]:
            return None
        return (flow.sent - last[1]) / (now - last[0])

    def _decide(self, flow: FlowSample, rate: float, now: float) -> None:
        is_full = flow.round_trip >= _QUEUED * flow.shortest
        if self.wanted > self._kept:
            if rate < (1.0 if is_full else _GAIN) * self._base:
                self.bar(now)
                self._in_vain = self._base
                return
            self._kept = self.wanted
        is_barred = now < self._barred_until and rate >= _FALLEN * self._in_vain
        is_far = flow.round_trip >= FAR
        if is_far and not is_full and not is_barred and self.wanted < self._most:
            self._base = rate
            self._want(min(2 * self.wanted, self._most), now)

    def _want(self, count: int, now: float) -> None:
        self.wanted = count
        self._is_barred = False
        self._begin = now
        self._forget()

    def _forget(self) -> None:
        """Restart the measurement."""
        self._last = self._rate = None
