"""Round trips against ICMP, staging, derived data types and invocation (000 3.2, 003 tables)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from statistics import median

from benchmarks.evaluate.figure import Claim, Figure, Sample, Setting, untestable
from benchmarks.evaluate.runs import FLAT, OURS, TIMEOUT, by_each, grid_of
from benchmarks.grid.networks import ROOT
from benchmarks.measure import compare
from benchmarks.mpi_launch import Launch, output_of, told
from benchmarks.parts import Client, Server
from benchmarks.peers.icmp import inversions, round_trips
from benchmarks.peers.staging import SHAPES
from benchmarks.peers.staging import seconds as staging_seconds
from benchmarks.wire_measure import one_way
from gcm import running
from gcm.adl import Assembly

DATA_TYPES = ROOT / "benchmarks" / "evaluate" / "programs" / "data_types.py"


def rtt(setting: Setting) -> Iterator[Sample]:
    """Let a peer at Nancy measure the other sites, beside ICMP."""
    found = round_trips(20, periods=2 if setting.short else 5)
    for number, (site, _, echo, peer) in enumerate(found, 1):
        yield Sample(site, number, "ICMP", echo)
        yield Sample(site, number, "peer", peer)
    yield Sample("all", 0, "inversions", inversions(found))


def staging(setting: Setting) -> Iterator[Sample]:
    """Deliver a content to peers by all shapes."""
    size = 2 << 20 if setting.short else 8 << 20
    for peers in (4,) if setting.short else (2, 4, 8):
        for shape in setting.order([str(one) for one in SHAPES]):
            one = next(one for one in SHAPES if str(one) == shape)
            yield Sample("", peers, shape, staging_seconds(peers, size, 20e6, one))


def data_types(setting: Setting) -> Iterator[Sample]:
    """Send arrays of a type of 93 elements between two clusters, and the same bytes in a row."""
    words = ("0.1" if setting.short else "0.4",)
    with grid_of((2,)) as grid:

        def run(launch: Launch) -> str:
            return output_of(grid, launch, {"c0": 1, "c1": 1}, DATA_TYPES, words, timeout=TIMEOUT)

        for way in setting.order((OURS, FLAT)):
            for said, by in by_each(setting, way, run):
                for one in told(said):
                    yield Sample(one["what"], one["size"], way, median(one["seconds"]), by)


def invocation(setting: Setting) -> Iterator[Sample]:
    """Measure calls: direct, through a binding, in a new thread, and of another process."""
    plain = Client()
    plain.server = Server()

    def thread(times: int) -> None:
        for _ in range(times):
            made = threading.Thread(target=plain.server.echo, args=(1,))
            made.start()
            made.join()

    app = Assembly("app")
    app.primitive("client", Client)
    app.primitive("server", Server)
    app.bind("client.server", "server.echo")
    with running(app.assemble()) as root:
        bound = root.find("client").content
        cases = {"direct": plain.call, "through a binding": bound.call, "in a new thread": thread}
        found = compare(cases)
    for name in cases:
        calls = 1 if name == "in a new thread" else 10  # in each loop of a client
        yield Sample("local", 1, name, found.of(name) / calls)
    for way in setting.order(("component", "post")):
        trip = one_way(None, ("", ""), (1,), seconds=0.3, timeout=60.0, way=way)
        name = "remote component" if way == "component" else "remote message"
        yield Sample("remote", 1, name, 2 * trip[1])


FIGURES = (
    Figure(
        "round-trips", "Round trips that a peer at Nancy measures, and those of ICMP",
        ("000 table 3.2", "001 4 (legend)", "002 5 (text)"),
        "10.5 ms to Lyon to 17.1 ms to Sophia by ICMP; what peers measure should keep that order, "
        "but interleaves sites within 1.1 ms.",
        (
            Claim("a peer measures ≤ 1.2 × ICMP", "peer", 1.2, "ICMP"),
            Claim("the order of sites is the same", "inversions", 0.0),
        ),
        rtt, across="(number of the peer)", factor=1, seconds=330, is_long=True,
        remark="Real daemons, over emulated lines of these delays. The first peer is at Nancy too.",
    ),
    Figure(
        "staging", "Seconds until all peers have 8 MiB, at 20 MB/s for each host",
        ("000 3.2",),
        "files come from the submitter or a web server; no figure is measured.",
        (
            Claim("8 peers: a tree ≤ 0.5 × one after the other", "tree", 0.5, "push", sizes=(8,)),
            Claim("8 peers: a chain ≤ 0.4 × one after the other", "chain", 0.4, "push",
                  sizes=(8,)),
        ),
        staging, across="peers", unit="s", factor=1, needs_grid=False, seconds=60,
        remark="The staging services themselves; links are simulated by pauses.",
    ),
    Figure(
        "data-types", "Messages of a derived type of 93 elements, between two clusters",
        ("003 table 1", "003 2"),
        "12 and 96 kB between equal machines: 10 to 19 % and 78 to 81 % more bandwidth than "
        "MPICH; with byte order converted 586 to 1024 % more.",
        (
            Claim("a derived type ≤ 1.2 × flat MPI", OURS, 1.2, FLAT, ("derived",)),
            Claim("96 kB: derived ≤ 1.5 × the same bytes in a row",
                  f"{OURS}@derived", 1.5, f"{OURS}@contiguous", sizes=(95914,)),
            untestable("between byte orders ≤ 0.2 × MPICH",
                       "no host of another byte order is at hand"),
        ),
        data_types, unit="µs", factor=1e6, seconds=170,
        why_not="packing 96 kB takes longer than sending them, for flat MPI as well (2.3 times).",
        remark="Types travel without their gaps, packed by native MPI in the order of their "
        "elements. Sorting elements by type serves conversion only (external32), which ends of "
        "one byte order do not need.",
    ),
    Figure(
        "invocation", "Ways to invoke something",
        ("003 table 2",),
        "G_HCORE in milliseconds: direct 0.0021, new thread 0.189, by TCP 0.58 locally and 1.17 "
        "from another host, by UDP 0.32; Java RMI 1.406.",
        (
            Claim("through a binding ≤ 0.0021 ms", "through a binding", 2.1e-6),
            Claim("a new thread ≤ 0.189 ms", "in a new thread", 189e-6),
            Claim("a remote component ≤ 0.58 ms", "remote component", 580e-6),
        ),
        invocation, across="call", unit="µs", factor=1e6, seconds=60, needs_grid=False,
        remark="Remote is another process of this machine, by TCP on the loopback.",
    ),
)  # fmt: skip
