"""A lab whose peers come and go: what supernodes know, what that costs in messages and memory."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

from benchmarks.peers.lab import Lab
from runtime.peers.latency import RttTable
from runtime.peers.membership import HostList, MemberTable, OwnRow, Row

ALIVE_EVERY, EXPIRE_AFTER, EXCHANGE_EVERY, REFRESH_EVERY = 20, 90.0, 5, 300
PING_EVERY, KNOWN_HOSTS = 10, 1000
"""The defaults of a peer's configuration."""

AWAY = 120
"""For how many seconds a peer is away."""


@dataclass(frozen=True)
class MembershipFound:
    """What a lab was like, under churn; messages count requests and answers."""

    peers: int
    messages: float
    bytes: float
    supernode_messages: float
    stale: float
    missing: float
    detection: float
    longest_detection: float
    peer_memory: float
    supernode_memory: float
    took: float


class MembershipRun:
    """Peers that tell supernodes that they are alive, and supernodes that tell each other."""

    def __init__(self, peers: int, churn: float, supernodes: int = 3) -> None:
        self._lab = Lab(peers)
        self._random = self._lab.random
        self._churn = churn
        self._tables = [MemberTable(f"s{number}", EXPIRE_AFTER) for number in range(supernodes)]
        self._own = [OwnRow(self._lab.peer(number)) for number in range(peers)]
        self._phase: list[list[int]] = [[] for _ in range(ALIVE_EVERY)]
        for number in range(peers):
            self._phase[self._random.randrange(ALIVE_EVERY)].append(number)
        self._back: dict[int, int] = {}  # who is away, and when it comes back
        self._died: dict[str, float] = {}
        self._detections: list[float] = []
        self._sent = self._told = 0

    def found(self, seconds: int) -> MembershipFound:
        """Let so many seconds pass after everybody is known; return what was seen."""
        begun = time.perf_counter()
        for now in range(ALIVE_EVERY):
            self._step(now)
        self._sent = self._told = 0
        stale, missing = [], []
        end = ALIVE_EVERY + seconds
        for now in range(ALIVE_EVERY, end):
            self._churn_at(now)
            self._step(now)
            if now > end - seconds // 2 and not now % 10:
                wrong = self._wrong()
                stale.append(wrong[0])
                missing.append(wrong[1])
        peers, minutes = self._lab.size, seconds / 60
        host_lists = 2 * 60 / REFRESH_EVERY
        pings = self._pings_of_a_peer()
        answer = len(json.dumps(self._lab.row(7).plain()))
        size_of_list = min(peers, KNOWN_HOSTS) * answer
        alive = self._sent / peers / minutes
        return MembershipFound(
            peers,
            messages=alive + host_lists + pings,
            bytes=alive * answer / 2 + host_lists / 2 * size_of_list + pings * 60,
            supernode_messages=(self._sent + self._told) / len(self._tables) / minutes / peers,
            stale=mean(stale),
            missing=mean(missing),
            detection=mean(self._detections or [0.0]),
            longest_detection=max(self._detections, default=0.0),
            peer_memory=_memory(self._peer, 10) if peers <= KNOWN_HOSTS else _memory(self._peer, 3),
            supernode_memory=_memory(self._table, 1) / peers,
            took=time.perf_counter() - begun,
        )

    def _step(self, now: int) -> None:
        for number in self._phase[now % ALIVE_EVERY]:
            if number not in self._back:
                own = self._own[number]
                table = self._tables[self._random.randrange(len(self._tables))]
                row = own.beat()
                known = table.known(row.name)
                if known is not None and known.version >= row.version:
                    own.take(known)
                    row = own.beat()
                table.take(row, 0.0, float(now))
                self._sent += 2
        if not now % EXCHANGE_EVERY:
            self._exchange(float(now))
            for row in self._tables[0].advance(float(now)):
                if died := self._died.pop(row.name, None):
                    self._detections.append(now - died)
            for table in self._tables[1:]:
                table.advance(float(now))

    def _exchange(self, now: float) -> None:
        """Let each two supernodes compare their tables, until neither has news for the other."""
        tables = self._tables
        for one in tables:
            for other in tables:
                if one is other:
                    continue
                while True:
                    news = one.news(other.identity, now)
                    other.compare(one.identity, news, now)
                    one.compare(other.identity, other.news(one.identity, now), now)
                    self._told += 2
                    if len(news["rows"]) < 2000:
                        break

    def _churn_at(self, now: int) -> None:
        for number in [one for one, back in self._back.items() if back <= now]:
            del self._back[number]
            self._died.pop(f"peer:h{number}", None)
            own = self._own[number]
            self._own[number] = OwnRow(own.peer, own.incarnation + 1)
        deaths = self._churn / 60 * self._lab.size
        for _ in range(int(deaths) + (self._random.random() < deaths % 1)):
            number = self._random.randrange(self._lab.size)
            if number not in self._back:
                self._back[number] = now + AWAY
                self._died[f"peer:h{number}"] = now

    def _wrong(self) -> tuple[float, float]:
        """Return which share of those that count as there is not, and of those there is missing."""
        living = {row.name for row in self._tables[-1].living}
        away = {f"peer:h{number}" for number in self._back}
        there = self._lab.size - len(away)
        return len(living & away) / len(living), 1 - len(living - away) / there

    def _pings_of_a_peer(self) -> float:
        """Return the messages of one peer in a minute of measuring, after its first quarter."""
        lab, table = self._lab, RttTable()
        known = [
            lab.target(one)
            for one in self._random.sample(range(1, lab.size), min(lab.size - 1, KNOWN_HOSTS))
        ]
        counts = []
        for number in range(180):
            now = float(number * PING_EVERY)
            found = table.next_targets(known, now, self._random.random)
            before = lab.pings
            for one in found:
                table.record(one, lab.sample(0, int(one.peer[1:])), now)
            counts.append(2 * (lab.pings - before))
        return mean(counts[90:]) * 60 / PING_EVERY

    def _peer(self) -> object:
        """Return what a peer keeps of others."""
        size, hosts, rtts = self._lab.size, HostList("peer:me", KNOWN_HOSTS), RttTable()
        chosen = self._random.sample(range(size), min(size, KNOWN_HOSTS))
        hosts.learn([Row.of(self._lab.row(one).plain())[0] for one in chosen], is_complete=True)
        for number, one in enumerate(chosen[: rtts.settings.most]):
            for again in range(rtts.settings.samples):
                rtts.record(self._lab.target(one), 0.01, float(number + again))
        return hosts, rtts

    def _table(self) -> object:
        """Return what a supernode keeps of all."""
        table = MemberTable("s", EXPIRE_AFTER)
        for number in range(self._lab.size):
            table.take(Row.of(self._lab.row(number).plain())[0], 0.0, 0.0)
        return table


def _memory(make: Callable[[], object], times: int) -> float:
    """Return the bytes that something takes."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    made = [make() for _ in range(times)]
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    del made
    return taken / times
