"""What becomes of a run whose launcher moves to another host: its ways, and what cannot move."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.cli.errors import UsageError
from runtime.cli.moving import MovedRun, check_movable, seen_from, way_to
from runtime.deployment import Deployment
from runtime.deployment.model import SshHop
from tests.unit.deployment.conftest import Reader

SITES = """<grid>
<site name="lyon"><ssh host="gate" user="ana"/>
  <cluster name="rhone"><ssh host="inner"/><front-end python="/opt/py"/></cluster>
  <cluster name="saone"><batch system="slurm"/></cluster></site>
<site name="nice"><cluster name="var"><ssh host="azur"/></cluster></site></grid>"""

GATE, INNER = SshHop("gate", user="ana"), SshHop("inner")


@pytest.fixture
def deployment() -> Deployment:
    return Reader().body(SITES).good


@pytest.mark.parametrize(
    ("host", "way", "python"),
    [
        ("lyon/rhone", (GATE, INNER), "/opt/py"),
        ("inner", (GATE, INNER), "/opt/py"),
        ("gate", (GATE,), ""),
        ("ana@gate", (GATE,), ""),
        ("lyon/saone", (GATE,), ""),
        ("nice", (SshHop("azur"),), ""),
        ("bo@other", (SshHop("other", user="bo"),), ""),
    ],
)
def test_the_way_to_a_host_is_that_of_the_run_which_goes_there(
    deployment: Deployment, host: str, way: tuple[SshHop, ...], python: str
) -> None:
    assert way_to(deployment, host) == (way, python)


@pytest.mark.parametrize("host", ["localhost", "a,b", "-x"])
def test_what_is_no_other_host_is_refused(deployment: Deployment, host: str) -> None:
    with pytest.raises(UsageError, match=f"--detach={host}"):
        way_to(deployment, host)


def test_ways_begin_at_the_new_host_where_they_lead_through_it(deployment: Deployment) -> None:
    seen = seen_from((GATE,), deployment, "/usr/bin/python3")
    rhone, saone, var = seen.clusters()
    assert (rhone.hops, saone.hops, var.hops) == ((INNER,), (), (SshHop("azur"),))
    assert not saone.is_local  # a batch system still has to grant it
    assert [node.host for node in saone.nodes] == [saone.host] == ["localhost"]
    rhone, saone, var = seen_from((GATE, INNER), deployment, "/usr/bin/python3").clusters()
    assert (rhone.is_local, rhone.front_end.python) == (True, "/usr/bin/python3")
    assert (rhone.front_end.address, saone.hops) == ("inner", (GATE,))


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (SITES.replace('<ssh host="azur"/>', ""), "this machine is needed for nice/var, so"),
        (
            SITES.replace("<grid>", '<process id="db" program="db"/><grid>'),
            "this machine is needed for the process db, so",
        ),
        (SITES.replace('"/opt/py"', '"/opt/py" modules="mpi"'), "lyon/rhone has modules"),
        (
            SITES.replace("<grid>", '<grid><mpi flavour="mpich-wheel"/>'),
            "the MPI that is brought to lyon/rhone is this machine's",
        ),
    ],
)
def test_what_cannot_move_is_named(body: str, named: str) -> None:
    moved = Reader().body(body).good
    with pytest.raises(UsageError, match=named):
        check_movable(moved, (GATE, INNER))


def test_a_note_says_where_a_run_is(tmp_path: Path) -> None:
    hop = SshHop("azur", port=2222, options=("-4",))
    run = MovedRun("heat-5f0c", 17.5, "/w", (GATE, hop), "/py", "/there", tmp_path / "heat-5f0c")
    run.keep()
    assert MovedRun.noted(run.note) == run
    assert (run.host, run.log) == ("azur", "azur:/there/log")
    assert run.note.stat().st_mode & 0o777 == 0o700
