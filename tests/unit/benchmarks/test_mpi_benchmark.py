from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import cast
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from benchmarks import mpi, pictures, plots, wire
from benchmarks.grid import EmulatedGrid, Layout, Line
from benchmarks.mpi_floor import crossings, floor, least_bytes
from benchmarks.mpi_goals import against_native
from benchmarks.mpi_launch import RANKS_PROGRAM, Mpich, OpenMpi, Ours, told
from benchmarks.mpi_rows import Found, Row, size_of
from benchmarks.mpi_scenarios import SCENARIOS, Scenario
from benchmarks.mpi_show import show
from benchmarks.wire_measure import keep_best, medians
from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, read_descriptor

MIB = 1 << 20


class Clusters:
    """What the launches need of a grid, without one."""

    def __init__(self, layout: Layout) -> None:
        self.clusters = {one.name: one for one in layout.clusters}


@pytest.fixture
def grid() -> EmulatedGrid:
    return cast("EmulatedGrid", Clusters(Layout((2, 1))))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("barrier", {(0, 1): 1, (1, 0): 1}),
        ("bcast", {(0, 1): 10}),
        ("gather", {(1, 0): 30}),
        ("allreduce", {(0, 1): 10, (1, 0): 10}),
        ("allgather", {(0, 1): 20, (1, 0): 30}),
        ("alltoall", {(0, 1): 60, (1, 0): 60}),
    ],
)
def test_no_fewer_bytes_have_to_cross(name: str, expected: dict[tuple[int, int], int]) -> None:
    assert crossings(name, 10, (2, 3)) == expected


def test_the_floor_is_the_slowest_crossing() -> None:
    def crossing_time(one: int, other: int, count: int) -> float:
        return count * (2.0 if {one, other} == {1, 2} else 1.0)

    assert floor("allgather", 1, (3, 1, 2), crossing_time) == 4.0


def test_a_collective_without_a_floor_is_refused() -> None:
    with pytest.raises(ValueError, match="'scan' is not known"):
        least_bytes("scan", 1, 1, 1, from_root=False, to_root=False)


def test_figures_are_found_among_other_lines() -> None:
    figure = {"what": "bcast", "size": 8, "seconds": [1.0, 3.0, 2.0]}
    output = f'a warning\n{json.dumps(figure)}\n{{"what": "cut o'
    assert told(output) == [figure]
    assert medians(told(output)) == {8: 2.0}


def test_the_best_of_several_turns_is_kept() -> None:
    kept = {1: 5.0}
    keep_best(kept, {1: 6.0, 2: 1.0})
    keep_best(kept, {1: 4.0})
    assert kept == {1: 4.0, 2: 1.0}


def test_a_goal_is_met_near_the_floor_and_ahead_of_slower_peers() -> None:
    def judged(**columns: float) -> bool | None:
        return Row("bcast", 8, 1.0, columns).is_met

    assert judged(ours=1.3) is True
    assert judged(ours=1.31) is False
    assert judged(ours=1.3, peer=1.2) is True  # both near the floor
    assert judged(ours=1.29, peer=1.31) is True
    assert judged(peer=1.2) is None
    assert Row("bcast", 8, None, {"ours": 1.0}).is_met is None


def test_ratios_are_told_against_the_fastest_peer() -> None:
    row = Row("bcast", 8, 2.0, {"ours": 3.0, "one": 6.0, "other": 4.0})
    assert (row.over_floor, row.best_peer, row.over_peer) == (1.5, 4.0, 0.75)
    assert (Row("bcast", 8, 2.0, {"ours": 3.0}).best_peer) is None


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, ""),
        (1, "1 B"),
        (1000, "1000 B"),
        (1025, "1025 B"),
        (65536, "64 KiB"),
        (1 << 30, "1 GiB"),
    ],
)
def test_sizes_are_written_as_people_do(size: int, text: str) -> None:
    assert size_of(size) == text


