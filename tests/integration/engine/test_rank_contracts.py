"""What a rank may tell its front-end: plain data, in its own name, by a contract."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from gcm.invocation import Invocation
from runtime.machine.calls import DispatchTable, stub
from runtime.machine.contracts import Facts, Health, Membership, Routes
from runtime.machine.rank_settings import RankSettings
from runtime.membership import rank_link
from runtime.membership.rank_link import RankLink
from runtime.membership.run_directory import Bootstrap, write_key
from runtime.processes.front_end import gate
from runtime.processes.front_end.gate import Gate
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.credentials import Credentials
from runtime.transport.keys import RunKeys, audience_of, member_name
from runtime.transport.lean import dial
from runtime.transport.messages import Target
from runtime.transport.queued import MemoryStream
from runtime.transport.reactor import Reactor

SECRET = b"a secret of a test of contracts"
KEYS = RunKeys(SECRET).keyring([audience_of("0:0"), audience_of("0:0:0")])
RANKS = ["0:0:0", "0:0:1", "0:0:2"]
PATIENCE = 20.0


class FrontEnd:
    """A gate, and what ranks tell through it."""

    def __init__(self, reactor: Reactor, run_directory: str, port: int | None = None) -> None:
        self.heard: SimpleQueue[tuple[str, list[Facts]]] = SimpleQueue()
        dispatch = DispatchTable()
        dispatch.serve(Membership, self)
        dispatch.serve(Health, self)
        self.left: list[str] = []
        self.all_have_left = threading.Event()
        self.is_reached = threading.Event()
        self.passed_on: list[tuple[str, str]] = []
        here, there = MemoryStream.pair()
        Channel(reactor, there, "here", self.further).open()
        onward = Channel(reactor, here, "further").open()
        known = Credentials(KEYS, "0:0")

        def relay(target: Target) -> Channel | None:
            return onward if target.component == "/ranks/1:0:0" else None

        self.gate = Gate(
            reactor,
            run_directory,
            port,
            known,
            self,
            dispatch=dispatch,
            ranks=RANKS,
            incarnation=2,
            relay=relay,
        )
        here_only = self.gate.address.replace(socket.gethostname(), "127.0.0.1")
        write_key(run_directory, RANKS, Bootstrap(here_only, (), 2, KEYS))

    def calls(
        self, interface: str, operation: str, *args: Any, path: str = "/grid", client: str = ""
    ) -> None:
        assert self.is_reached.wait(timeout=30)
        channel = self.gate.find("0:0:1")
        assert channel is not None
        channel.note(Invocation(path, interface, operation, args, client=client))

    def further(self, request: IncomingCall) -> None:
        self.passed_on.append((request.target.component, request.target.client))

    def ready(self, member: str, reports: list[Facts]) -> None:
        self.heard.put((member, reports))

    def rank_here(self, rank: str, channel: Channel) -> None:
        self.is_reached.set()

    def rank_left(self, rank: str, *, is_silence: bool) -> None:
        self.left.append(rank)

    def all_left(self) -> None:
        self.all_have_left.set()

    def hear(self, *_: Any) -> None:
        """Take what a rank says of its health."""

    contribute = ended = unable = aborted = replace = suspects = trusts = waiting = hear
    awaits_end = hear


class Runs:
    """Runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self._command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self._command,)


@pytest.fixture
def front_end(tmp_path: Path) -> Iterator[FrontEnd]:
    with ExitStack() as stack:
        made = FrontEnd(stack.enter_context(Reactor()), str(tmp_path))
        stack.callback(made.gate.close)
        yield made


@pytest.fixture
def link(front_end: FrontEnd, tmp_path: Path) -> Iterator[RankLink]:
    made = RankLink(str(tmp_path), "0:0:1")
    yield made
    made._channel.close()


@pytest.mark.parametrize(
    ("last_word", "left"),
    [
        (("health", "ended", 0, ""), []),
        (("appeals", "suspects", "0:0:0#1", "no way"), ["0:0:1"]),
        ((), ["0:0:1"]),
    ],
)
def test_a_rank_has_left_without_a_word_unless_it_has_said_how_it_ends(
    front_end: FrontEnd, link: RankLink, last_word: tuple[Any, ...], left: list[str]
) -> None:
    if last_word:
        contract, operation, *args = last_word
        getattr(getattr(link.wrapper, contract), operation)(link.name, *args)
    link._channel.close()
    assert front_end.all_have_left.wait(PATIENCE)
    assert front_end.left == left


def test_a_rank_that_reads_nothing_for_long_has_a_host_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "HOST_SILENCE", 2.0)
    text = bytes(16 << 20)  # more than the system keeps on its way
    with ExitStack() as stack:
        reactor = stack.enter_context(Reactor())
        front_end = FrontEnd(reactor, str(tmp_path), port=0)
        stack.callback(front_end.gate.close)
        link = RankLink(str(tmp_path), "0:0:1")
        link.wrapper.membership.ready(link.name, [])
        front_end.heard.get(timeout=PATIENCE)
        reactor.soon(lambda: front_end.calls("views", "view", text))
        reactor.soon(lambda: front_end.calls("control", "go"))
        assert not front_end.all_have_left.wait(4.0)
        link.wait_for_go()
        assert link.wrapper.table == text
        link._channel.close()


