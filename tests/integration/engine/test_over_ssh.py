"""Two sites over real ssh, one behind a jump host; MPICH in one and Open MPI, if any, in the other.

Neither Python has this package, so it is brought along.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.processes.launcher.machine import Machine
from runtime.testing.sshd import Sshd, running_sshd
from runtime.views.facts import Fact, OutputWritten
from runtime.views.stream import nothing
from tests.integration.engine.recorder import Recorder

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

RING = Path(__file__).parents[3] / "examples" / "10_ring" / "ring.py"


@dataclass(frozen=True)
class Servers:
    """Two hosts: from either, `ssh elsewhere` leads to the second one."""

    both: tuple[Sshd, Sshd]

    def hop(self, number: int) -> str:
        return self.both[number].hop


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    programs = tmp_path_factory.mktemp("bin")
    path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(running_sshd(tmp_path_factory.mktemp("sshd"), PATH=path))
            for _ in range(2)
        )
        write_client(programs, second)
        yield Servers((first, second))


def write_client(programs: Path, server: Sshd) -> None:
    """Let `ssh elsewhere` on the far side lead to this server."""
    (programs / "client").write_text(
        f"Host elsewhere\n  HostName 127.0.0.1\n  Port {server.port}\n"
        f"  IdentityFile {server.folder}/key\n  UserKnownHostsFile {server.folder}/known\n"
    )
    ssh = programs / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {programs}/client "$@"\n')
    ssh.chmod(0o755)


def cluster(name: str, way: str, python: Path) -> str:
    return (
        f'<cluster name="{name}">{way}<front-end python="{python}"/>'
        f'<mpi ranks="2" command-path="{python.parent / "mpiexec"}"/></cluster>'
    )


def plan_of(folder: Path, text: str) -> DeploymentPlan:
    path = folder / "test.xml"
    path.write_text(text)
    found = Diagnostics()
    deployment = read_descriptor(
        path, surroundings=DescriptorContext(str(folder)), diagnostics=found
    )
    assert deployment is not None, [str(one) for one in found]
    return make_plan(deployment)


def pythons() -> tuple[Path, Path]:
    """Return the Pythons of two clusters: this one, and that of an Open MPI where there is one."""
    version = f"openmpi-{sys.version_info[0]}.{sys.version_info[1]}"
    home = Path(tempfile.gettempdir(), f"gcm-test-mpi-{os.getuid()}", version)
    own = Path(sys.executable)
    other = home / "bin" / "python"
    if not (own.parent / "mpiexec").exists():
        pytest.skip("needs an mpiexec beside this Python: pip install mpich")
    return own, other if (home / "complete").exists() else own


def test_two_sites_over_ssh_run_and_their_files_come_home(server: Servers, tmp_path: Path) -> None:
    first, second = pythons()
    near = cluster("rhone", server.hop(0), first)
    far = cluster("douro", server.hop(1), second)
    saves = "import pathlib\npathlib.Path('result.txt').write_text('right')\n\n"
    (tmp_path / "ring.py").write_text(
        RING.read_text().replace("if __name__", f"{saves}if __name__")
    )
    plan = plan_of(
        tmp_path,
        '<deployment name="t"><application script="ring.py"/>'
        '<file-transfer direction="out" source="*.txt" destination="home/{site}/{cluster}"/><grid>'
        f'<site name="lyon">{near}</site><site name="porto">{server.hop(0)}{far}</site>'
        "</grid></deployment>",
    )
    recorder = Recorder()
    outcome = Machine(plan, recorder).run()
    assert outcome.errors == ()
    assert outcome.exit_code == 0
    assert sorted(outcome.exits) == ["0:0:0", "0:0:1", "1:0:0", "1:0:1"]
    assert ("0:0:0", "stdout", "the token came back with 6: right") in recorder.lines
    for path in ("lyon/rhone", "porto/douro"):
        assert (tmp_path / "home" / path / "result.txt").read_text() == "right"


READS_AND_WRITES = """
from mpi4py import MPI
import os, sys
size = 0
while data := os.read(0, 1 << 20):
    size += len(data)
