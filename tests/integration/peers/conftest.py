"""A lab, and listeners of its members on this machine."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.connections.listening import PeerListener
from runtime.peers.connections.serving import Services
from runtime.peers.contracts import LabMembership
from runtime.peers.credentials.authority import Authority
from runtime.peers.credentials.credential import Credential
from runtime.peers.model import Address, Principal
from tests.browser import browser, page  # noqa: F401 - fixtures

NOW = datetime.datetime.now(datetime.UTC)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the authority of a lab."""
    return Authority.create("ourlab", tmp_path_factory.mktemp("labs") / "ourlab", NOW)


@pytest.fixture(scope="session")
def invite(lab: Authority) -> Callable[[str], Credential]:
    """Return what makes a credential of the lab."""
    return lambda written: lab.invite(Principal.parse(written), NOW)


@pytest.fixture(scope="session")
def other_lab(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the authority of a lab with the same name."""
    return Authority.create("ourlab", tmp_path_factory.mktemp("labs") / "ourlab", NOW)


class Answering:
    """The membership of a listener that only answers."""

    def __init__(self) -> None:
        self.late = 0.0
        self.begun = threading.Event()

    def ping(self, caller: str) -> None:
        """Answer, as late as a busy host."""
        self.begun.set()
        time.sleep(self.late)

    def alive(self, caller: str, row: list[object]) -> dict[str, object]:
        raise ValueError("on purpose")

    def exchange(self, caller: str, news: dict[str, object]) -> dict[str, object]:
        return news

    def round_trips(self, caller: str, peers: list[object]) -> dict[str, object]:
        return {}

    def hosts(self, caller: str, most: int) -> dict[str, object]:
        return {"rows": [caller, most]}

    def leave(self, caller: str) -> None:
        """Do nothing."""


@pytest.fixture
def answering() -> Answering:
    """Return the membership of all listeners of a test."""
    return Answering()


@pytest.fixture
def listening(
    invite: Callable[[str], Credential], answering: Answering
) -> Iterator[Callable[..., Address]]:
    """Return what starts a listener of a member, and returns where."""
    with ExitStack() as stack:

        def start(written: str, **limits: Any) -> Address:
            listener = PeerListener(invite(written), "127.0.0.1", [0], **limits)
            stack.callback(listener.close)
            services = Services()
            services.serve(LabMembership, answering)
            listener.start(services)
            return Address("127.0.0.1", listener.port)

        yield start


@pytest.fixture
def alice(invite: Callable[[str], Credential]) -> MemberDialler:
    """Return what opens connections of a user."""
    return MemberDialler(invite("user:alice"))


@pytest.fixture
def own_network() -> Iterator[Sequence[str]]:
    """Yield how commands begin that have a network of their own, where all ports are free."""
    name = f"page-{os.getpid()}"
    made = ["ip", "netns", "add", name]
    done = shutil.which("ip") and subprocess.run(made, check=False, capture_output=True)
    if not done or done.returncode:
        yield ()
        return
    within = ["ip", "netns", "exec", name]
    try:
        subprocess.run([*within, "ip", "link", "set", "lo", "up"], check=True)
        yield within
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
