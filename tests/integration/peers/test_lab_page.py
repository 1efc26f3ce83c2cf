"""The page of a lab in a real browser."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from runtime.peers.watching.page import page
from runtime.peers.watching.server import PageServer
from runtime.peers.watching.view import view_of
from tests.unit.peers.test_watching import host, run, status

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""


@pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium")
def test_a_browser_shows_the_peers_and_the_replicas_of_a_run(tmp_path: Path) -> None:
    own = status("me", host("near", 0.4), host("far", 17.1), runs=(run("r", 1),),
                 ranks={"r": [[0, 0]]})  # fmt: skip
    far = status("far", runs=(run("r", 1),), ranks={"r": [[0, 1]]})
    with PageServer(lambda: page(view_of(own, [far]))) as server:
        thread = threading.Thread(target=server.serve)
        thread.start()
        options = ("--headless", "--no-sandbox", "--disable-gpu",
                   f"--user-data-dir={tmp_path}", "--enable-logging=stderr")  # fmt: skip
        try:
            done = subprocess.run(
                [CHROMIUM, *options, "--dump-dom", server.url],
                capture_output=True, text=True, timeout=120, check=True,
            )  # fmt: skip
        finally:
            server.close()
            thread.join()
    assert "<td>far (0.1), me (0.0)</td>" in done.stdout
    assert done.stdout.count("<circle cx=") == 3
    assert "Content Security Policy" not in done.stderr
