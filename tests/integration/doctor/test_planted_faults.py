"""`gcm-deploy doctor` on hosts behind a real sshd, in each of which something is wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from runtime.testing.sshd import Sshd, running_sshd
from tests.commands import gcm_deploy

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

UNHEALTHY = 206

LATE_CLOCK = """\
import time
_now = time.time
time.time = lambda: _now() - 7200
"""

OLD_PYTHON = """\
#!/bin/sh
test "$1" = -V && echo "Python 3.6.15"
exit 1
"""

# Like an mpiexec of another MPI: each rank takes itself for rank 0 of 1.
OTHER_MPIEXEC = """\
#!/bin/sh
test "$1" = --version && echo "HYDRA build details:" && exit 0
shift 2
"$@"; "$@"
"""


def examined(*words: str | Path, folder: Path) -> tuple[int, dict[str, Any], str]:
    done = gcm_deploy("doctor", "--format", "json", *words, cwd=folder)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_what_the_program_imports_is_looked_for_on_every_host(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    (tmp_path / "program.py").write_text("from mpi4py import MPI\nimport numpy, helper\n")
    (tmp_path / "helper.py").write_text("import no_such_package\n")
    clusters = "".join(
        f'<cluster name="{name}"><front-end python="{python}"/><mpi ranks="1"/></cluster>'
        for name, python in (("full", sys.executable), ("bare", bare / "bin" / "python"))
    )
    (tmp_path / "grid.xml").write_text(
        f'<deployment><application script="program.py"/><grid><site name="s">{clusters}</site>'
        "</grid></deployment>"
    )
    code, told, _ = examined("grid.xml", folder=tmp_path)
    assert code == UNHEALTHY
    found = {one["where"]: one for one in told["findings"] if one["code"] == "no-module"}
    assert found["s/full"]["what"] == f"{sys.executable} has no no_such_package"
    assert found["s/bare"]["what"] == f"{bare}/bin/python has no no_such_package and numpy"
    fix = found["s/bare"]["fix"]
    assert fix.startswith(f"{bare}/bin/python -m venv ")
    assert " install no_such_package numpy, then <front-end python=" in fix


def wheel(folder: Path, name: str) -> None:
    """Write a wheel with one empty module."""
    about = f"{name}-1.0.dist-info"
    with ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{name}.py", "")
        packed.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr(f"{about}/RECORD", f"{name}.py,,\n")


def test_a_cure_typed_as_it_is_printed_lets_the_program_run(tmp_path: Path) -> None:
    for name in ("sshd", "home", "wheels", "installed", "work"):
        (tmp_path / name).mkdir()
    for package in Path(sysconfig.get_path("purelib")).glob("mpi4py*"):
        (tmp_path / "installed" / package.name).symlink_to(package)
    wheel(tmp_path / "wheels", "no_such_package")
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    work = tmp_path / "work"
    (work / "program.py").write_text("import no_such_package, sys\nprint(sys.prefix)\n")
    with running_sshd(
        tmp_path / "sshd",
        HOME=tmp_path / "home",
        PYTHONPATH=tmp_path / "installed",
        LD_LIBRARY_PATH=Path(sys.prefix, "lib"),  # of mpi4py
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=tmp_path / "wheels",
    ) as server:

        def doctor(front_end: str) -> list[dict[str, str]]:
            (work / "grid.xml").write_text(
                '<deployment><application script="program.py"/><grid><site name="s"><cluster '
                f'name="c">{server.hop}{front_end}<mpi ranks="1"/></cluster></site></grid>'
                "</deployment>"
            )
            findings: list[dict[str, str]] = examined("grid.xml", folder=work)[1]["findings"]
            return findings

        (found,) = doctor(f'<front-end python="{bare}/bin/python"/>')
        assert found["what"] == f"{bare}/bin/python has no no_such_package"
        command, _, front_end = found["fix"].partition(", then ")
        key, known = tmp_path / "sshd" / "key", tmp_path / "sshd" / "known"
        ssh = ["ssh", "-i", str(key), "-p", str(server.port), "-o", f"UserKnownHostsFile={known}"]
        subprocess.run([*ssh, server.address, command], check=True, stdout=subprocess.DEVNULL)
        assert doctor(front_end) == []
        # mpi4py is found there on the PYTHONPATH of the host, to which that of the run is added
        run = gcm_deploy("--quiet", "grid.xml", cwd=work)
        assert run.stdout == f"{tmp_path}/home/gcm-python\n", run.stderr


class Plan:
    """A descriptor in the making: one cluster for each fault."""

    def __init__(self, folder: Path, host: Sshd) -> None:
        self.folder = folder
        self.host = host
        self._clusters: list[str] = []

    def add(
        self, name: str, *, ssh: str = "", python: str | Path = sys.executable, folder: str = "",
        mpiexec: str | Path = "mpiexec", ranks: int = 1, more: str = "",
    ) -> None:  # fmt: skip
        self._clusters.append(
            f'<cluster name="{name}">{ssh or self.host.hop}'
            f'<front-end python="{python}" folder="{folder}"/>'
            f'<mpi ranks="{ranks}" command-path="{mpiexec}"/>{more}</cluster>'
        )

    def ssh(self, **changes: str) -> str:
        given = {
            "host": "127.0.0.1", "port": str(self.host.port), "key": f"{self.host.folder}/key",
            "known-hosts": f"{self.host.folder}/known",
        }  # fmt: skip
        given |= {name.replace("_", "-"): value for name, value in changes.items()}
        return "<ssh " + " ".join(f'{name}="{value}"' for name, value in given.items()) + "/>"

    def python(self, name: str, *lines: str) -> Path:
        """Return a Python that does something first."""
        text = "\n".join(["#!/bin/sh", *lines, f'exec {sys.executable} "$@"', ""])
        return script(self.folder / name / "python3", text)

    def write(self) -> Path:
        (self.folder / "program.py").write_text("from mpi4py import MPI\n")
        path = self.folder / "grid.xml"
        clusters = "\n".join(self._clusters)
        path.write_text(
            '<deployment><application script="program.py"/>'
            f'<grid><site name="lab">\n{clusters}\n</site></grid></deployment>'
        )
        return path


@pytest.fixture
def plan(tmp_path: Path, far_host: Sshd) -> Plan:
    return Plan(tmp_path, far_host)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A folder with little space."""
    if os.geteuid() != 0:
        pytest.skip("needs root: run the tests as root to include it")
    path = tmp_path / "full"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", path], check=True)
    yield path
    subprocess.run(["umount", path], check=True)


