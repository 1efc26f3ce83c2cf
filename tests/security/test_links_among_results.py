"""Links and names that a cluster chooses lead no result to where it is not wanted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.testing.sshd import Sshd
from tests.far_host import far_host  # noqa: F401 - a fixture
from tools.on_grids import COMMAND, environment

pytestmark = pytest.mark.mpi

MPIEXEC = Path(sys.executable).parent / "mpiexec"
PROGRAM = "import sys\nexec(open(sys.argv[1]).read())\nfrom mpi4py import MPI\n"

# The Python of a cluster, which says that a repository of git was there when the ranks began.
LYING_PYTHON = """\
#!/bin/bash
at=1
while [ $at -le $# ] && [ "${{!at}}" != "-c" ]; do at=$((at + 1)); done
if [ $at -gt $# ]; then exec -a "$0" "{python}" "$@"; fi
code=$((at + 1)); rest=$((at + 2))
exec -a "$0" "{python}" "${{@:1:$at}}" \
  'import sys; exec(open("{lie}").read()); told = sys.argv.pop(1); exec(told)' \
  "${{!code}}" "${{@:$rest}}"
"""
LIE = """
import json

dumps = json.dumps


def lying(what, *more):
    said = dumps(what, *more)
    if isinstance(what, list) and len(what) == 2 and what[1] is True:
        said += chr(10) + dumps([".git", "folder", 0, 0, 0o755, ""])
    return said


json.dumps = lying
"""


class Victim:
    """A program folder, and what a cluster that works in a copy of it does in each run."""

    def __init__(self, folder: Path, cluster: str = "") -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self._attack = folder / "attack"
        self._cluster = cluster or f'<front-end folder="{folder}/work"/>'
        (self.home / "program.py").write_text(PROGRAM)

    def file(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, attack: str, transfers: str = "", *options: str) -> str:
        """Run it; return what it said."""
        self._attack.write_text("import os, pathlib\n" + attack)
        (self.home / "one.xml").write_text(
            f'<deployment name="one"><application script="program.py" arguments="{self._attack}"/>'
            f'{transfers}<grid><site name="s"><cluster name="a">{self._cluster}'
            f'<mpi ranks="1" command-path="{MPIEXEC}"/></cluster></site></grid></deployment>'
        )
        words = [*COMMAND, "--quiet", *options, str(self.home / "one.xml")]
        ended = subprocess.run(
            words, capture_output=True, text=True, timeout=120, env=environment(), check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stderr

    def accept(self, *words: str, answers: str = "") -> str:
        """Accept results; return what was shown."""
        return subprocess.run(
            [*COMMAND, "accept", *words],
            cwd=self.home, input=answers, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return Victim(tmp_path)


@pytest.mark.needs_sshd
def test_a_cluster_that_lies_about_what_was_there_writes_into_no_repository(
    tmp_path: Path,
    far_host: Sshd,  # noqa: F811
) -> None:
    (tmp_path / "lie").write_text(LIE)
    prefix = tmp_path / "far/bin"
    prefix.mkdir(parents=True)
    (tmp_path / "far/pyvenv.cfg").write_text((Path(sys.prefix) / "pyvenv.cfg").read_text())
    (tmp_path / "far/lib").symlink_to(Path(sys.prefix) / "lib")
    python = prefix / "python"
    python.write_text(
        LYING_PYTHON.format(python=Path(sys.prefix) / "bin/python", lie=tmp_path / "lie")
    )
    python.chmod(0o755)
    far = f'{far_host.hop}<front-end python="{python}" folder="{tmp_path}"/>'
    victim = Victim(tmp_path, far)
    config = victim.file(".git/config", "[core]\n")
    link = "os.mkdir('.git')\nos.symlink('.git', 'latest')\n"
    assert "latest (now latest.s.a)" in victim.run(link)
    victim.run(
        "if os.path.lexists('latest'):\n    os.unlink('latest')\n"
        "os.mkdir('latest')\nopen('latest/config', 'w').write('[core]\\nfsmonitor=evil\\n')\n"
    )
    assert config.read_text() == "[core]\n"
    assert (victim.home / "latest/config").read_text().endswith("evil\n")


def test_a_rank_replaces_nothing_through_links_that_it_brought(victim: Victim) -> None:
    settings = victim.file(".vscode/settings.json", "{}")
    packages = victim.file("env/lib/site-packages/two.py", "").parent
    victim.run("os.symlink('.vscode', 'v')\nos.symlink('env/lib/site-packages', 'cfg')\n")
    victim.run(
        "for name in ('v', 'cfg'):\n"
        "    if os.path.lexists(name):\n        os.unlink(name)\n    os.mkdir(name)\n"
        "open('v/settings.json', 'w').write('evil')\n"
        "open('cfg/x.pth', 'wb').write(b'\\x80\\nimport evil\\n')\n"
    )
    assert settings.read_text() == "{}"
    assert os.listdir(packages) == ["two.py"]
    assert (victim.home / "v/settings.json").read_text() == "evil"


def test_results_go_through_a_link_of_the_user_only_where_the_descriptor_names_it(
    victim: Victim,
) -> None:
    elsewhere = victim.home.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("mine")
    (victim.home / "out").symlink_to(elsewhere)
    attack = (
        "if os.path.islink('out'):\n    os.unlink('out')\n"
        "os.makedirs('out', exist_ok=True)\nopen('out/mine', 'w').write('theirs')\n"
    )
    victim.run(attack)
    assert (elsewhere / "mine").read_text() == "mine"
    assert (victim.home / "out.s.a/mine").read_text() == "theirs"
    told = victim.run(attack, '<file-transfer direction="out" source="out"/>')
    assert "out/mine (now mine.s.a)" in told
    victim.run(attack, '<file-transfer direction="out" source="out" replace="yes"/>')
    assert (elsewhere / "mine").read_text() == "theirs"


CHANGES = """
for name in ("input.cfg", "in.melt", "hosts.txt", "Pipfile", "a.ipynb", "job.sbatch"):
    with open(name, "a") as file:
        file.write("shell evil\\n")
for name in ("data.txt", "new.html", "main.nf"):
    pathlib.Path(name).write_text("1\\n")
state = pathlib.Path("state.txt")
state.write_text(str(int(state.read_text()) + 1 if state.exists() else 1))
"""


def test_what_was_brought_from_home_stays_until_it_is_accepted(victim: Victim) -> None:
    mine = ("input.cfg", "in.melt", "hosts.txt", "Pipfile", "a.ipynb", "job.sbatch")
    for name in mine:
        victim.file(name, "mine\n").chmod(0o640)
    told = ""
    for number in ("1", "2"):
        told = victim.run(CHANGES)
        assert {(victim.home / name).read_text() for name in mine} == {"mine\n"}
        assert (victim.home / "data.txt").read_text() == "1\n"
        assert (victim.home / "state.txt").read_text() == number
        for name in (*mine[:-3], "main.nf", "new.html"):
            assert f"{name} (now {name}.s.a)" in told
            assert not (victim.home / "main.nf").exists()
    last = told.strip().splitlines()[-1]
    assert last.endswith(f"gcm-deploy accept {victim.home}"), last
    shown = victim.accept("input.cfg", answers="n\n")
    assert "+shell evil" in shown
    assert shown.endswith("[y/N/r] 1 result waits\n")
    unanswered = victim.accept("input.cfg", "main.nf")
    assert unanswered.endswith("nobody answers, so 2 results wait\n")
    assert unanswered.count("[y/N/r]") == 1
    assert (victim.home / "input.cfg").read_text() == "mine\n"
    victim.accept("input.cfg", "main.nf", answers="y\ny\n")
    assert (victim.home / "input.cfg").read_text() == "mine\nshell evil\n"
    assert (victim.home / "input.cfg").stat().st_mode & 0o777 == 0o640
    assert (victim.home / ".gcm-former/input.cfg").read_text() == "mine\n"
    assert (victim.home / "main.nf").read_text() == "1\n"
    assert victim.accept("new.html", answers="r\n").endswith("new.html.s.a: removed\n")
    assert not (victim.home / "new.html").exists()
    victim.accept("--yes")
    assert sorted(victim.home.glob("*.s.a")) == []
    assert victim.accept().startswith("no result waits")
    assert "input.cfg (now input.cfg.s.a)" in victim.run(CHANGES)  # it is the user's again


def test_results_of_a_version_that_wrote_nothing_down_are_replaced_once_asked(
    victim: Victim,
) -> None:
    steps = "pathlib.Path('out').mkdir(exist_ok=True)\nopen('out/x', 'a').write('+')\n"
    victim.run(steps)
    (victim.home / ".gcm-results").unlink()
    told = victim.run(steps)
    assert "had no list of earlier results" in told
    assert "--replace out/x; from then on" in told
    assert (victim.home / "out/x").read_text() == "+"
    victim.run(steps, "", "--replace", "out/*")
    assert "kept under" not in victim.run(steps)
    assert (victim.home / "out/x").read_text() == "+++"


@pytest.mark.needs_root
def test_a_list_of_results_of_another_account_is_not_believed(victim: Victim) -> None:
    victim.file("input.cfg", "mine\n")
    victim.run("open('input.cfg', 'w').write('theirs')\n")
    inner = victim.home / "inner"
    inner.mkdir()
    assert "input.cfg" in victim.accept(str(victim.home))
    os.chown(victim.home / ".gcm-results", 65534, 65534)
    with pytest.raises(subprocess.CalledProcessError):
        victim.accept("--yes", str(inner))
    victim.home.chmod(0o1777)
    with pytest.raises(subprocess.CalledProcessError):
        victim.accept("--yes", str(victim.home))
    assert (victim.home / "input.cfg").read_text() == "mine\n"
    victim.home.chmod(0o755)  # a folder of both
    assert "accepted" in victim.accept("--yes", str(victim.home))


def test_an_output_takes_the_place_of_a_file_of_the_user(victim: Victim) -> None:
    for name in ("input.cfg", "in.melt", "hosts.txt"):
        victim.file(name, "mine\n")
    named = '<file-transfer direction="out" source="in.*" replace="yes"/>'
    told = victim.run(CHANGES, named, "--replace", "hosts.txt")
    for name, is_replaced in (("in.melt", True), ("hosts.txt", True), ("input.cfg", False)):
        assert (victim.home / name).read_text().endswith("evil\n") is is_replaced
        assert (f"{name} (now" in told) is not is_replaced
    assert (victim.home / ".gcm-former/in.melt").read_text() == "mine\n"


def test_what_a_later_run_has_brought_makes_what_was_kept_old(victim: Victim) -> None:
    victim.file("in.melt", "mine\n")
    first = "pathlib.Path('in.melt').write_text('first')"
    assert "in.melt (now in.melt.s.a)" in victim.run(first)
    victim.run("pathlib.Path('in.melt').write_text('second')", "", "--replace", "in.melt")
    assert victim.accept("--yes").startswith("no result waits")
    assert (victim.home / "in.melt").read_text() == "second"