print("read", size)
for number in range(100_000):
    print(MPI.COMM_WORLD.rank, number, "x" * 60)
os.write(2, b"\\xff\\n")
"""


def test_input_and_much_output_pass_over_ssh_unchanged(server: Servers, tmp_path: Path) -> None:
    first, _ = pythons()
    (tmp_path / "program.py").write_text(READS_AND_WRITES)
    (tmp_path / "input").write_bytes(b"y\n" * 2_000_000)
    plan = plan_of(
        tmp_path,
        '<deployment name="t"><application script="program.py"/><grid><site name="lyon">'
        f"{cluster('rhone', server.hop(0), first)}</site></grid></deployment>",
    )
    said: dict[tuple[str, str], bytes] = {}

    class Joined(Recorder):
        def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
            match fact.record:
                case OutputWritten(stream, data):
                    said[fact.name, stream] = said.get((fact.name, stream), b"") + data
            taken()

    with open(tmp_path / "input", "rb") as source:
        outcome = Machine(plan, Joined(), stdin=source.fileno()).run()
    assert outcome.errors == ()
    for rank, size in ((0, 4_000_000), (1, 0)):
        lines = [f"read {size}", *(f"{rank} {number} " + "x" * 60 for number in range(100_000))]
        assert said.pop((f"0:0:{rank}", "stdout")).decode().splitlines() == lines
        assert said.pop((f"0:0:{rank}", "stderr")) == b"\xff\n"
    assert not said


LOOKS = """
import pathlib, sys
from runtime.membership.rank_link import current
shown = current().credentials
keys = [*shown._keys.checks.values(), *shown._keys.tickets.values()]
secrets = [*keys, shown.certificate]
lines = [one for one in shown.certificate.decode().splitlines() if not one.startswith("-")]
words = [one for secret in secrets for one in (secret, secret.hex().encode())]
words += [one.encode() for one in lines if len(one) > 30]
assert len(words) > 8, words
pathlib.Path(sys.argv[1], current().name).write_text("\\n".join([secrets[0].hex(), *lines]))
seen = found = 0
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
    except OSError:
        continue
    seen += b"gcm" in told or b"python" in told
    found += any(word in told for word in words)
print("seen", seen > 4, "found", found)
"""


def test_no_command_line_environment_or_output_tells_what_members_know(
    server: Servers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = pythons()
    (tmp_path / "looks.py").write_text(LOOKS)
    plan = plan_of(
        tmp_path,
        f'<deployment name="t"><application script="looks.py" arguments="{tmp_path}"/><grid>'
        f'<site name="lyon">{cluster("rhone", server.hop(0), first)}</site>'
        f'<site name="porto">{cluster("douro", "", second)}</site></grid></deployment>',
    )
    recorder = Recorder()
    with caplog.at_level(logging.DEBUG):
        outcome = Machine(plan, recorder).run()
    assert outcome.errors == ()
    told = [text for _, stream, text in recorder.lines if stream == "stdout"]
    assert told == ["seen True found 0"] * 4
    known = [(tmp_path / name).read_text() for name in ("0:0:0", "0:0:1", "1:0:0", "1:0:1")]
    assert len(set(known)) > 1, "clusters have keys of their own"
    output = "\n".join([caplog.text, repr(plan), *(line for *_, line in recorder.lines)])
    assert not [word for one in known for word in one.splitlines() if word in output]


def test_an_unknown_host_and_a_refused_key_end_the_run(server: Servers, tmp_path: Path) -> None:
    python = Path(sys.executable)
    unknown = '<ssh host="no-such-host.invalid"/>'
    refused = server.both[0].hop_with("host")
    for way, expected in ((unknown, "no address was found"), (refused, "refused to let this user")):
        plan = plan_of(
            tmp_path,
            f'<deployment name="t"><application script="{RING}"/><grid>'
            f'<site name="s">{cluster("a", way, python)}</site></grid></deployment>',
        )
        outcome = Machine(plan, Recorder()).run()
        assert outcome.exit_code == 203
        assert expected in outcome.errors[0]
        assert "s/a" in outcome.errors[0]


def test_the_key_of_a_new_host_is_believed_as_the_message_says_and_a_changed_one_never(
    server: Servers, tmp_path: Path
) -> None:
    (tmp_path / "says.py").write_text("print('here')\n")
    far, known = server.both[0], tmp_path / "known"
    other = (far.folder / "key.pub").read_text()

    def run(more: str) -> tuple[int, str]:
        way = (
            server.hop(0)
            .replace(f"{server.both[0].folder}/known", str(known))
            .replace("/>", f"{more}/>")
        )
        plan = plan_of(
            tmp_path,
            f'<deployment name="t"><application script="says.py"/><grid>'
            f"<site>{cluster('a', way, pythons()[0])}</site></grid></deployment>",
        )
        outcome = Machine(plan, Recorder()).run()
        return outcome.exit_code, "\n".join(outcome.errors)

    code, said = run("")
    assert code == 203
    assert not known.exists()
    (cure,) = re.findall(r'<ssh (new-host-keys="\w+")>', said)
    assert run(f" {cure}") == (0, "")
    (line,) = known.read_text().splitlines()
    assert " ssh-ed25519 " in line  # its name may be hashed, as the system's configuration says
    assert run("") == (0, "")

    known.write_text(f"[127.0.0.1]:{far.port} {other}")
    code, said = run(f" {cure}")
    assert code == 203
    assert "another key than the one it is known by" in said
    assert known.read_text() == f"[127.0.0.1]:{far.port} {other}"


PARTS = """
import os
from typing import Annotated, Protocol
from gcm import provides, requires

