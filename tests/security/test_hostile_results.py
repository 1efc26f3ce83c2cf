"""A compromised cluster writes programs among its results: the next run loads none of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.exit_codes import OUTPUT_FAILED
from runtime.launchers.family import remove_tree
from runtime.testing.sshd import Sshd, running_sshd
from tools.on_grids import COMMAND, environment

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

MPIEXEC = Path(sys.executable).parent / "mpiexec"

# The first cluster is hostile. All else is an honest program that goes on from its own file.
PROGRAM = """\
import os, pathlib, sys
import helper
from mpi4py import MPI

rank, told = MPI.COMM_WORLD.rank, pathlib.Path(sys.argv[1])
state = pathlib.Path("out/state.txt")
step = int(state.read_text()) if state.exists() else 0
MPI.COMM_WORLD.barrier()
if rank == 1:
    state.parent.mkdir(exist_ok=True)
    state.write_text(str(step + 1))
    print("step", step + 1, flush=True)
if rank == 0:
    exec(pathlib.Path(told, "attack").read_text())
"""
ATTACK = """
proof = f"open({str(told / 'proof')!r}, 'a').write(__file__ + chr(10))\\n"
for name in ("two.py", "TWO.PY", "helper.py", "mpi4py.py", "sitecustomize.py", "conftest.py",
             "sub/fresh.py", "pkg/__init__.py"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "a") as file:
        file.write(proof)
shell = f"#!/bin/sh\\necho $0 >>{told / 'proof'}\\nexec mpiexec \\"$@\\"\\n"
for name in ("evil.sh", "mpirun", "plain"):
    with open(name, "w") as file:
        file.write(shell)
os.chmod("evil.sh", 0o755)
os.chmod("mpirun", 0o755)
two = pathlib.Path("two.xml").read_text()
mine, _, other = two.partition('name="b"')
old, new = __MPIEXEC__, str(told / "home/evil.sh")
pathlib.Path("two.xml").write_text(mine + 'name="b"' + other.replace(old, new))
pathlib.Path(".gcmignore").write_text("helper.py\\n")
pathlib.Path("evil.pth").write_text("import two\\n")
for name in ("_fast.so", "libm.so.6", "native"):
    pathlib.Path(name).write_bytes(b"\\x7fELF")
os.makedirs(".config/x", exist_ok=True)
pathlib.Path(".config/x/data").write_text("1")
os.makedirs("json.dist-info", exist_ok=True)
pathlib.Path("json.dist-info/entry_points.txt").write_text("x")
os.symlink("sub", "link.so")
os.symlink("data.txt", "numpy.py")
os.makedirs("x.py", exist_ok=True)
pathlib.Path("x.py/data.txt").write_text("1")
pathlib.Path("data.txt").write_text("data")
os.chmod("data.txt", 0o777)  # as where a file system has no rights
pathlib.Path("asked.py").write_text("asked = 1\\n")
pathlib.Path("report.xml").write_text("<report/>")
pathlib.Path("next.xml").write_text(two)
""".replace("__MPIEXEC__", repr(str(MPIEXEC)))

HELD = {
    *("two.py.s.a", "TWO.PY.s.a", "helper.py.s.a", "mpi4py.py.s.a", "sitecustomize.py.s.a"),
    *("conftest.py.s.a", "sub/fresh.py.s.a", "pkg/__init__.py.s.a", "evil.sh.s.a", "mpirun.s.a"),
    *("plain.s.a", "two.xml.s.a", "next.xml.s.a", ".gcmignore.s.a", "evil.pth.s.a", "_fast.so.s.a"),
    *("libm.so.6.s.a", "native.s.a", ".config.s.a/x/data", "json.dist-info.s.a/entry_points.txt"),
    *("link.so.s.a", "numpy.py.s.a"),
}


@dataclass
class Victim:
    """A program folder, and two clusters behind an sshd: `s/a` is hostile."""

    folder: Path
    server: Sshd

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def write(self, transfers: str = "") -> None:
        self.home.mkdir()
        (self.home / "two.py").write_text(PROGRAM)
        (self.home / "helper.py").write_text("")
        clusters = "".join(
            f'<cluster name="{name}">{self.server.hop}<front-end python="{sys.executable}"/>'
            f'<mpi ranks="1" command-path="{MPIEXEC}"/></cluster>'
            for name in "ab"
        )
        (self.home / "two.xml").write_text(
            f'<deployment name="two"><application script="two.py" arguments="{self.folder}"/>'
            f'{transfers}<grid><site name="s">{clusters}</site></grid></deployment>'
        )
        (self.folder / "attack").write_text(ATTACK)

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        words = [*COMMAND, *(options or ["--quiet"]), str(self.home / "two.xml")]
        env = {**environment(), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            words, capture_output=True, text=True, timeout=120, env=env, check=False
        )

    @property
    def files(self) -> dict[str, Path]:
        found = (one for one in self.home.rglob("*") if one.is_symlink() or one.is_file())
        return {str(one.relative_to(self.home)): one for one in found}


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    (tmp_path / "sshd").mkdir()
    with running_sshd(tmp_path / "sshd") as server:
        yield Victim(tmp_path, server)


HOSTILE_NAME = "\x1b]0;mine\x07\ngcm-deploy: all is well\r\u202e"
NAMES = f"""
evil = {HOSTILE_NAME!r}
for name in ("module.py", "data", "key.pem", "~"):
    pathlib.Path(evil + name).write_text(name + r"\x1b[2J" * (name == "module.py"))
