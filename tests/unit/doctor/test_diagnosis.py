"""What an examination concludes from facts: by script, without any host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gcm.documents import Location, Severity
from runtime.deployment import SshHop
from runtime.doctor.between import findings_of
from runtime.doctor.checks import install
from runtime.doctor.imports import imported
from runtime.doctor.records import (
    Dial,
    ExaminedHost,
    Finding,
    FolderSpace,
    HostFacts,
    Record,
)
from runtime.launchers.errors import (
    AuthenticationRefused,
    HostKeyChanged,
    HostKeyUnknown,
    HostUnreachable,
    LaunchError,
    MissingSsh,
    MpiexecFailed,
    UnknownHost,
    WrongMpiexec,
)
from runtime.native_mpi import MPICH
from runtime.topology import Cluster, Grid, Node, Reachability, Site

GIB = 1 << 30
HOST = ExaminedHost(
    "lab/rack (n1)", "python3", Location("grid.xml", 7), ((0, 0),), (SshHop("n1"),),
    name="n1", ranks=4, others=4, needs_mpi=True, needs_mpi4py=True,
)  # fmt: skip
FACTS = HostFacts(
    host="n1", user="ana", python="/opt/py/bin/python3", version=(3, 11, 4),
    packages={"numpy": "2.1.0", "mpi4py": "4.1.2"}, library="MPICH Version: 5.0.2",
    mpiexec="/opt/py/bin/mpiexec", ssh="/usr/bin/ssh", names={"n1": ["10.0.0.1"]},
    interfaces=(("eth0", "10.0.0.1"),), files=1024, most_files=4096,
    folders=(FolderSpace("/tmp", GIB), FolderSpace("/dev/shm", GIB)),
)  # fmt: skip
HERE = Record(ExaminedHost("the launcher", "python3"), replace(FACTS, host="laptop"))


def found_of(
    host: ExaminedHost = HOST, fault: LaunchError | None = None, **facts: Any
) -> list[Finding]:
    return findings_of([HERE, Record(host, replace(FACTS, **facts), mpi_fault=fault)])


def only(found: list[Finding]) -> Finding:
    (one,) = found
    assert (one.where, one.location) == ("lab/rack (n1)", Location("grid.xml", 7))
    return one


def test_a_cure_works_where_pip_refuses_and_where_no_venv_is_installed() -> None:
    python = replace(FACTS, python="python3")
    assert install(python, "mpich") == "python3 -m pip install mpich"
    managed = replace(python, is_managed=True)
    cure = (
        "python3 -m venv --system-site-packages ~/gcm-python && ~/gcm-python/bin/pip install mpich,"
        ' then <front-end python="~/gcm-python/bin/python"/> and'
        ' <mpi command-path="~/gcm-python/bin/mpiexec"/>'
    )
    assert install(managed, "mpich") == cure
    bare = replace(managed, has_venv=False)
    assert install(bare, "mpich") == f"sudo apt install python3-venv && {cure}"


def test_what_a_program_cannot_do_without_is_read_from_its_source(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text("import PIL.Image, json")
    (tmp_path / "program.py").write_text(
        "import os, own.part, mpi4py\nfrom numpy import pi\nfrom . import other\n"
        "try:\n    import maybe\nexcept ImportError:\n    pass\n"
        "def late():\n    import later\n"
    )
    (tmp_path / "own" / "part.py").write_text("import scipy")
    assert imported(str(tmp_path), "program.py") == ("PIL", "numpy", "scipy")
    (tmp_path / "broken.py").write_text("import numpy (")
    assert imported(str(tmp_path), "broken.py") == imported(str(tmp_path), "none.py") == ()


def test_a_healthy_host_has_no_findings() -> None:
    assert found_of() == []


@pytest.mark.parametrize(
    ("facts", "code", "severity"),
    [
        ({"mpiexec": ""}, "no-mpiexec", "error"),
        ({"packages": {"numpy": "2.1.0", "mpi4py": ""}}, "no-mpi4py", "warning"),
        ({"packages": {"numpy": "2.1.0", "mpi4py": "3.1.4"}}, "old-mpi4py", "error"),
        ({"library": "", "library_fault": "no libmpi.so.12"}, "mpi4py-broken", "error"),
        ({"missing": ("numpy",)}, "no-module", "error"),
        ({"names": {"n1": []}}, "unresolvable-name", "warning"),
        ({"names": {"n1": ["10.0.0.1"], "n2": []}}, "unresolvable-name", "error"),
        ({"files": 75}, "few-files", "warning"),
        ({"files": 64}, "few-files", "error"),
        ({"folders": (FolderSpace("/tmp", 1 << 20),)}, "no-space", "error"),
        ({"folders": (FolderSpace("/tmp", GIB, "it cannot be written to"),)}, "no-space", "error"),
        ({"folders": (FolderSpace("/dev/shm", 60 << 20),)}, "little-shared-memory", "warning"),
        ({"version": (3, 12, 1)}, "other-python", "warning"),
        ({"packages": {"numpy": "1.26.4", "mpi4py": "4.1.2"}}, "other-numpy", "error"),
        ({"packages": {"numpy": "2.2.0", "mpi4py": "4.1.2"}}, "other-numpy", "warning"),
        ({"packages": {"numpy": "2.1.0", "mpi4py": "4.0.0"}}, "other-mpi4py", "warning"),
    ],
)
def test_each_fact_that_is_wrong_is_one_finding_with_its_cure(
    facts: dict[str, Any], code: str, severity: str
) -> None:
    found = only(found_of(**facts))
    assert (found.code, found.severity) == (code, severity)
    assert found.why
    assert found.fix


def test_a_limit_on_files_may_be_none_and_patches_of_versions_do_not_count() -> None:
    assert found_of(files=-1) == []
    assert found_of(version=(3, 11, 9), packages={"numpy": "2.1.3", "mpi4py": "4.1.0"}) == []


def test_nobody_brings_mpi4py_to_this_machine() -> None:
    here = replace(HOST, hops=())
    found = only(found_of(here, packages={"numpy": "2.1.0", "mpi4py": ""}))
    assert (found.code, found.severity) == ("no-mpi4py", "error")


def test_an_mpi_that_is_brought_is_the_only_one_that_counts() -> None:
    asked = replace(HOST, flavour="mpich-wheel")
    nothing: dict[str, Any] = {"mpiexec": "", "packages": {}, "library_fault": "none"}
    assert found_of(asked, **nothing) == []
    fault = LaunchError("it does not run there", cause="the host is another", cure="Name another")
    found = only(found_of(asked, fault, **nothing))
    assert (found.code, found.fix) == ("mpi-not-brought", "Name another")
    assert found.what == "it does not run there: the host is another"


def test_a_program_without_python_needs_no_mpi4py() -> None:
    native = replace(HOST, needs_mpi4py=False)
    assert found_of(native, packages={}, library="", library_fault="missing") == []


def test_what_mpiexec_says_of_two_ranks_is_a_finding_with_the_library_of_mpi4py() -> None:
    other = WrongMpiexec("'mpiexec' started 2 ranks, and each takes itself for rank 0 of 1")
    found = only(found_of(fault=other))
    assert found.code == "two-mpis"
    assert found.what == f"{other.what} (mpi4py loads MPICH Version: 5.0.2)"
    assert '<mpi command-path="/opt/py/bin/mpiexec"/>' in found.fix
    broken = MpiexecFailed("it failed", cause="one\ntwo", cure="Run it by hand")
    found = only(found_of(fault=broken))
    assert (found.code, found.fix) == ("mpiexec-fails", "Run it by hand")
    assert found.what.endswith(": two")


BRIDGE = (("docker0", "172.17.0.1"), ("eth0", "10.0.0.1"))


@pytest.mark.parametrize(
    ("changes", "facts", "severity", "fix"),
    [
        ({}, {}, "warning", MPICH.only_interface("eth0", ())),
        ({}, {"names": {"n1": ["172.17.0.1"]}}, "error", MPICH.only_interface("eth0", ())),
        (
            {"flavour": "openmpi"}, {}, "error",
            '<mpi options="--mca btl_tcp_if_exclude lo,docker0"/>',
        ),
    ],
)  # fmt: skip
def test_a_bridge_of_containers_matters_where_one_mpi_spans_hosts(
    changes: dict[str, Any], facts: dict[str, Any], severity: str, fix: str
) -> None:
    def found_with(host: ExaminedHost) -> list[Finding]:
        found = found_of(host, interfaces=BRIDGE, **facts)
        return [one for one in found if one.code != "open-listener"]

    assert found_with(replace(HOST, **changes)) == []
    several = replace(HOST, spans=2, **changes)
    found = only(found_with(several))
    assert (found.code, found.severity, found.fix) == ("wrong-interface", severity, fix)
    told = replace(several, options=("--mca", "btl_tcp_if_include", "eth0"))
    assert found_with(told) == []
    assert found_with(replace(several, variables=("UCX_NET_DEVICES",))) == []


@pytest.mark.parametrize(
    ("changes", "starter", "fix"),
    [
        ({"flavour": "openmpi"}, "prterun", "use an MPICH"),
        ({"options": ("-bind-to", "core")}, "Hydra", "leave out the options of <mpi>"),
    ],
)
def test_what_starts_ranks_and_lets_anybody_connect_is_named_with_its_networks(
    changes: dict[str, Any], starter: str, fix: str
) -> None:
    found = only(found_of(replace(HOST, **changes), interfaces=(("eth0", "10.0.0.1"),)))
    assert (found.code, found.severity) == ("open-listener", "warning")
    assert found.what.startswith(starter)
    assert found.what.endswith("on eth0 10.0.0.1")
    assert found.fix.startswith(fix)
    assert found_of(replace(HOST, behind=0, **changes)) == []


@pytest.mark.parametrize(
    ("ahead", "severity", "words"),
    [
        ((-3.0, 60.0), "", ""),  # it took a minute to ask
        ((8.0, 9.0), "warning", "8 s ahead of"),
        ((-7201.0, -7200.0), "error", "7,200 s behind"),
    ],
)
def test_a_clock_is_wrong_if_no_delay_of_the_answer_explains_it(
    ahead: tuple[float, float], severity: str, words: str
) -> None:
    found = findings_of([Record(HOST, FACTS, ahead=ahead)])
    assert [one.severity for one in found] == ([severity] if severity else [])
    assert all(f"the clock of n1 is {words} that of the launcher" == one.what for one in found)


@pytest.mark.parametrize(
    ("kind", "code", "fix"),
    [
        (
            HostKeyUnknown, "ssh-unknown-host-key",
            "connect once and compare the fingerprint: ssh -J gate -p 22022 -i /k ana@n1"
            ' (or write new-host-keys="accept" in its <ssh>)',
        ),
        (
            HostKeyChanged, "ssh-changed-host-key",
            "if the host was really set up anew: ssh-keygen -R '[n1]:22022'",
        ),
        (
            AuthenticationRefused, "ssh-no-key",
            "ssh-copy-id -J gate -p 22022 -i /k ana@n1; if the key has a passphrase: ssh-add /k",
        ),
        (HostUnreachable, "not-reached", "Ask; by hand: ssh -J gate -p 22022 -i /k ana@n1 true"),
        (MissingSsh, "no-ssh", "Ask."),
    ],
)  # fmt: skip
def test_a_host_that_is_not_reached_comes_with_the_command_to_type(
    kind: type[LaunchError], code: str, fix: str
) -> None:
    hops = (SshHop("gate"), SshHop("n1", port=22022, user="ana", key="/k"))
    record = Record(replace(HOST, hops=hops), fault=kind("no", cause="said", cure="Ask."))
    found = only(findings_of([HERE, record]))
    assert (found.code, found.what, found.fix) == (code, "no; said", fix)


@pytest.mark.parametrize(
    ("kind", "said", "fix"),
    [
        (
            HostKeyUnknown, "No ED25519 host key is known for [gate]:22022 and you have requested",
            "connect once and compare the fingerprint: ssh -p 22022 gate"
            ' (or write new-host-keys="accept" in its <ssh>)',
        ),
        (
            HostKeyChanged, "Host key for [gate]:22022 has changed and you have requested strict",
            "if the host was really set up anew: ssh-keygen -R '[gate]:22022'",
        ),
        (
            AuthenticationRefused, "ana@gate: Permission denied (publickey).",
            "ssh-copy-id -p 22022 gate; if the key has a passphrase: ssh-add",
        ),
        (
            AuthenticationRefused, "ana@gate2: Permission denied (publickey).",
            "ssh-copy-id -J gate:22022 gate2; if the key has a passphrase: ssh-add",
        ),
    ],
)  # fmt: skip
def test_the_command_to_type_is_for_the_hop_that_ssh_names(
    kind: type[LaunchError], said: str, fix: str
) -> None:
    host = replace(HOST, hops=(SshHop("gate", port=22022), SshHop("gate2")))
    found = only(findings_of([HERE, Record(host, fault=kind("no", cause=said))]))
    assert found.fix == fix


def test_the_hop_without_an_address_is_named_where_it_is_written() -> None:
    lines = tuple(Location("grid.xml", line) for line in (8, 9))
    host = replace(HOST, hops=(SshHop("gate"), SshHop("n1")), hop_locations=lines)
    said = "ssh: Could not resolve hostname gate: Name or service not known"
    (found,) = findings_of([Record(host, fault=UnknownHost("no address", cause=said))])
    assert (found.location, "getent hosts gate" in found.fix) == (lines[0], True)


def test_errors_come_before_warnings() -> None:
    found = found_of(names={"n1": []}, mpiexec="")
    assert [one.severity for one in found] == [Severity.ERROR, Severity.WARNING]


# --- connections ----------------------------------------------------------------------------------


def grid_of(*reachability: Reachability) -> Grid:
    return Grid(
        tuple(
            Site(f"s{number}", (Cluster("c", (Node("n", ranks=1),), one),))
            for number, one in enumerate(reachability)
        )
    )


def told(grid: Grid, *closed: tuple[int, int, bool], outcome: str = "silent: for 4 s") -> Any:
    """Return what the findings are about."""
    found = findings(grid, *closed, outcome=outcome)
    return [(one.severity, one.code, one.where, one.what) for one in found]


def findings(
    grid: Grid, *closed: tuple[int, int, bool], outcome: str = "silent: for 4 s"
) -> list[Finding]:
    """Return the findings where these connections failed, and all others were made."""
    sites = range(len(grid.sites))
    records = [
        Record(ExaminedHost(f"s{at}/c (n{at})", "python3", clusters=((at, 0),)), FACTS)
        for at in sites
    ]
    dials = [
        Dial(
            (source, 0), (target, 0), door, f"n{target}:7100",
            outcome if (source, target, door) in closed else "open",
        )
        for source in sites for target in sites for door in (True, False) if source != target
    ]  # fmt: skip
    return findings_of(records, grid, dials)


DIRECT, FRONT_END, OUTWARDS = Reachability.DIRECT, Reachability.FRONT_END, Reachability.OUTWARDS


def test_open_ports_are_no_findings() -> None:
    assert told(grid_of(DIRECT, FRONT_END, OUTWARDS)) == []


def test_a_closed_direction_with_another_route_is_a_warning() -> None:
    assert told(grid_of(DIRECT, DIRECT), (0, 1, False)) == [
        (
            "warning", "closed-port", "s0/c → s1/c",
            "ranks of s1/c cannot be connected to from s0/c: n1:7100 is silent (for 4 s)",
        )
    ]  # fmt: skip


def test_another_route_is_told_by_the_names_of_clusters() -> None:
    (found,) = findings(grid_of(DIRECT, DIRECT), (0, 1, False))
    assert found.why == (
        "messages take another route (ranks of s0/c <- ranks of s1/c), "
        "the first one only after this one has failed"
    )


def test_clusters_that_cannot_connect_in_either_direction_are_errors() -> None:
    both = [(one, 1 - one, door) for one in (0, 1) for door in (True, False)]
    found = told(grid_of(DIRECT, DIRECT), *both)
    assert [(severity, where) for severity, _, where, _ in found] == [
        ("error", "s0/c → s1/c"),
        ("error", "s1/c → s0/c"),
    ]


def test_a_port_that_no_route_needs_may_be_closed() -> None:
    # nobody connects to a rank behind a front-end, nor to one that only connects outwards
    assert told(grid_of(DIRECT, FRONT_END), (0, 1, False)) == []
    assert told(grid_of(DIRECT, OUTWARDS), (0, 1, False), (0, 1, True)) == []


def test_all_who_cannot_connect_to_a_cluster_are_one_finding() -> None:
    found = told(grid_of(DIRECT, DIRECT, DIRECT), (0, 2, False), (1, 2, False))
    assert [(code, where) for _, code, where, _ in found] == [("closed-port", "s0/c, s1/c → s2/c")]


def test_a_name_that_is_not_known_there_is_told_as_such() -> None:
    found = told(grid_of(DIRECT, DIRECT), (0, 1, False), outcome="unresolved: no such name")
    assert [code for _, code, _, _ in found] == ["unresolvable-name"]
