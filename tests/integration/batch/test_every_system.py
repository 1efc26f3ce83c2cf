"""What holds with every batch system: one test for all of them, each with its real daemons."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.integration.batch.site import LONG, Site, end_of, wait_until
from tools.on_grids import COMMAND

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root]

FIXTURES = {"slurm": "slurm", "grid-engine": "grid_engine", "oar": "oar"}


def with_systems(cell: str, *names: str) -> pytest.MarkDecorator:
    """Mark a test that stands for a cell of the table with each of these systems."""
    each = []
    for name in names:
        needs = getattr(pytest.mark, f"needs_{FIXTURES[name]}")
        each.append(pytest.param(name, marks=(needs, pytest.mark.shows(name, cell))))
    return pytest.mark.parametrize("daemons", each, indirect=True)


@pytest.fixture(scope="session")
def daemons(request: pytest.FixtureRequest) -> Site:
    """The daemons of the batch system of that name."""
    found: Site = request.getfixturevalue(f"all_of_{FIXTURES[request.param]}")
    return found


@pytest.fixture
def site(daemons: Site) -> Iterator[Site]:
    """The site with these, with an empty folder to work in, and nodes that hold nothing."""
    with daemons.fresh():
        yield daemons


@with_systems("node lost", "slurm", "grid-engine")
def test_a_node_that_is_lost_is_the_reason_and_the_others_are_given_back(site: Site) -> None:
    run = site.start(site.descriptor(LONG, 'nodes="2"'))
    assert run.stdout is not None
    assert sorted(run.stdout.readline() for _ in range(4)) == [f"rank {n}\n" for n in range(4)]
    job = site.record()
    assert len(job.nodes) == 2
    with site.lost(job.nodes[1]):
        code, _, errors = end_of(run)
        fault = f"gcm-deploy: lyon/rhone: the front-end has ended; job {job.number} is "
        assert (code, fault in errors) == (204, True), errors
    wait_until(site.is_given_back)
    wait_until(lambda: site.record(job.number).state in (*site.ended, "NODE_FAIL"))


@with_systems("detached", *FIXTURES)
def test_a_detached_run_is_followed_and_ended_from_elsewhere(site: Site) -> None:
    code, said, _ = site.call(*COMMAND, "--detach", str(site.descriptor(LONG, 'nodes="2"')))
    assert code == 0
    name = said.split()[0]
    wait_until(lambda: site.call(*COMMAND, "logs", name)[1].count("rank") == 4, 60)
    assert re.search(rf"^{name} +running ", site.call(*COMMAND, "list")[1], re.MULTILINE)
    job = site.record()
    assert (job.state, len(job.nodes)) == (site.running, 2)
    assert site.call(*COMMAND, "stop", name)[0] == 0
    code, said, _ = site.call(*COMMAND, "attach", name)
    assert (code, sorted(said.splitlines())) == (143, [f"rank {n}" for n in range(4)])
    wait_until(site.is_given_back)
    wait_until(lambda: site.record(job.number).state in site.ended)
