"""What a submitter brings to peers: inputs of a real web server, and packed programs."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.deployment.model import BookedPeer
from runtime.peers.errors import PeerError
from runtime.peers.staging.broadcast import Shape
from runtime.peers.staging.cache import ContentCache, path_in
from runtime.peers.staging.service import StagingService
from runtime.peers.staging.web import open_web_source
from runtime.peers.submission.programs import StagedPrograms
from runtime.peers.submission.web_contents import WebContents, web_addresses
from runtime.web_address import WebAddress
from tests.integration.launchers.conftest import JoinedGuard

TEXT = "of the web"
BOOKED = [[BookedPeer("h1", "10.0.0.1", 1), BookedPeer("h2", "10.0.0.2", 1)]]


class _Pages(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Bench:
    """A web server, a program here, and the services of two booked peers in this process."""

    def __init__(self, folder: Path, url: str, kept: ExitStack) -> None:
        self.url = url
        self._folder = folder
        self._kept = kept
        self._services: dict[str, StagingService] = {}
        for name in ("h1", "h2"):
            cache = ContentCache(folder / name, 1 << 30)
            self._services[name] = StagingService(
                cache, lambda *_: None, _no_peer, open_web=open_web_source
            )

    def programs(self, plan: DeploymentPlan) -> StagedPrograms:
        lab = SimpleNamespace(me="user:ana", address_of=str, connect=self._connect)
        booking = SimpleNamespace(lab=lab, keys={"h1": "key", "h2": "key"})
        web = self._kept.enter_context(WebContents(web_addresses(plan.deployment)))
        return self._kept.enter_context(StagedPrograms(cast(Any, booking), Shape.TREE, web))

    def plan(self, *names: str) -> DeploymentPlan:
        """Return the plan of a program whose clusters get the file under one name each."""
        (self._folder / "program").mkdir()
        (self._folder / "program/a.py").write_text("pass")
        moves = "".join(
            f'<file-transfer direction="in" source="{self.url}/data.txt" destination="{name}"/>'
            for name in names
        )
        text = f'<deployment><application script="a.py"/>{moves}<peers ranks="2"/></deployment>'
        surroundings = DescriptorContext(str(self._folder / "program"), booked=BOOKED)
        found = read_descriptor(
            text.encode(), name="a.xml", surroundings=surroundings, diagnostics=Diagnostics()
        )
        assert found is not None
        clusters = [one.position for one in found.clusters()]
        apart = [
            replace(one, clusters=(at,)) for one, at in zip(found.transfers, clusters, strict=False)
        ]
        return make_plan(replace(found, transfers=tuple(apart)))

    def _connect(self, peer: str) -> Any:
        return nullcontext(_Connection(self._services[peer], self._kept))


class _Connection:
    """A connection on which calls are made in this process."""

    def __init__(self, service: StagingService, kept: ExitStack) -> None:
        self._service, self._kept = service, kept

    def detach(self) -> socket.socket:
        return self._kept.enter_context(socket.socket(socket.AF_UNIX))

    def stub(self, *_: object) -> StagingService:
        return self._service


def _no_peer(name: str, address: str, digest: str) -> NoReturn:
    raise PeerError(f"there is no peer {name} at {address} with {digest[:4]}")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    pages = tmp_path / "web"
    pages.mkdir()
    (pages / "data.txt").write_text(TEXT)
    handler = partial(_Pages, directory=str(pages))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, ExitStack() as kept:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield Bench(tmp_path, f"http://127.0.0.1:{server.server_port}", kept)
        finally:
            server.shutdown()
            thread.join()


def test_peers_that_get_one_content_under_different_names_all_have_it(bench: Bench) -> None:
    plan = bench.plan("x.txt", "y.txt")
    programs = bench.programs(plan)
    assert not programs.bring(plan, lambda _: None)
    address = WebAddress.parse(f"{bench.url}/data.txt")
    at = {peer: programs.stored(peer, "/cache", {name: address})
          for peer, name in (("h1", "x.txt"), ("h2", "y.txt"))}  # fmt: skip
    assert at["h1"] == at["h2"] != ""


def test_what_a_peer_has_lost_of_a_web_server_is_sent_from_here(
    bench: Bench, tmp_path: Path
) -> None:
    programs = bench.programs(bench.plan("x.txt", "y.txt"))
    files = {"in/x.txt": WebAddress.parse(f"{bench.url}/data.txt")}
    lost = path_in(str(tmp_path), "0" * 64)
    with JoinedGuard(lambda _: lost, programs.here) as launcher:
        folder = launcher.make_folder()
        launcher.stage(files, folder)
        assert Path(folder, "in/x.txt").read_text() == TEXT


def test_a_submitter_without_room_for_a_packed_program_is_told_where(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = bench.plan()
    monkeypatch.setattr(tempfile, "TemporaryFile", partial(open, "/dev/full", "r+b"))
    with (
        pytest.raises(PeerError, match="cannot be kept here") as raised,
        bench.programs(plan) as programs,
    ):
        programs.bring(plan, lambda _: None)
    assert raised.value.place == tempfile.gettempdir()
    assert "TMPDIR" in raised.value.cure
