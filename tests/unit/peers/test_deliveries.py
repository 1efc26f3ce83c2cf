"""Deliveries to the very services of peers, in one process: caches, sources, deaths."""

from __future__ import annotations

import hashlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, cast

import pytest

from runtime.peers.contracts import Staging
from runtime.peers.errors import PeerUnreachable, Refused
from runtime.peers.model import Reason
from runtime.peers.staging.broadcast import Shape
from runtime.peers.staging.cache import ContentCache
from runtime.peers.staging.delivery import Receiver, StagedContent, deliver
from runtime.peers.staging.fetching import PIECE, PORTION, fetch
from runtime.peers.staging.service import StagingService

KEY = "0123456789abcdef0123456789abcdef"
CALLER = "user:ana"


@dataclass
class Lab:
    """Peers with caches of their own that reach each other by name until they die."""

    folder: Path
    limit: int = 1 << 30
    services: dict[str, StagingService] = field(default_factory=dict)
    dies_at: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str) -> Receiver:
        cache = ContentCache(self.folder / name, self.limit)
        self.services[name] = StagingService(cache, self.check, self.open_peer)
        return Receiver(name, f"{name}:7700", KEY, lambda: nullcontext(self.reach(name)))

    def check(self, caller: str, key: str) -> None:
        if (caller, key) != (CALLER, KEY):
            raise Refused("there is no reservation with this key", reason=Reason.UNKNOWN_KEY)

    @contextmanager
    def open_peer(self, name: str, address: str, digest: str) -> Iterator[Any]:
        assert address == f"{name}:7700"
        self.asked.append((name, digest))

        class Remote:
            def read(_, offset: int, most: int) -> bytes:
                return self.reach(name).get("peer:other", digest, offset, most)

        yield Remote()

    def reach(self, name: str) -> Staging:
        service = self.services[name]
        return Mortal(self, name) if name in self.dies_at else service

    def kill(self, name: str, size: int) -> None:
        """Let a peer die as soon as it has so many bytes of something."""
        self.dies_at[name] = size
        self.services[name].cache.append = partial(  # type: ignore[method-assign]
            self._append, name, self.services[name].cache.append
        )

    def _append(self, name: str, append: Callable[..., int], digest: str, *rest: Any) -> int:
        if self.services[name].cache.held(digest, CALLER) >= self.dies_at[name]:
            self.dies_at[name] = 0
            raise Died
        return append(digest, *rest)


class Died(BaseException):
    """What ends everything that a peer does just then."""


class Mortal:
    """The services of a peer that dies: whoever calls hears that it does not answer."""

    def __init__(self, lab: Lab, name: str) -> None:
        self._lab, self._name = lab, name

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        served = getattr(self._lab.services[self._name], operation)

        def call(*arguments: Any) -> Any:
            gone = PeerUnreachable(f"{self._name} does not answer")
            if not self._lab.dies_at[self._name]:
                raise gone
            try:
                return served(*arguments)
            except Died:
                raise gone from None

        return call


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture
def content(tmp_path: Path) -> StagedContent:
    path = tmp_path / "program.tar"
    path.write_bytes(bytes(range(256)) * 4096 * 4 + b"end")
    return StagedContent.of(path)


def has_it(lab: Lab, name: str, content: StagedContent) -> bool:
    found = lab.services[name].cache.path(content.digest)
    return found is not None and found.read_bytes() == content.path.read_bytes()


@pytest.mark.parametrize("shape", list(Shape))
def test_a_content_gets_to_all_peers_in_every_shape(
    lab: Lab, content: StagedContent, shape: Shape
) -> None:
    receivers = [lab.add(f"h{number}") for number in range(5)]
    arrived: list[str] = []
    failures = deliver(content, receivers, caller=CALLER, shape=shape, arrived=arrived.append)
    assert not failures
    assert all(has_it(lab, one.name, content) for one in receivers)
    assert sorted(arrived) == [one.name for one in receivers]
    assert bool(lab.asked) is (shape is not Shape.PUSH)


@pytest.mark.parametrize("victim", ["h0", "h1", "h3"])
def test_a_peer_that_dies_in_the_middle_is_named_and_all_others_get_the_content(
    lab: Lab, content: StagedContent, victim: str
) -> None:
    receivers = [lab.add(f"h{number}") for number in range(4)]
    lab.kill(victim, PIECE)
    failures = deliver(content, receivers, caller=CALLER)
    assert {name: "does not answer" in why for name, why in failures.items()} == {victim: True}
    assert all(has_it(lab, one.name, content) for one in receivers if one.name != victim)


def test_what_is_in_the_cache_is_not_sent_again(lab: Lab, content: StagedContent) -> None:
    receivers = [lab.add("h0"), lab.add("h1")]
    deliver(content, receivers[:1], caller=CALLER)
    content.path.rename(content.path.with_suffix(".gone"))  # nothing is read here any more
    assert not deliver(content, receivers, caller=CALLER)
    assert lab.services["h1"].cache.held(content.digest) == content.size


def test_a_peer_without_room_says_so_and_the_others_get_the_content(
    lab: Lab, content: StagedContent
) -> None:
    receivers = [lab.add("h0")]
    lab.limit = 100
    receivers += [lab.add("small")]
    lab.limit = 1 << 30
    receivers += [lab.add("h2")]
    failures = deliver(content, receivers, caller=CALLER)
    assert list(failures) == ["small"]
    assert "no room for files" in failures["small"]
    assert has_it(lab, "h2", content)