class Run(Protocol):
    def run(self) -> object: ...

class Work(Protocol):
    def where(self, number: int) -> list[str]: ...

@provides("work", Work)
class Worker:
    later: Annotated[Work, requires(optional=True)]
    def where(self, number):
        if number > 2:
            raise LookupError(f"there is no {number}")
        here = [os.environ["GCM_NODE"], str("SSH_CONNECTION" in os.environ)]
        return here + (self.later.where(number + 1) if self.later else [])

@provides("run", Run)
class Chief:
    work: Annotated[Work, requires()]
    def run(self):
        try:
            self.work.where(2)
        except LookupError as error:
            return self.work.where(1), str(error)
"""
ASSEMBLY = """<definition name="app">
<interface name="run" role="server" signature="parts.Run"/>
<component name="chief"><content class="parts.Chief"/><virtual-node name="head"/></component>
<component name="near"><content class="parts.Worker"/><virtual-node name="near"/></component>
<component name="far"><content class="parts.Worker"/><virtual-node name="far"/></component>
<binding client="this.run" server="chief.run"/>
<binding client="chief.work" server="near.work"/>
<binding client="near.later" server="far.work"/>
</definition>"""


@pytest.mark.parametrize("reachability", ["direct", "front-end"])
def test_components_live_on_nodes_that_are_reached_from_a_front_end_behind_ssh(
    server: Servers, tmp_path: Path, reachability: str
) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    (tmp_path / "app.fractal").write_text(ASSEMBLY)
    (tmp_path / "app.xml").write_text(
        '<deployment name="app"><assembly file="app.fractal"/>'
        '<virtual-node name="head" nodes="office/desk/localhost"/>'
        '<virtual-node name="near" nodes="lab/rack/front"/>'
        '<virtual-node name="far" nodes="lab/rack/blade"/>'
        '<file-transfer direction="in" source="parts.py" clusters="lab/rack"/><grid>'
        '<site name="office"><cluster name="desk" reachability="direct"/></site>'
        f'<site name="lab"><cluster name="rack" reachability="{reachability}">{server.hop(0)}'
        f'<front-end python="{sys.executable}"/><nodes names="front" hosts="127.0.0.1"/>'
        '<nodes names="blade" hosts="elsewhere"/></cluster></site></grid></deployment>'
    )
    done = subprocess.run(
        [sys.executable, "-m", "runtime.cli", "--quiet", tmp_path / "app.xml"],
        cwd=RING.parents[2], capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "(['lab/rack/front', 'True', 'lab/rack/blade', 'True'], 'there is no 3')\n"
    )