def test_a_table_tells_figures_goals_and_what_went_wrong() -> None:
    rows = [
        Row("bcast", 8, 0.005, {"ours": 0.006, "MPICH": 0.010}),
        Row("bcast", MIB, 0.010, {"MPICH": 0.011}),
        Row("memory", 0, None, {"ours": 25e6}, "B"),
    ]
    found = Found("x", "Title", rows, True, {"Open MPI": "not [installed]"}, late=0.01)
    out = io.StringIO()
    show(found, Console(file=out, width=200))
    text = out.getvalue()
    for part in ("Title", "bcast 1 MiB", "6 ms", "1.20 x", "0.60 x", "met", "25.0 MB"):
        assert part in text
    assert "Open MPI: not [installed]" in text
    assert "packets were 10 ms late on average" in text
    assert "\x1b" not in text


def test_what_was_found_is_plain_data_too() -> None:
    rows = [Row("bcast", 8, 1.0, {"ours": 1.2})]
    data = json.loads(json.dumps(Found("x", "Title", rows, True).as_dict()))
    assert data["rows"][0]["is_met"] is True
    assert data["rows"][0]["columns"] == {"ours": 1.2}
    assert Found("x", "Title", rows).as_dict()["rows"][0]["is_met"] is None


def test_a_scenario_knows_what_is_in_each_site() -> None:
    far = Line(0.02, 1e8)
    scenario = Scenario("x", "X", Layout((1, 2), between={(0, 1): far}), (1, 2, 3))
    assert scenario.places == (1, 5)
    assert (scenario.cluster_of(0), scenario.cluster_of(1)) == ("c0", "c1")
    assert scenario.line(1, 0) == far
    assert scenario.by_cluster == {"c0": 1, "c1": 2, "c2": 3}


def test_with_one_site_the_clusters_are_the_places() -> None:
    scenario = Scenario("x", "X", Layout((3,)), (1, 2, 3))
    assert scenario.places == (1, 2, 3)
    assert scenario.cluster_of(2) == "c2"
    assert scenario.line(0, 1) == scenario.layout.lan


def test_every_scenario_gives_each_cluster_its_ranks() -> None:
    for scenario in SCENARIOS:
        assert len(scenario.ranks) == len(scenario.layout.clusters)
        for name, size in scenario.cases:
            assert floor(name, size, scenario.places, lambda *_: 1.0) == 1.0


def test_our_machine_is_described_by_a_descriptor_without_faults(
    grid: EmulatedGrid, tmp_path: Path
) -> None:
    command = Ours().command(grid, {"c0": 1, "c1": 2, "c2": 3}, tmp_path, RANKS_PROGRAM)
    found = Diagnostics()
    surroundings = DescriptorContext(str(tmp_path))
    deployment = read_descriptor(command[-2], surroundings=surroundings, diagnostics=found)
    assert deployment is not None, [str(one) for one in found]
    assert [len(site.clusters) for site in deployment.sites] == [2, 1]
    hosts = [one.hops[0].host for site in deployment.sites for one in site.clusters]
    assert hosts == ["10.77.0.1", "10.77.0.2", "10.77.1.1"]


def test_flat_mpi_is_started_over_the_clusters_that_have_ranks(
    grid: EmulatedGrid, tmp_path: Path
) -> None:
    ranks = {"c0": 1, "c1": 0, "c2": 3}
    words = Mpich("ofi", "/env/bin/python").command(grid, ranks, tmp_path, RANKS_PROGRAM)
    assert words[0] == "/env/bin/mpiexec"
    assert words[words.index("-hosts") + 1] == "10.77.0.1:1,10.77.1.1:3"
    assert words[words.index("-n") + 1] == "4"
    words = OpenMpi("/env/bin/python").command(grid, ranks, tmp_path, RANKS_PROGRAM)
    assert words[words.index("--host") + 1] == "c0:1,c2:3"


def elements(text: str, tag: str) -> list[ET.Element]:
    return ET.fromstring(text).findall(f".//{{http://www.w3.org/2000/svg}}{tag}")


