"""The registry of codes and the mailboxes of all ranks, joined without any connection between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gcm.interfaces.future import Future
from runtime.code_port import PortLink
from runtime.coupling.directory import CodeDirectory
from runtime.coupling.mailbox import CouplingMailbox
from runtime.coupling.peers import Peers
from runtime.coupling.registry import CouplingRegistry
from runtime.machine.calls import stub
from runtime.machine.contracts import Coupling, CouplingNews, Mail
from runtime.machine.paths import COUPLING
from runtime.transport.frames import MOST_PARTS
from runtime.transport.messages import PLAIN_DATA

NAMES = {"a": [("0:0", 1)], "b": [("0:1", 1), ("1:0", 1)]}


class JoinedMailboxes:
    """The registry and the mailboxes of all ranks, joined without any connection between."""

    def __init__(
        self,
        driver: bool = False,
        running: tuple[str, ...] = ("a", "b"),
        names: Mapping[str, Sequence[tuple[str, int]]] = NAMES,
        links: Sequence[PortLink] = (),
    ) -> None:
        directory = CodeDirectory(names, driver, links)
        self.registry = CouplingRegistry(directory)
        self.registry.connect(self.news_to, self.mail_to("(driver)"), lambda _: None)
        self.boxes: dict[str, CouplingMailbox] = {}
        self.log: list[tuple[str, str]] = []
        self.told_where: list[tuple[str, str]] = []
        self.coupling = stub(Coupling, partial(self.call, "", COUPLING))
        for code in running:
            self.registry.began(code, 1)
        for clusters in names.values():
            for cluster, ranks in clusters:
                for rank in range(ranks):
                    self.join(f"{cluster}:{rank}")

    def join(self, identifier: str, incarnation: int = 1) -> CouplingMailbox:
        self.coupling.attach(identifier, incarnation, "", ("", ()))
        return self.boxes[f"/ranks/{identifier}"]

    def news_to(self, rank: str) -> CouplingNews:
        return stub(CouplingNews, partial(self.call, "", f"/ranks/{rank}"))

    def mail_to(self, sender: str) -> Callable[[str], Mail]:
        return lambda path: stub(Mail, partial(self.call, sender, path))

    def call(
        self, sender: str, path: str, interface: str, operation: str, args: tuple[Any, ...]
    ) -> None:
        self.log.append((path, operation))
        assert len(args) < MOST_PARTS  # for which a frame has room
        # What would be opened at the other end of a connection: plain data, and bytes of its own.
        args = PLAIN_DATA.load([bytes(one) for one in PLAIN_DATA.dump(args)])
        if operation == "welcome":
            me, incarnation, directory, states, _ = args
            peers = Peers(me, incarnation, CodeDirectory(*directory), states)
            name = path.removeprefix("/ranks/")
            self.boxes[path] = CouplingMailbox(peers, name, self.coupling, self.mail_to(name))
        elif operation == "here":
            self.told_where.append((path, args[0]["rank"]))
        elif path in self.boxes:
            getattr(self.boxes[path], operation)(*args)
        else:
            self.registry.handle_call(args[0], path, interface, operation, args)

    def __getitem__(self, identifier: str) -> CouplingMailbox:
        return self.boxes[f"/ranks/{identifier}"]


def later(work: Callable[[], Any]) -> Future[Any]:
    future: Future[Any] = Future("a wait")

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # the test looks at it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