def test_each_of_thirteen_planted_faults_is_found_at_its_cluster_and_line(
    plan: Plan, full: Path
) -> None:
    folder = plan.folder
    strange, closed = _other_keys(plan), _closed_port()
    late = script(folder / "late" / "sitecustomize.py", LATE_CLOCK).parent
    numpy = _old_numpy(folder)
    plan.add("key", ssh=plan.ssh(key=f"{folder}/other_key"))
    plan.add("stranger", ssh=plan.ssh(known_hosts=f"{folder}/none"))
    plan.add("changed", ssh=plan.ssh(known_hosts=str(strange)))
    plan.add("lost", ssh=plan.ssh(host="no-such-host.invalid"))
    plan.add("closed", ssh=plan.ssh(port=str(closed)))
    plan.add("no-ssh", ssh=plan.ssh(command_path="/no/such/ssh"))
    plan.add("old-python", python=script(folder / "ancient" / "python3", OLD_PYTHON))
    plan.add("mpiexec", mpiexec="/no/such/mpiexec")
    plan.add("mpis", mpiexec=script(folder / "bin" / "mpiexec", OTHER_MPIEXEC))
    plan.add("files", python=plan.python("few", "ulimit -n 72"))
    plan.add("space", folder=str(full))
    plan.add("clock", python=plan.python("clock", f"export PYTHONPATH={late}"))
    plan.add("numpy", python=plan.python("numpy", f"export PYTHONPATH={numpy}"))
    plan.add("healthy")

    code, report, said = examined(plan.write(), folder=folder)

    found = {(one["where"].split(" ")[0], one["code"]) for one in report["findings"]}
    assert found == {
        ("lab/key", "ssh-no-key"),
        ("lab/stranger", "ssh-unknown-host-key"),
        ("lab/changed", "ssh-changed-host-key"),
        ("lab/lost", "unresolvable-host"),
        ("lab/closed", "not-reached"),
        ("lab/no-ssh", "no-ssh"),
        ("lab/old-python", "old-python"),
        ("lab/mpiexec", "no-mpiexec"),
        ("lab/mpis", "two-mpis"),
        ("lab/files", "few-files"),
        ("lab/space", "no-space"),
        ("lab/clock", "clock-skew"),
        ("lab/numpy", "other-numpy"),
    }, said
    assert code == UNHEALTHY
    lines = (folder / "grid.xml").read_text().splitlines()
    for one in report["findings"]:
        name = one["where"].split(" ")[0].removeprefix("lab/")
        assert f'name="{name}"' in lines[one["line"] - 1]
        assert one["why"]
        assert one["fix"]
    fixes = {one["code"]: one["fix"] for one in report["findings"]}
    assert fixes["ssh-no-key"].startswith(f"ssh-copy-id -p {plan.host.port} -i {folder}/other_key")
    assert (
        f"ssh-keygen -f {strange} -R '[127.0.0.1]:{plan.host.port}'"
        in fixes["ssh-changed-host-key"]
    )


