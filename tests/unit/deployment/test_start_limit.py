"""How long a start may take: as asked for, and longer where it copies much or starts many ranks."""

from __future__ import annotations

from dataclasses import replace

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.deployment.planning.program_files import ProgramFiles

COPIES = (
    '<deployment><application script="a.py"/><grid><site><cluster/><cluster><ssh host="h"/>'
    '</cluster><cluster><ssh host="i"/></cluster></site></grid></deployment>'
)
FILES = {"application": ProgramFiles((("a", 150_000_000),))}


def plan(text: str, programs: dict[str, ProgramFiles] | None = None) -> DeploymentPlan:
    around = DescriptorContext("/home/me")
    diagnostics = Diagnostics()
    found = read_descriptor(text.encode(), name="d", surroundings=around, diagnostics=diagnostics)
    assert found is not None
    return make_plan(replace(found, start_timeout=30.0), programs)


def test_each_copy_of_a_megabyte_gives_a_second_more() -> None:
    assert plan(COPIES).start_limit == 30
    assert plan(COPIES, FILES).start_limit == 330


def test_ranks_do_not_wait_for_copies() -> None:
    assert plan(COPIES, FILES).ranks_limit == 30


def test_four_ranks_that_share_a_host_give_a_second_more() -> None:
    def machine(cluster: str, count: int) -> str:
        clusters = "".join(cluster.replace("?", str(number)) for number in range(count))
        return (
            '<deployment><application script="a.py" stage="no"/><grid><site>'
            f"{clusters}</site></grid></deployment>"
        )

    here = '<cluster><mpi ranks="64"/></cluster>'
    there = '<cluster><ssh host="h?"/><mpi ranks="64"/></cluster>'
    assert plan(machine(here, 4)).start_limit == 30 + 64
    assert plan(machine(there, 4)).start_limit == 30 + 16
