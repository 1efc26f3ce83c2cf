"""A composed descriptor, read again, says what was asked for, whatever that was."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.documents import Diagnostics, Location
from runtime.deployment import Deployment, DescriptorContext, deployment_of, read_descriptor
from runtime.deployment.compose import OneLineRequest, compose, document_text
from runtime.deployment.elements import Element
from runtime.deployment.machine_argument import Emulation, HostArgument, Machine, PeersArgument
from runtime.deployment.model import ProgramKind
from runtime.safe_names import is_host
from runtime.topology import Reachability

FOLDER = "/home/ana/project"
ENVIRONMENT = {"HOME": "/home/ana", "OMP_A": "1", "OMP_B": "2"}

# all that XML can hold
words = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r ${}$\"'<>&-")
)
names = st.text(st.sampled_from("abcdefghijklmnop0123456789"), min_size=1, max_size=8).filter(
    is_host
)
hosts = st.builds(
    HostArgument,
    names | st.sampled_from(["localhost", "::1", "fe80::1%eth0", "10.0.0.7", "a.b", "a-b", "a"]),
    st.just("") | names,
    st.none() | st.integers(1, 9),
)
machines = st.builds(Emulation, st.integers(1, 3), st.integers(1, 3), st.integers(1, 9)) | st.lists(
    st.lists(hosts, min_size=1, max_size=4).map(tuple), min_size=1, max_size=3
).map(tuple)


def read(root: Element) -> Deployment:
    """Return the deployment of a root, which means the same as its text does."""
    diagnostics, text = Diagnostics(), document_text(root)
    around = DescriptorContext(FOLDER, environment=ENVIRONMENT)
    found = read_descriptor(
        text.encode(), name="line.xml", surroundings=around, diagnostics=diagnostics
    )
    made = deployment_of(
        root.node(Location("line.xml", 0)), surroundings=around, diagnostics=diagnostics
    )
    assert found is not None, [*map(str, diagnostics), text]
    assert not [*diagnostics], [*map(str, diagnostics)]
    assert repr(made) == re.sub(r"(?<=file='line\.xml', line=)\d+", "0", repr(found))
    return found


def request(machine: Machine, **more: object) -> OneLineRequest:
    settings = {"name": "ring", "kind": ProgramKind.SCRIPT, "program": "ring.py", **more}
    return OneLineRequest(machine=machine, **settings)  # type: ignore[arg-type]  # any of its fields


@given(machine=machines, arguments=st.lists(words).map(tuple), python=st.just("") | names)
def test_program_machine_and_arguments_are_read_as_they_were_given(
    machine: Machine, arguments: tuple[str, ...], python: str
) -> None:
    deployment = read(compose(request(machine, arguments=arguments, python=python)))
    (application,) = deployment.applications
    assert (application.path, application.arguments) == (f"{FOLDER}/ring.py", arguments)
    clusters = list(deployment.clusters())
    if isinstance(machine, Emulation):
        assert len(deployment.sites) == machine.sites
        assert [one.ranks for one in clusters] == [machine.ranks] * len(clusters)
        assert len(clusters) == machine.sites * machine.clusters
        return
    assert not isinstance(machine, PeersArgument)
    assert [len(one.clusters) for one in deployment.sites] == [len(site) for site in machine]
    for host, cluster in zip((one for site in machine for one in site), clusters, strict=True):
        assert cluster.ranks == (host.ranks or 1)
        assert [(hop.host, hop.user) for hop in cluster.hops] == (
            [] if host.is_local else [(host.name, host.user)]
        )
        if not host.is_local:
            assert cluster.front_end.python == (python or "python3")


@given(name=words, folder=names, results=st.lists(names, max_size=3, unique=True).map(tuple))
def test_the_rest_of_a_request_is_read_as_it_was_given(
    name: str, folder: str, results: tuple[str, ...]
) -> None:
    deployment = read(
        compose(
            request(
                Emulation(1, 1, 2), name=name, folder=folder, results=results,
                variables=("HOME", "OMP_*", "A=${b} \t", "B="),
            )
        )
    )  # fmt: skip
    (application,) = deployment.applications
    assert application.folder == f"{FOLDER}/{folder}"
    assert application.environment == {**ENVIRONMENT, "A": "${b} \t", "B": ""}
    assert [one.source for one in deployment.transfers] == list(results)


@pytest.mark.parametrize("text", ["a\0b", "\x1b[1m", "\udcff", "\ufffe"])
def test_a_character_that_no_document_can_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="which no descriptor can hold"):
        compose(request(Emulation(1, 1, 1), arguments=(text,)))


def test_clusters_of_equal_or_odd_hosts_have_names_of_their_own() -> None:
    site = tuple(map(HostArgument, ("a", "a", "a-2", "::1", "::", "cluster4")))
    clusters = [one.name for one in read(compose(request((site,)))).clusters()]
    assert clusters == ["a", "a-2", "a-2-2", "1", "cluster4", "cluster4-2"]


@pytest.mark.parametrize(
    ("sites", "leader"),
    [("h|f", (1, 0)), ("hf", (0, 1)), ("fh", (0, 0)), ("hh", (0, 0)), ("h|hf|f", (1, 1))],
)
def test_a_host_that_others_can_connect_to_leads(sites: str, leader: tuple[int, int]) -> None:
    """This machine beside others is taken to be behind a firewall; there is no warning then."""
    known = {"h": HostArgument("localhost"), "f": HostArgument("far")}
    machine = tuple(tuple(known[one] for one in site) for site in sites.split("|"))
    deployment = read(compose(request(machine)))
    assert (deployment.leader, deployment.sites[deployment.leader].leader) == leader
    others_reach = deployment.cluster(leader).reachability is not Reachability.OUTWARDS
    assert others_reach or "f" not in sites


def test_the_document_tells_what_its_parts_are_for() -> None:
    machine = (tuple(map(HostArgument, ("localhost", "far"))),)
    text = document_text(compose(request(machine, results=("out",))))
    assert text.count("<!--") == 5
    assert "comes home" in text
    assert "a <grid> in the place of this" in document_text(compose(request(Emulation(1, 1, 1))))


def test_what_one_host_has_comes_before_what_all_have() -> None:
    site = (
        HostArgument("lyon", python="/opt/python", mpi="openmpi"),
        HostArgument("porto"),
        HostArgument("localhost"),
    )
    lyon, porto, here = read(compose(request((site,), python="python3.12", mpi="mpich"))).clusters()
    assert (lyon.front_end.python, lyon.mpi.flavour) == ("/opt/python", "openmpi")
    assert (porto.front_end.python, porto.mpi.flavour) == ("python3.12", "mpich")
    assert (here.front_end.python, here.mpi.flavour) != ("python3.12", "openmpi")
    emulated = read(compose(request(Emulation(1, 2, 2), mpi="openmpi")))
    assert {one.mpi.flavour for one in emulated.clusters()} == {"openmpi"}