def test_a_peer_that_says_nothing_while_it_fetches_from_a_web_server_is_sent_the_content(
    lab: Lab, content: StagedContent
) -> None:
    class Hanging:
        def __init__(self) -> None:
            service = lab.services["h0"]
            self.held, self.put = service.held, service.put

        def fetch(self, *_: object) -> None:
            raise PeerUnreachable("h0 does not answer in time")

    lab.add("h0")
    hanging = Receiver("h0", "h0:7700", KEY, lambda: nullcontext(cast(Staging, Hanging())))
    assert not deliver(replace(content, url="http://example.org/data"), [hanging], caller=CALLER)
    assert has_it(lab, "h0", content)


def test_a_wrong_key_brings_nothing_anywhere(lab: Lab, content: StagedContent) -> None:
    wrong = Receiver("h0", "h0:7700", "f" * 32, lab.add("h0").open)
    failures = deliver(content, [wrong], caller=CALLER)
    assert "no reservation with this key" in failures["h0"]
    assert lab.services["h0"].cache.held(content.digest) == 0


def test_a_source_that_sends_something_else_is_left_for_the_next_one(
    lab: Lab, content: StagedContent
) -> None:
    lab.add("h0")
    lab.add("good")
    lab.add("bad")
    good, bad = lab.services["good"].cache, lab.services["bad"].cache
    data = content.path.read_bytes()
    good.append(content.digest, content.size, 0, data)
    whole = bad.folder / "whole" / content.digest
    whole.write_bytes(b"X" + data[1:])
    assert hashlib.sha256(whole.read_bytes()).hexdigest() != content.digest
    answer = lab.services["h0"].fetch(
        CALLER, KEY, content.plain(), ["peer:bad=bad:7700", "peer:good=good:7700"]
    )
    assert answer["source"] == "peer:good=good:7700"
    assert has_it(lab, "h0", content)


def test_an_interrupted_delivery_ends_the_calls_that_go_on(content: StagedContent) -> None:
    hung_up, pieces = threading.Event(), []

    class Slow:
        def held(self, *_: Any) -> list[int]:
            return [0]

        def put(self, caller: str, key: str, content: list[Any], offset: int, data: bytes) -> int:
            pieces.append(len(data))
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            assert hung_up.wait(20)
            raise PeerUnreachable("the connection ended")

    receiver = Receiver("h0", "h0:7700", KEY, lambda: nullcontext(Slow()), hung_up.set)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        deliver(content, [receiver], caller=CALLER)
    assert len(pieces) == 1


def test_a_fetch_is_asked_for_again_until_all_has_come(
    tmp_path: Path, content: StagedContent
) -> None:
    now, data = [0.0], content.path.read_bytes()
    offsets = []

    class Dripping:
        def read(self, offset: int, most: int) -> bytes:
            offsets.append(offset)
            now[0] += 0.9 * PORTION
            return data[offset : offset + most]

    cache = ContentCache(tmp_path / "h0", 1 << 30)
    found = []
    while cache.path(content.digest) is None:
        fetch(
            cache, content.digest, content.size, ["peer:h1=h1:7700"],
            lambda _: nullcontext(Dripping()), clock=lambda: now[0], sleep=lambda _: None,
        )  # fmt: skip
        found.append(cache.held(content.digest))
    assert len(offsets) == len(set(offsets)), "nothing is fetched twice"
    assert len(found) == ceil(len(offsets) / 2), "who has asked hears after two slow pieces"


@pytest.mark.parametrize("answers", [[1, 2, 3], [1, 1]], ids=["more each time", "no more"])
def test_who_waits_for_a_fetch_asks_on_while_more_comes(
    content: StagedContent, answers: list[int]
) -> None:
    told = iter(answers)

    class Fetching:
        def held(self, *_: Any) -> list[int]:
            return [0]

        def fetch(self, *_: Any) -> dict[str, Any]:
            part = next(told)
            return {"bytes": content.size if part == 3 else part, "source": "peer:h0"}

    class Holding:
        def held(self, *_: Any) -> list[int]:
            return [content.size]

    services: dict[str, Any] = {"h0": Holding(), "h1": Fetching()}
    receivers = [
        Receiver(name, f"{name}:7700", KEY, lambda one=one: nullcontext(one))  # type: ignore[misc]
        for name, one in services.items()
    ]
    failures = deliver(content, receivers, caller=CALLER)
    assert list(told) == []
    assert failures == ({} if len(answers) == 3 else {"h1": "h1 fetches, and does not get more"})


def test_a_peer_that_ends_fetches_nothing_more(lab: Lab, content: StagedContent) -> None:
    ending = threading.Event()

    class Dripping:
        def __init__(self) -> None:
            self.pieces = 0

        def read(self, offset: int, most: int) -> bytes:
            self.pieces += 1
            ending.set()
            return content.path.read_bytes()[offset : offset + 1]

    source = Dripping()
    cache = ContentCache(lab.folder / "h0", lab.limit)
    service = StagingService(cache, lab.check, lambda *_: nullcontext(source), ending)
    with pytest.raises(Refused, match="is about to end"):
        service.fetch(CALLER, KEY, content.plain(), ["peer:h1=h1:7700", "peer:h2=h2:7700"])
    assert source.pieces == 1


def test_a_peer_whose_answers_make_no_sense_is_named_and_nobody_waits_for_it(
    lab: Lab, content: StagedContent
) -> None:
    class Senseless:
        def held(self, *_: object) -> list[int]:
            return []

        def put(self, *_: object) -> None: ...

    senseless = cast(Staging, Senseless())
    strange = Receiver("strange", "strange:7700", KEY, lambda: nullcontext(senseless))
    failures = deliver(content, [strange, lab.add("desk")], caller=CALLER, shape=Shape.PUSH)
    assert list(failures) == ["strange"]
    assert has_it(lab, "desk", content)
