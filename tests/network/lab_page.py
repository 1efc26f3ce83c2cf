"""`python -m tests.network.lab_page FILE.png`: the page of a lab, as a browser shows it.

Nine peers at three sites, on emulated hosts, and a run of four ranks with two replicas each. Needs
root and Chromium.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.grid import EmulatedGrid, Layout, Line
from benchmarks.grid.peers import PEER, RUN, PeersOnHosts
from tools.on_grids import ROOT

LINES = {
    (0, 1): Line(delay=0.005, rate=1e9),
    (0, 2): Line(delay=0.009, rate=1e9),
    (1, 2): Line(delay=0.006, rate=1e9),
}
PROGRAM = """\
import time
from mpi4py import MPI
print(MPI.COMM_WORLD.allreduce(1), flush=True)
time.sleep(600)
"""
BROWSER = """\
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as driver:
    browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(sys.argv[1])
    page.locator("#runs tbody tr").wait_for()
    page.screenshot(path=sys.argv[2], full_page=True)
"""
SETTINGS = "processes = 1\nalive_every = 1\nrefresh_every = 2\nping_every = 1\n"


def main() -> None:
    """Start the lab and the run, wait until they are to be seen, and take the picture."""
    picture = Path(sys.argv[1]).resolve()
    with (
        tempfile.TemporaryDirectory() as folder,
        EmulatedGrid(Layout((4, 3, 2), between=LINES)) as grid,
    ):
        base, hosts = Path(folder), list(grid.clusters)
        lab = PeersOnHosts(grid, base, ["c0"], "c0", hosts, settings=SETTINGS)
        credential = lab.credential_of("alice")
        (lab.work / "program.py").write_text(PROGRAM)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "GCM_FOLDER": str(base / "gcm"),
            "GCM_CREDENTIAL": str(credential),
        }
        lab.start()
        run = grid.popen(
            "c0", [sys.executable, "-c", RUN, "-n", "4", "-r", "2", "--quiet", "program.py"],
            env=environment, cwd=str(lab.work), stdout=subprocess.PIPE,
        )  # fmt: skip
        web = grid.popen(
            "c0", [sys.executable, "-c", PEER, "web", "--folder", str(base / "c0")],
            env=environment, stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            assert run.stdout is not None
            assert web.stdout is not None
            assert run.stdout.readline() == "4\n"
            url = web.stdout.readline().strip()
            time.sleep(20)  # until round trips are the least of several
            _take(grid, url, picture)
        finally:
            run.terminate()
            web.terminate()
            run.communicate()
            web.communicate()
            lab.stop()


def _take(grid: EmulatedGrid, url: str, picture: Path) -> None:
    done = grid.run("c0", [sys.executable, "-c", BROWSER, url, str(picture)], timeout=120)
    if not picture.exists():
        sys.exit(done.stderr)


if __name__ == "__main__":
    main()