def _other_keys(plan: Plan) -> Path:
    """Write a key that the host does not know, and return a list that knows another key of it."""
    shutil.copy(plan.host.folder / "host", plan.folder / "other_key")
    strange = plan.folder / "strange"
    public = (plan.host.folder / "key.pub").read_text()
    strange.write_text(f"[127.0.0.1]:{plan.host.port} {public}")
    return strange


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def _old_numpy(folder: Path) -> Path:
    """Return a folder in which Python finds what an old numpy says about itself."""
    known = folder / "old" / "numpy-1.20.0.dist-info"
    known.mkdir(parents=True)
    (known / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.20.0\n")
    return known.parent


def test_a_host_that_does_not_answer_keeps_no_other_from_being_examined(plan: Plan) -> None:
    plan.add("mute", python=script(plan.folder / "mute" / "python3", "#!/bin/sh\nsleep 20\n"))
    plan.add("lonely", ranks=2, more='<nodes hosts="127.0.0.1 no-such-node.invalid"/>')
    code, report, said = examined("--timeout", "7", plan.write(), folder=plan.folder)
    assert code == UNHEALTHY
    assert {(one["where"], one["code"]) for one in report["findings"]} == {
        ("lab/mute (127.0.0.1)", "not-reached"),
        ("lab/lonely, node no-such-node.invalid", "unresolvable-host"),
    }
    assert [one["reached"] for one in report["hosts"]] == [True, False, True, False]
    assert "gcm-deploy: lab/mute (127.0.0.1): waiting for the way to 127.0.0.1, " in said


NONSENSE = {
    "nested": "import sys; print('[' * 100000 + ']' * 100000, '[' * 900 + ']' * 900, sep='\\n')",
    "escapes": r"print('{\"a\\u001b[2J\": 1}')",
    "endless": "while True: print([1, 2])",
}


def test_a_host_that_answers_nonsense_keeps_no_other_from_being_examined(plan: Plan) -> None:
    for name, answer in NONSENSE.items():
        plan.folder.joinpath(f"{name}.py").write_text(answer)
        python = f'[ "$1" = -c ] || exec -a "$0" {sys.executable} "$@"\nread asked\n'
        python = f"#!/bin/bash\n{python}{sys.executable} {plan.folder}/{name}.py\nread asked\n"
        plan.add(name, python=script(plan.folder / name / "python3", python))
    plan.add("one")
    code, report, said = examined(plan.write(), folder=plan.folder)
    assert code == UNHEALTHY
    told = {one["where"]: one["what"] for one in report["findings"]}
    assert told.keys() == {f"lab/{name} (127.0.0.1)" for name in NONSENSE}, said
    assert all("the probe answers what makes no sense" in one for one in told.values()), told
    assert "".join([*told.values(), said.replace("\n", "")]).isprintable()
    assert [one["reached"] for one in report["hosts"]] == [True, False, False, False, True]


def test_a_healthy_grid_behind_ssh_has_no_findings(plan: Plan) -> None:
    plan.add("one")
    plan.add("two")
    code, report, said = examined(plan.write(), folder=plan.folder)
    assert (report["findings"], code) == ([], 0), said
    assert [one["outcome"] for one in report["connections"]] == ["open"] * len(
        report["connections"]
    )


def test_this_machine_is_examined_without_a_descriptor(tmp_path: Path) -> None:
    done = gcm_deploy("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^this machine +\S+ +3\.\d+", done.stdout, re.MULTILINE)
    assert "1 host, nothing wrong" in done.stdout
