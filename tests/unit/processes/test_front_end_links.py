"""What a front-end takes from another one over a connection of their own."""

from __future__ import annotations

import queue
import socket
import threading
from typing import Any

import pytest

from gcm.invocation import Invocation
from runtime.processes.front_end.links import MOST, MOST_OF_ONE, FrontEndLinks
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.credentials import Credentials
from runtime.transport.messages import Target
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream

HERE, THERE = "0:1", "0:0"
CLUSTERING = "/grid/site0/cluster{}/clustering"
SECRET = bytes(16)


class Links:
    """The links of 0:1, and a channel of 0:0 to it."""

    def __init__(self, reactor: Reactor) -> None:
        self.passed: queue.Queue[Target | IncomingCall] = queue.Queue()
        credentials = Credentials(SECRET, HERE)
        self.links = FrontEndLinks(
            reactor, credentials, lambda _: (), self.passed.put, self.passed.put
        )
        ends = socket.socketpair()
        self.links.admit(ends[0], THERE, b"")
        self.channel = Channel(reactor, SocketStream(ends[1]), HERE).open()

    def say(self, path: str, interface: str, operation: str, *args: Any, client: str) -> None:
        self.channel.note(Invocation(path, interface, operation, args, client=client))

    def next(self) -> tuple[str, str]:
        said = self.passed.get(timeout=20)
        target = said.target if isinstance(said, IncomingCall) else said
        return target.client, target.operation


def test_a_front_end_is_heard_for_itself_and_its_own_ranks_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Reactor("front-end") as reactor:
        links = Links(reactor)
        rank = f"/ranks/{HERE}:0"
        own, other = (f"{CLUSTERING.format(n)}.health" for n in (0, 2))
        links.say(rank, "routes", "come", "1:0:0", client="1:0:0")
        links.say(rank, "mail", "deliver", f"{THERE}:0", client=f"{THERE}:0")
        links.say(CLUSTERING.format(1), "health-controller", "hear", "0:2", client=other)
        links.say("/front-end", "cluster-control", "kill_ranks", client="")
        links.say("/nodes/n0/#1", "routes", "step", client=f"{THERE}:0")
        links.say(rank, "code-routes", "come", f"{THERE}:0", client=f"{THERE}:0")
        links.say(CLUSTERING.format(1), "health-controller", "hear", THERE, client=own)
        assert [links.next(), links.next()] == [(f"{THERE}:0", "come"), (own, "hear")]
        assert links.passed.empty()
        assert links.links.way(THERE) is not None
        assert links.links.way("1:0") is None
        links.channel.close()
        links.links.close()
    for refused in ("routes.come", "mail.deliver", "health-controller.hear", "kill_ranks"):
        assert refused in caplog.text


def test_who_is_no_front_end_is_sent_away() -> None:
    with Reactor("front-end") as reactor:
        links = Links(reactor).links
        for name in ("0:0:1#1", "launcher", "/nodes/lab/rack/blade07"):
            near, far = socket.socketpair()
            links.admit(near, name, b"")
            assert far.recv(1) == b""
            far.close()
        links.close()


@pytest.mark.parametrize(("many", "dialling"), [(MOST, 0), (2, 1)])
def test_in_a_run_with_many_front_ends_none_connects_to_others(many: int, dialling: int) -> None:
    go_on = threading.Event()

    def find(_: str) -> tuple[str, ...]:
        go_on.wait(20)
        return ()

    with Reactor("front-end") as reactor:
        links = FrontEndLinks(reactor, Credentials(SECRET, HERE), find, _nobody, _nobody)
        links.connect(f"{site}:0" for site in range(many))
        begun = [one for one in threading.enumerate() if one.name == "links"]
        go_on.set()
        for one in begun:
            one.join(20)
    assert len(begun) == dialling


def test_who_has_a_link_is_not_dialled_and_who_has_lost_it_is_dialled_again() -> None:
    dialled: queue.Queue[str] = queue.Queue()

    def find(stop: str) -> tuple[str, ...]:
        dialled.put(stop)
        return ()

    with Reactor("front-end") as reactor:
        links = FrontEndLinks(reactor, Credentials(SECRET, HERE), find, _nobody, _nobody)
        near, far = socket.socketpair()
        links.admit(near, THERE, b"")
        everybody = [THERE, HERE, "0:2", "0:10", "1:0"]
        links.connect(everybody)
        # those behind it come first, since those before it dial themselves
        assert [dialled.get(timeout=20) for _ in range(3)] == ["0:2", "0:10", "1:0"]
        channel = links.way(THERE)
        assert channel is not None
        lost = threading.Event()
        channel.when_closed(lambda _: lost.set())
        far.close()
        assert lost.wait(20)
        links.connect([THERE])
        assert dialled.get(timeout=20) == THERE
        links.close()


def test_of_one_front_end_the_latest_links_are_kept() -> None:
    with Reactor("front-end") as reactor:
        links = FrontEndLinks(reactor, Credentials(SECRET, HERE), lambda _: (), _nobody, _nobody)
        pairs = [socket.socketpair() for _ in range(MOST_OF_ONE + 1)]
        for near, _ in pairs:
            links.admit(near, THERE, b"")
        oldest, *kept = [far for _, far in pairs]
        assert oldest.recv(1) == b""
        for far in kept:
            with pytest.raises(BlockingIOError):
                far.recv(1, socket.MSG_DONTWAIT)
        links.close()
        for _, far in pairs:
            far.close()


def _nobody(_: object) -> None:
    raise AssertionError("nobody calls")
