"""The page of a run in a real browser: what is on it while it goes on, and when it has ended."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.integration.deploy.conftest import Describe, Start

pytestmark = pytest.mark.mpi

CIRCLE = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
print("hello", world.rank, flush=True)
if world.rank < 3:
    world.recv(source=(world.rank + 1) % 3, tag=7)
world.Barrier()
"""


def address(line: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/#\S+", line)
    assert found is not None, line
    return found[0]


def test_a_deadlock_is_red_while_the_run_goes_on_and_the_end_is_shown(
    start: Start,
    describe: Describe,
    page: Page,
) -> None:
    grid = describe(CIRCLE, sites=2, ranks=2)
    run = start("--web", "--explain-waits", "1", "--run-timeout", "12", grid)
    assert run.stderr is not None
    url = address(run.stderr.readline())
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(url)
    expect(page).to_have_url(url.partition("#")[0])  # the token is gone from the address
    expect(page.locator("#connection")).to_contain_text("Live")
    expect(page.locator("button.rank.stuck")).to_have_count(4)
    marks = "all => all.map(one => getComputedStyle(one, '::after').content)"
    assert page.locator("button.rank").evaluate_all(marks) == ['"✗"'] * 4  # not by colour alone
    expect(page.locator("#timeline .legend li").last).to_have_text("stuck")
    expect(page.locator("#waits .edge.stuck")).to_have_count(3)
    expect(page.locator("#waits .error").first).to_contain_text("rank 0 (site0/cluster0 0) waits")
    expect(page.locator("#phase")).to_have_text("4 of 4 ranks can never go on")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400

    page.locator("#rank-0\\:0\\:0").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#details h3")).to_have_text("rank 1 (site0/cluster0 1)")
    expect(page.locator("#details")).to_contain_text("in recv from rank 2")
    page.locator("#filter").fill("rank 3")
    expect(page.locator("#lines div")).to_have_count(1)
    expect(page.locator("#lines div")).to_have_text("3 hello 3")
    expect(page.locator("#found")).to_have_text("1 of 4 lines")

    second = page.context.new_page()  # it has the token only if it gets the address
    second.goto(url.partition("#")[0])
    expect(second.locator("#connection")).to_contain_text("needs the address")
    run.communicate(timeout=60)
    expect(page.locator("#connection")).to_contain_text("how it ended")
    expect(page.locator("#phase")).to_have_text("exit code 124")
    expect(page.locator("#filter")).to_have_value("rank 3")


def test_a_report_has_what_a_check_has_found(
    start: Start, describe: Describe, page: Page, tmp_path: Path
) -> None:
    report = tmp_path / "run.html"
    text = "from mpi4py import MPI\nw = MPI.COMM_WORLD\nw.bcast(1, root=w.rank)\n"
    assert start("--check", "--report", str(report), describe(text, ranks=2)).wait(60) == 208
    page.goto(report.as_uri())
    cells = page.locator("#faults tbody td")
    expect(cells).to_have_count(4)
    expect(cells.nth(0)).to_have_text("collective")
    expect(cells.nth(1)).to_have_text("0, 1")
    expect(cells.nth(2)).to_contain_text("bcast of root 1 (program.py:3)")


def test_who_has_no_token_or_comes_from_elsewhere_gets_no_data(
    start: Start, describe: Describe
) -> None:
    run = start("--web", describe("import time; time.sleep(3)"))
    assert run.stderr is not None
    url, _, token = address(run.stderr.readline()).partition("#")
    host = url.removeprefix("http://").rstrip("/")

    def status(path: str, **headers: str) -> int:
        asked = urllib.request.Request(url + path, headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                assert "sha256-" in answer.headers["Content-Security-Policy"]
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            refused.close()
            return refused.code

    key = f"Bearer {token}"
    assert status("") == HTTPStatus.OK  # it shows nothing by itself
    assert status("events", Authorization=key) == HTTPStatus.OK
    assert status("events") == HTTPStatus.FORBIDDEN
    assert status("events", Authorization="Bearer x") == HTTPStatus.FORBIDDEN
    assert status("events", Authorization=key, Host="evil.example") == HTTPStatus.FORBIDDEN
    assert status("events", Authorization=key, Origin="http://evil.example") == HTTPStatus.FORBIDDEN
    assert status("events", Authorization=key, Origin=f"http://{host}") == HTTPStatus.OK
    assert status("other", Authorization=key) == HTTPStatus.NOT_FOUND
    assert run.wait(60) == 0


def test_strangers_that_connect_and_say_nothing_keep_no_browser_out(
    start: Start, describe: Describe
) -> None:
    run = start("--web", describe("import sys; sys.stdin.readline()"), stdin=subprocess.PIPE)
    assert run.stderr is not None
    url, _, token = address(run.stderr.readline()).partition("#")
    asked = urllib.request.Request(f"{url}events", headers={"Authorization": f"Bearer {token}"})
    door = "127.0.0.1", int(url.rstrip("/").rpartition(":")[2])
    with ExitStack() as stack:
        page = stack.enter_context(urllib.request.urlopen(asked, timeout=30))
        begun = time.monotonic()
        first, *others = (
            stack.enter_context(socket.create_connection(door, 30)) for _ in range(100)
        )
        assert first.recv(1) == b""  # hung up on for those that came later, not after 10 s
        assert time.monotonic() - begun < 10
        assert len(os.listdir(f"/proc/{run.pid}/fd")) < len(others)
        with urllib.request.urlopen(asked, timeout=30) as later:
            assert later.readline().startswith(b"data: ")
        run.communicate("\n", timeout=60)
        assert b"event: over" in page.read()
    assert run.returncode == 0


SENDING = """\
import sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
for step in range(5):
    world.Send(bytearray(1000), (world.rank + 1) % world.size)
    world.Recv(bytearray(1000))
print("done", world.rank, flush=True)
sys.stdin.readline()
"""


def followed_by(start: Start, process: int) -> tuple[subprocess.Popen[str], str]:
    """Return the command that shows the only run, or that one where others run, and its address."""
    for words in ((), (str(process),)):
        made = start("web", *words)
        assert made.stdout is not None
        if url := made.stdout.readline().strip():
            return made, url
        assert "runs: processes" in made.communicate(timeout=30)[1]
    raise AssertionError("it shows nothing")


def check_where_the_time_goes(page: Page) -> None:
    expect(page.locator("#went")).to_have_text(re.compile(r"^Of the time of 2 ranks \d+% was "))
    shares = page.locator("#shares tbody tr")
    expect(shares).to_have_count(2)
    expect(shares.first).to_contain_text("MB")
    assert page.locator("#timeline .s-mpi").count()
    for width in (400, 1200):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_run_that_has_begun_can_be_followed_and_its_figures_are_those_of_the_program(
    start: Start,
    describe: Describe,
    page: Page,
    tmp_path: Path,
) -> None:
    facts = tmp_path / "run.facts"
    grid = describe(SENDING, sites=2)
    run = start("--record", facts, grid, stdin=subprocess.PIPE)
    assert run.stdout is not None
    assert {run.stdout.readline() for _ in range(2)} == {"done 0\n", "done 1\n"}
    once, _ = start("top", "--once", str(run.pid)).communicate(timeout=30)
    assert re.search(r"cluster0 +running +[◌●]", once), once

    def followed() -> subprocess.Popen[str]:
        made, url = followed_by(start, run.pid)
        page.goto(url)
        expect(page.locator("button.rank.running, button.rank.waiting")).to_have_count(1)
        return made

    follower = followed()
    follower.send_signal(2)
    assert follower.wait(20) == 0
    expect(page.locator("#connection")).to_contain_text("has ended; what is shown may be old")
    follower = followed()
    run.communicate("\n", timeout=60)
    expect(page.locator("#phase")).to_have_text("exit code 0")
    follower.send_signal(2)
    assert follower.wait(20) == 0

    report = tmp_path / "run.html"
    assert start("view", "--report", str(report), str(facts)).wait(30) == 0
    page.goto(f"file://{report}")
    sent = page.locator("#traffic table").nth(1).locator("tbody tr")
    expect(sent).to_have_count(2)
    for row in range(2):  # five messages of a thousand bytes each
        expect(sent.nth(row).locator("td.number")).to_have_text(["5", "5.0 kB"])
    calls = page.locator("#calls tbody tr").filter(has_text="Send")
    assert calls.locator("td").nth(2).inner_text() == "10"
    check_where_the_time_goes(page)
    expect(page.locator("#flows .flow")).to_have_count(2)
    expect(page.locator("#heat text")).to_have_text(["0", "0", "1", "1", "to rank", "from rank"])
    expect(page.locator("#flows title").first).to_have_text(re.compile("cluster0 to .* [0-9.]+ kB"))
