"""Sites that a user has written down once, in descriptors that name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import Deployment, DescriptorContext, read_descriptor

SITES = """<sites>
  <site name="lyon">
    <ssh host="login.lyon.example" user="ada"/>
    <batch system="slurm" account="physics" walltime="1h"/>
    <front-end folder="~/runs" modules="mpich/4"/>
    <mpi command-path="/opt/mpich/bin/mpiexec"/>
  </site>
</sites>"""


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    file = tmp_path / "sites.xml"
    file.write_text(SITES)
    return file


def read(cluster: str, sites: Path, diagnostics: Diagnostics) -> Deployment | None:
    text = f"""<deployment><application script="a.py"/>
<grid><site>{cluster}</site></grid></deployment>"""
    context = DescriptorContext(folder="/work", sites=str(sites))
    return read_descriptor(
        text.encode(), surroundings=context, diagnostics=diagnostics, name="d.xml"
    )


def faults(cluster: str, sites: Path) -> list[str]:
    diagnostics = Diagnostics()
    assert read(cluster, sites, diagnostics) is None
    return [str(one).replace(str(sites.parent), "~") for one in diagnostics.errors]


def test_a_cluster_gets_what_is_written_of_its_site_and_its_own_words_win(sites: Path) -> None:
    deployment = read(
        '<cluster name="rhone" site="lyon"><batch nodes="4" walltime="2h"/></cluster>',
        sites,
        diagnostics := Diagnostics(),
    )
    assert deployment is not None, diagnostics.errors
    (cluster,) = deployment.clusters()
    assert [hop.destination for hop in cluster.hops] == ["ada@login.lyon.example"]
    assert cluster.mpi.command_path == "/opt/mpich/bin/mpiexec"
    assert (cluster.front_end.folder, cluster.front_end.modules) == ("~/runs", ("mpich/4",))
    batch = cluster.batch
    assert batch is not None
    assert (batch.system, batch.account, batch.nodes, batch.walltime) == (
        "slurm", "physics", 4, 7200.0,
    )  # fmt: skip
    assert (batch.idle, batch.reserve, batch.longest_idle) == (None, None, 1800.0)


def test_a_site_that_is_not_written_down_is_told_with_those_that_are(sites: Path) -> None:
    assert faults('<cluster site="lion"/>', sites) == [
        "d.xml:2: error[unknown-own-site]: ~/sites.xml has no site 'lion'. did you mean 'lyon'?"
    ]
    sites.unlink()
    assert faults('<cluster site="lyon"><batch nodes="4"/></cluster>', sites) == [
        "d.xml:2: error[unknown-own-site]: ~/sites.xml has no site 'lyon'."
        " write <site name='lyon'> there, within <sites>"
    ]


def test_faults_of_the_file_are_told_with_its_own_lines(sites: Path) -> None:
    sites.write_text(SITES.replace("account=", "acount="))
    assert faults('<cluster site="lyon"/>', sites) == [
        "~/sites.xml:4: error[unknown-attribute]: <batch> has no attribute 'acount'."
        " did you mean 'account'?"
    ]
    sites.write_text("<deployment/>")
    assert faults('<cluster site="lyon"/>', sites) == [
        "~/sites.xml:1: error[bad-sites]: the root of this file is <deployment>."
        " let its root be 'sites', with a <site name='...'> for each"
    ]


def test_a_descriptor_that_names_no_site_does_not_read_the_file(sites: Path) -> None:
    sites.write_text("<nonsense")
    assert read("<cluster/>", sites, Diagnostics()) is not None