def test_curves_have_a_line_for_each_series_and_grow_to_the_right() -> None:
    series = {"a & b": {1: 0.001, 1024: 0.01, MIB: 1.0}, "c": {1: 0.002}, "none": {}}
    text = plots.curves("Title <x>", series, unit="ms", factor=1e3)
    drawn = [one for one in elements(text, "polyline") if one.get("class", "").startswith("s")]
    assert len(drawn) == 2
    places = [tuple(map(float, one.split(","))) for one in drawn[0].attrib["points"].split()]
    assert places == sorted(places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)
    written = [one.text for one in elements(text, "text")]
    assert {"Title <x>", "a & b", "c", "ms", "1", "1,000"} <= set(written)


def test_names_at_the_ends_of_curves_do_not_hide_each_other() -> None:
    text = plots.curves("T", {name: {1: 1.0, 10: 1.0} for name in "abc"}, unit="s")
    heights = [float(one.attrib["y"]) for one in elements(text, "text") if one.text in set("abc")]
    assert len(heights) == 3
    assert min(b - a for a, b in pairwise(heights)) >= plots.LABEL_SIZE


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values for 'T'"):
        plots.curves("T", {"a": {}}, unit="s")


def test_bars_are_as_long_as_their_values_and_cut_off_where_they_are_endless() -> None:
    text = plots.bars("T", {"one": {"a": 1.0, "b": 2.0}, "two": {"b": 1000.0}}, ["a", "b"])
    widths = [float(one.attrib["width"]) for one in elements(text, "rect")[1:]]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[2] == pytest.approx(plots.WORST * widths[0], abs=2)
    assert "1000.00" in [one.text for one in elements(text, "text")]


def test_unknown_tables_and_ways_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for read, words in ((mpi.arguments, ["usual", "other"]), (wire.arguments, ["--ways", "other"])):
        with pytest.raises(SystemExit):
            read(words)
        assert "unknown: other" in capsys.readouterr().err
    assert mpi.arguments([]).tables == list(mpi.TABLES)
    assert wire.arguments([]).places == ["loopback", "lan", "wan"]


def test_point_to_point_is_judged_by_the_faster_native_mpi() -> None:
    rows = [
        Row("one way", 1, None, {"ours": 1.1, "MPICH UCX": 1.0, "MPICH OFI": 2.0}),
        Row("one way", 64 << 10, None, {"ours": 1.2, "MPICH UCX": 1.0}),
        Row("one way", 256 << 10, None, {"ours": 9.0, "MPICH UCX": 1.0}),  # neither of the two
        Row("one way", MIB, None, {"ours": 1.0, "MPICH UCX": 3.0, "MPICH OFI": 2.0}),
        Row("one way", 4 * MIB, None, {"ours": 2.0, "MPICH OFI": 1.0}),
        Row("one way", 64 * MIB, None, {"ours": 2.0, "Open MPI": 1.0}),  # no MPICH
    ]
    lines = against_native(Found("lan", "a title", rows))
    assert [(one.what, one.ratio, one.goal is not None and one.goal.is_met) for one in lines] == [
        ("time of 1 B", "1.10 x", True),
        ("time of 64 KiB", "1.20 x", False),
        ("bandwidth of 1 MiB", "2.00 x", True),
        ("bandwidth of 4 MiB", "0.50 x", False),
    ]
    assert lines[0].peer == "MPICH UCX: 1.00 s"
    assert lines[2].peer == "MPICH OFI: 2.00 s"


def test_tables_by_size_are_drawn_twice(tmp_path: Path) -> None:
    found = Found("lan", "a title", [Row("one way", n, 1.0, {"ours": 2.0}) for n in (1, 10)])
    pictures.by_size(found, tmp_path / "mpi-lan")
    assert "µs" in (tmp_path / "mpi-lan-time.svg").read_text("utf-8")
    assert "MB/s" in (tmp_path / "mpi-lan-rate.svg").read_text("utf-8")
    pictures.by_size(Found("none", "nothing", []), tmp_path / "none")
    assert len(list(tmp_path.iterdir())) == 2