pathlib.Path(evil + "two.py").write_text("replaced")
os.mkfifo(evil + "pipe")
os.mkdir(evil + "folder.dist-info")
pathlib.Path(evil + "folder.dist-info/x").write_text("1")
"""


def test_names_of_results_steer_no_terminal_and_add_no_lines(victim: Victim) -> None:
    victim.write()
    (victim.home / ".gcmignore").write_text("*~\n")
    (victim.folder / "attack").write_text(NAMES)
    ended = victim.run("--verbose", "--summary")
    assert (ended.returncode, ended.stdout) == (0, "step 1\n"), ended.stderr
    planned = victim.run("--dry-run")  # of the next run, which does not copy the key
    assert planned.returncode == 0, planned.stderr
    told = ended.stderr + planned.stderr + planned.stdout
    assert [one for one in told if not one.isprintable() and one != "\n"] == []
    assert not re.search("^gcm-deploy: all is well", told, re.MULTILINE), told
    evil = r"\x1b]0;mine\x07\ngcm-deploy: all is well\r\u202e"
    for line in (
        f"{evil}module.py (now {evil}module.py.s.a)",
        f"{evil}folder.dist-info/x (now {evil}folder.dist-info.s.a/x)",
        f"not brought home: {evil}pipe: a FIFO",
        f"is copied: {evil}key.pem has a name for secrets",
        f"  left out: {evil}",
    ):
        assert line in told, told
    asked = accept(victim, "n\n" * 10)
    named = accept(victim, "", str(victim.home / (HOSTILE_NAME + "two.py")))
    put = accept(victim, "", "--yes")
    for one in (asked, named, put):
        assert one.returncode == 0, one.stderr
        shown = one.stdout + one.stderr
        assert [each for each in shown if not each.isprintable() and each != "\n"] == []
        assert not re.search("^gcm-deploy: all is well", shown, re.MULTILINE), shown
    assert "+replaced" in named.stdout
    assert f"Put {evil}module.py.s.a in the place of {evil}module.py? [y/N/r] " in asked.stdout
    assert f"{evil}module.py: accepted\n" in put.stdout
    assert (victim.home / (HOSTILE_NAME + "module.py")).read_text() == "module.py\x1b[2J"


def accept(victim: Victim, answers: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "accept", *words],
        cwd=victim.home, input=answers, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_nothing_that_came_home_is_loaded_by_the_next_run(victim: Victim) -> None:
    victim.write('<file-transfer direction="out" source="asked.py"/>')
    mine = {name: path.read_bytes() for name, path in victim.files.items()}
    for step in (1, 2):  # the second time with what the first one left
        ended = victim.run()
        assert (ended.returncode, ended.stdout) == (0, f"step {step}\n"), ended.stderr
        assert not (victim.folder / "proof").exists(), (victim.folder / "proof").read_text()
        files = victim.files
        assert {name: files[name].read_bytes() for name in mine} == mine
        assert (files["out/state.txt"].read_text(), files["data.txt"].read_text()) == (
            str(step),
            "data",
        )
        new = set(files) - set(mine) - {"out/.gcm-former/state.txt", ".gcm-results"}
        assert new == {
            *HELD,
            "out/state.txt",
            "data.txt",
            "asked.py",
            "report.xml",
            "x.py/data.txt",
        }
        is_executable = [name for name in {*HELD, "data.txt"} if os.access(files[name], os.X_OK)]
        assert [one for one in is_executable if not files[one].is_dir()] == []
        assert files["data.txt"].stat().st_mode & 0o002 == 0, "others write nothing here"
        for name in ("two.py", "two.xml", "evil.sh"):
            assert f"{name} (now {name}.s.a)" in ended.stderr
    assert (victim.home / "out/.gcm-former/state.txt").read_text() == "1"


DEEP = """
for _ in range(30):
    os.mkdir("deep" * 50)
    os.chdir("deep" * 50)
pathlib.Path("result").touch()
"""


def test_a_result_too_deep_to_be_listed_is_named_and_its_copy_kept(victim: Victim) -> None:
    victim.write()
    (victim.folder / "attack").write_text(DEEP)
    ended = victim.run()
    told = re.search(
        "s/a: results could not be brought home, and stay in (.*?):(/.*?)[.] ", ended.stderr
    )
    assert ended.returncode == OUTPUT_FAILED, ended.stderr
    assert told is not None
    assert "File name too long" in ended.stderr
    assert len(list(Path(told[2]).glob("/".join(["deep" * 50] * 18)))) == 1
    remove_tree(told[2])
    assert not Path(told[2]).exists()
