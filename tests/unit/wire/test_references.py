"""How many connections a rank keeps, and which of them it lets rest."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Mapping

import pytest

from runtime.routing import ReferenceCache
from runtime.transport.credentials import Credentials
from runtime.wire import Traffic
from runtime.wire.dialling.connecting import DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.references import FEW, ReferenceController
from runtime.wire.errors import PeerLost

SECRET = b"a secret of a test of references"
DIRECTORY = RankDirectory((Party("0:0:0"), Party("0:1:0"), Party("0:1:1"), Party("1:0:0")))


class Kept:
    """Connections that can all rest, of which some may be in use."""

    def __init__(self) -> None:
        self.carried: dict[int, int] = {}
        self.busy: set[int] = set()
        self.lanes = 0

    def connected(self) -> dict[int, int]:
        return self.carried

    def rest(self, peer: int) -> bool:
        if peer in self.busy:
            return False
        del self.carried[peer]
        return True

    def narrow(self) -> None:
        self.lanes = 0


class NoMore:
    """Bounds connections in place of the usual cache: only that to the highest rank stays."""

    def __init__(self, usual: ReferenceCache) -> None:
        self.most = usual.most

    def make_room(
        self, carried: Mapping[int, int], rest: Callable[[int], bool], *, more: int = 0
    ) -> list[int]:
        rested = sorted(carried)[: len(carried) + more - 1]
        return [peer for peer in rested if rest(peer)]


def test_another_bound_is_asked_for_every_connection(files: int) -> None:
    made = ReferenceController(DirectConnector(0, DIRECTORY, Credentials(SECRET, "0:0:0")), NoMore)
    kept = Kept()
    opened(made, kept, 1, 2)
    assert set(kept.carried) == {2}
    assert made.figures({})["evictions"] == 1


def references() -> ReferenceController:
    return ReferenceController(DirectConnector(0, DIRECTORY, Credentials(SECRET, "0:0:0")))


def opened(made: ReferenceController, kept: Kept, *peers: int) -> None:
    made.keeper = kept
    for peer in peers:
        kept.carried = {**kept.carried, peer: 0}
        made.joined(peer, is_dialled=True)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Allow this process few files."""
    monkeypatch.delenv("GCM_MOST_CONNECTIONS", raising=False)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    yield 200
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_some_of_the_files_that_a_process_may_open_are_kept_free(files: int) -> None:
    made, kept = references(), Kept()
    opened(made, kept, *range(1000, 1000 + files - 128))
    assert made.figures({})["evictions"] == 0
    opened(made, kept, 2000)
    assert 1000 not in kept.carried
    assert len(kept.carried) == files - 128
    assert made.figures({})["evictions"] == 1


def test_few_connections_are_always_allowed(files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files // 2, hard))
    made, kept = references(), Kept()
    opened(made, kept, *range(FEW + 1))
    assert len(kept.carried) == FEW
    monkeypatch.setenv("GCM_MOST_CONNECTIONS", "2")
    made, kept = references(), Kept()
    opened(made, kept, 1, 2, 3)
    assert list(kept.carried) == [2, 3]


def test_room_is_made_before_a_connection_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCM_MOST_CONNECTIONS", "2")
    made, kept = references(), Kept()
    opened(made, kept, 1, 2)
    kept.busy = {1}
    with pytest.raises(PeerLost):
        made.connect(3, 0.0)
    assert list(kept.carried) == [1]
    assert made.figures({}) == {
        "tries": 1, "failures": 1, "hits": 0, "misses": 1, "evictions": 1,
        "resumptions": 0, "lanes": 0,
    }  # fmt: skip


def test_what_was_sent_is_added_up_by_cluster_and_route() -> None:
    made = references()
    opened(made, Kept(), 1, 2)
    made.joined(3, is_dialled=False)
    traffic = {peer: Traffic(peer, 10 * peer, 0, 0, 1) for peer in (1, 2, 3)}
    assert made.rows(traffic, DIRECTORY) == [("0:1", (), 2, 3, 30), ("1:0", None, 1, 3, 30)]
    made.joined(2, is_dialled=False)  # the peer has opened another one
    assert made.rows(traffic, DIRECTORY)[:2] == [("0:1", (), 1, 1, 10), ("0:1", None, 1, 2, 20)]


def test_lanes_have_room_as_long_as_there_are_less_connections_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GCM_MOST_CONNECTIONS", "3")
    made, kept = references(), Kept()
    assert made.has_room()
    opened(made, kept, 1)
    kept.lanes = 1
    assert made.has_room()
    kept.lanes = 2
    assert not made.has_room()
    with pytest.raises(PeerLost, match="no room for one more connection"):
        made.again(1, 0.0)


def test_what_waits_for_a_connection_that_never_came_went_by_no_route() -> None:
    made = references()
    made.joined(1, is_dialled=True)
    traffic = {
        1: Traffic(2, 20, 0, 0, connections=1),
        2: Traffic(3, 30, 0, 0, connections=0),
    }
    (row,) = made.rows(traffic, DIRECTORY)
    assert row[1:] == ((), 1, 2, 20)
