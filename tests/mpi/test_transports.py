"""A descriptor chooses what carries messages between clusters, a class of its own included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import gcm_deploy
from tests.unit.transport.test_transports import MODULE

pytestmark = pytest.mark.mpi

PROGRAM = """
from mpi4py import MPI
from runtime.membership.everybody import everybody
from runtime.membership.rank_link import current

world = MPI.COMM_WORLD
ranks = world.alltoall(list(range(world.size)))
residents = everybody(current()).residents
kinds = {one.partition(":")[0] for rank in residents for one in rank.addresses}
if world.rank == 0:
    print(ranks, sorted(kinds))
"""
OWN = "own_sockets.Abstract"
TWO = "<cluster {}><mpi ranks='2'/></cluster><cluster {}><mpi ranks='2'/></cluster>"
FORWARDED = TWO.format("reachability='front-end'", "reachability='outwards'")
NO_USE = "own_sockets.Bytes own_sockets.Mute"
"""Over the one a front-end cannot listen, over the other one nobody gets there."""
THROUGH = "through s/cluster0"


@pytest.mark.parametrize(
    ("transport", "clusters", "kinds", "route"),
    [
        ("unix", TWO, ["unix"], "direct"),
        ("tcp", TWO, ["127.0.0.1"], "direct"),
        ("tcp unix", FORWARDED, ["127.0.0.1", "unix"], THROUGH),
        (f"{OWN} unix", TWO, [OWN, "unix"], f"direct over {OWN}"),
        (OWN, FORWARDED, [OWN], THROUGH),
        (f"{NO_USE} tcp", FORWARDED, ["127.0.0.1", "own_sockets.Mute"], THROUGH),
        ("ssh", TWO, ["unix"], "through s/cluster0, s/cluster1"),
    ],
)
def test_messages_between_clusters_go_over_the_first_transport(
    tmp_path: Path, transport: str, clusters: str, kinds: list[str], route: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "own_sockets.py").write_text(MODULE, "utf-8")
    (tmp_path / "grid.xml").write_text(
        f'<deployment><application script="program.py"/><grid transport="{transport}">'
        f'<site name="s">{clusters.format("", "")}</site></grid></deployment>',
        "utf-8",
    )
    log = tmp_path / "run.log"
    done = gcm_deploy("--quiet", "--format", "json", "--log", log, tmp_path / "grid.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    is_told = "s/cluster0: no forwarding at one address: " in log.read_text("utf-8")
    assert is_told == transport.startswith(NO_USE)
    printed, summary = done.stdout.splitlines()
    assert printed == f"[0, 0, 0, 0] {kinds}"
    (ways,) = json.loads(summary)["connections"]["ways"]
    assert list(ways["routes"]) == [route]


def test_a_class_that_fails_where_the_ranks_are_ends_the_run_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "own_sockets.py").write_text(MODULE, "utf-8")
    (tmp_path / "grid.xml").write_text(
        '<deployment><application script="program.py"/>'
        '<emulate sites="2" ranks="1" transport="own_sockets.Broken"/></deployment>',
        "utf-8",
    )
    done = gcm_deploy("--quiet", tmp_path / "grid.xml")
    assert done.returncode != 0
    assert "cannot start" in done.stderr
    assert "the transport 'own_sockets.Broken' cannot be used: RuntimeError" in done.stderr