def test_a_front_end_that_reads_nothing_for_long_has_a_host_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_link, "HOST_SILENCE", 2.0)
    text = bytes(16 << 20)  # more than the system keeps on its way
    with ExitStack() as stack:
        reactor = stack.enter_context(Reactor())
        front_end = FrontEnd(reactor, str(tmp_path), port=0)
        stack.callback(front_end.gate.close)
        link = RankLink(str(tmp_path), "0:0:1")
        stack.callback(link._channel.close)
        may_go_on, has_ended = threading.Event(), threading.Event()
        reactor.soon(lambda: may_go_on.wait(PATIENCE))  # as if it were stopped
        report = [{"text": text}]
        sending = threading.Thread(target=link.wrapper.membership.ready, args=(link.name, report))
        listening = threading.Thread(target=link.listen, args=(has_ended.set,))
        for thread in (sending, listening):
            thread.start()
            stack.callback(thread.join, PATIENCE)
        assert not has_ended.wait(4.0)
        assert sending.is_alive()
        may_go_on.set()
        assert front_end.heard.get(timeout=PATIENCE) == (link.name, report)
        channel = front_end.gate.find(link.name)
        assert channel is not None
        channel.close()
        assert has_ended.wait(PATIENCE)


def test_a_rank_cannot_run_code_in_its_front_end(
    front_end: FrontEnd, link: RankLink, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    planted: Any = [Runs(f"touch {tmp_path}/was-here")]
    link.wrapper.membership.ready(link.name, planted)
    link.wrapper.membership.ready(link.name, [{"size": 2}])
    assert front_end.heard.get(timeout=PATIENCE) == ("0:0:1", [{"size": 2}])
    assert not (tmp_path / "was-here").exists()
    assert "plain data is expected here" in caplog.text


def test_a_rank_speaks_in_its_own_name_only(
    front_end: FrontEnd, link: RankLink, caplog: pytest.LogCaptureFixture
) -> None:
    link.wrapper.membership.ready("0:0:0", [])
    link.wrapper.membership.ready(link.name, [])
    assert front_end.heard.get(timeout=PATIENCE) == ("0:0:1", [])
    assert "in the name of another member" in caplog.text


def test_an_operation_that_no_contract_has_is_refused_and_the_rank_goes_on(
    front_end: FrontEnd, link: RankLink, caplog: pytest.LogCaptureFixture
) -> None:
    link._call_above("membership", "__init__", (link.name,))
    link.wrapper.membership.ready(link.name, [])
    assert front_end.heard.get(timeout=PATIENCE)[0] == "0:0:1"
    assert "nothing here serves membership.__init__" in caplog.text


def test_a_rank_waits_until_it_is_told_what_it_needs(front_end: FrontEnd, link: RankLink) -> None:
    waiting = threading.Thread(target=link.wait_for_go)
    waiting.start()
    link.wrapper.membership.ready(link.name, [])
    front_end.heard.get(timeout=PATIENCE)
    front_end.calls("views", "view", b"table")
    settings = RankSettings(plans="tree", line_times=(2.0, 1.0))
    front_end.calls("control", "configure", settings.plain(), [])
    front_end.calls("control", "go")
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    told = link.wrapper
    assert (told.table, told.settings, told.found_routes) == (b"table", settings, [])


def test_a_rank_is_steered_by_its_front_end_and_not_by_other_ranks(
    front_end: FrontEnd, link: RankLink, caplog: pytest.LogCaptureFixture
) -> None:
    another = {"path": "/ranks/0:0:1", "client": "1:0:0"}
    front_end.calls("control", "stop", **another)
    front_end.calls("coupling-news", "ended", "ocean", "not true", **another)
    front_end.calls("routes", "come", "1:0:1", **another)
    front_end.calls("routes", "come", "1:0:0", **another)
    front_end.calls("control", "go")
    link.wait_for_go()
    heard: list[Any] = []
    link.wrapper.attach(stub(Routes, lambda _, *call: heard.append(call)))
    assert heard == [("come", ("1:0:0",))]
    assert "another rank may not call control.stop" in caplog.text
    assert "1:0:0 may not call coupling-news.ended" in caplog.text
    assert "1:0:0 calls routes.come as ('1:0:1',)" in caplog.text


def test_a_rank_sends_to_others_in_its_own_name_only(
    front_end: FrontEnd, link: RankLink, caplog: pytest.LogCaptureFixture
) -> None:
    link._note(Target("/ranks/1:0:0", "routes", "come", "0:0:0"), ("0:0:0",))
    link.to(Routes, "/ranks/1:0:0").come(link.name)
    link.wrapper.membership.ready(link.name, [])
    assert front_end.heard.get(timeout=PATIENCE)[0] == "0:0:1"
    assert front_end.passed_on == [("/ranks/1:0:0", "0:0:1")]
    assert "calls /ranks/1:0:0.routes.come in the name of '0:0:0'" in caplog.text


def test_a_rank_is_let_in_once_and_in_its_present_incarnation(
    front_end: FrontEnd, link: RankLink, caplog: pytest.LogCaptureFixture
) -> None:
    def dialled(rank: str, incarnation: int) -> socket.socket:
        """Return a connection of a rank that has the right tickets for its name."""
        name = member_name(rank, incarnation)
        keys = KEYS.of(name, (audience_of(rank),), ("front-end ",))
        bare, _, _ = dial(front_end.gate.address, Credentials(keys, name), peer="0:0")
        made = socket.socket(fileno=bare.detach())
        made.settimeout(PATIENCE)
        return made

    # It is here; it was frozen and is awake again; there is no such rank.
    for rank, incarnation in (("0:0:1", 2), ("0:0:2", 1), ("0:0:9", 2)):
        with dialled(rank, incarnation) as refused:
            assert refused.recv(1) == b""
        assert f"{rank}#{incarnation} was refused: it is not a rank that is expected" in caplog.text
    fresh = RankLink(link._run_directory, "0:0:2")
    fresh.wrapper.membership.ready(fresh.name, [])
    assert front_end.heard.get(timeout=PATIENCE)[0] == "0:0:2"
    fresh._channel.close()
