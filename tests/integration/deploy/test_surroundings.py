"""What a program finds is the same on every cluster: on this machine, in a copy, and over ssh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.testing.sshd import running_sshd
from tools.on_grids import COMMAND, ROOT

# Each rank writes what it finds as one line; what differs by design is put in relation.
LOOKS = """
import json, os, sys
import beside
from parts import inner
from mpi4py import MPI

here = os.getcwd()
mask = os.umask(0)
os.umask(mask)
names = [one for one in os.environ if one.startswith(("OMP_", "HEAT_", "TOKEN", "SET"))]
seen = {
    "file": os.path.relpath(__file__, here),
    "file is absolute": os.path.isabs(__file__),
    "arguments": sys.argv,
    "first on the path": os.path.relpath(sys.path[0], here),
    "modules": [beside.VALUE, inner.VALUE],
    "data": open("data/field.txt").read(),
    "a link": open("shortcut.txt").read(),
    "an empty folder": os.listdir("empty"),
    "is executable": os.access("tool.sh", os.X_OK),
    "ignored": os.path.exists("big.tmp"),
    "umask": oct(mask),
    "environment": {name: os.environ[name] for name in sorted(names)},
}
print(json.dumps([here, seen]), flush=True)
open(f"rank-{MPI.COMM_WORLD.rank}.out", "w").write("x")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a program with all that it needs beside it, in a folder with other things."""
    home = tmp_path / "heat"
    for name in ("parts", "data", "empty", "__pycache__"):
        (home / name).mkdir(parents=True)
    (home / "looks.py").write_text(LOOKS)
    (home / "beside.py").write_text("VALUE = 1\n")
    (home / "parts" / "inner.py").write_text("VALUE = 2\n")
    (home / "data" / "field.txt").write_text("42")
    (home / "shortcut.txt").symlink_to("data/field.txt")
    (home / "tool.sh").write_text("#!/bin/sh\n")
    (home / "tool.sh").chmod(0o755)
    (home / ".gcmignore").write_text("# results of yesterday\n*.old\n")
    (home / "field.old").write_text("old")
    return home


@pytest.fixture(scope="module")
def hop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The element that leads to an sshd where the login knows nothing of this Python."""
    folder = tmp_path_factory.mktemp("sshd")
    with running_sshd(folder, PATH="/usr/local/bin:/usr/bin:/bin") as server:
        yield server.hop


def cluster(name: str, way: str = "", folder: str = "") -> str:
    where = f' folder="{folder}"' if folder else ""
    mpiexec = Path(sys.executable).parent / "mpiexec"
    return (
        f'<cluster name="{name}">{way}<front-end python="{sys.executable}"{where}/>'
        f'<mpi ranks="1" command-path="{mpiexec}"/></cluster>'
    )


def grid(*clusters: str) -> str:
    return f"<grid><site name='s'>{''.join(clusters)}</site></grid>"


Deploy = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def deploy(folder: Path, tmp_path: Path) -> Deploy:
    """Return what runs `gcm-deploy` for a descriptor in the program folder, called elsewhere."""

    def run(application: str, machine: str, *words: str, **options: object) -> object:
        (folder / "d.xml").write_text(f"<deployment>{application}{machine}</deployment>")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "3"}
        settings: dict[str, object] = {"env": environment, "cwd": tmp_path, **options}
        return subprocess.run(  # type: ignore[call-overload]  # options
            [*COMMAND, "--quiet", *words, str(folder / "d.xml")],
            capture_output=True, text=True, check=False, timeout=120, **settings,
        )  # fmt: skip

    return run  # type: ignore[return-value]  # that of subprocess.run


def rows(answer: subprocess.CompletedProcess[str]) -> list[tuple[str, dict[str, object]]]:
    assert answer.returncode == 0, answer.stderr
    return [tuple(json.loads(line)) for line in answer.stdout.splitlines()]


pytestmark = [pytest.mark.mpi]


@pytest.mark.needs_sshd
def test_a_program_finds_the_same_in_place_in_a_copy_and_over_ssh(
    deploy: Deploy, folder: Path, hop: str, tmp_path: Path
) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "3",
        "HEAT_STEPS": "7",
        "HEAT_SIZE": "9",
        "TOKEN": "s3cret",
    }
    answer = deploy(
        '<application script="looks.py" arguments="one"><environment name="HEAT_*"/>'
        '<environment name="SET" value="here"/></application>',
        grid(cluster("a"), cluster("b", folder=str(tmp_path / "made")), cluster("c", hop)),
        "-x", "TOKEN", "-x", "SETTLED=yes",
        env=environment, umask=0o027,
    )  # fmt: skip
    found = rows(answer)
    assert len(found) == 3
    places = {place for place, _ in found}
    assert str(folder) in places
    assert len(places) == 3
    for _, seen in found:
        assert seen == {
            "file": "looks.py",
            "file is absolute": True,
            "arguments": ["looks.py", "one"],
            "first on the path": ".",
            "modules": [1, 2],
            "data": "42",
            "a link": "42",
            "an empty folder": [],
            "is executable": True,
            "ignored": False,
            "umask": "0o27",
            "environment": {
                "HEAT_SIZE": "9",
                "HEAT_STEPS": "7",
                "OMP_NUM_THREADS": "3",
                "SET": "here",
                "SETTLED": "yes",
                "TOKEN": "s3cret",
            },
        }
    assert (folder / "rank-0.out").stat().st_mode & 0o777 == 0o640


@pytest.mark.needs_sshd
def test_a_module_is_found_in_the_program_folder_and_copied_with_it(
    deploy: Deploy, folder: Path, hop: str
) -> None:
    (folder / "parts" / "__init__.py").touch()
    (folder / "parts" / "__main__.py").write_text("import looks\n")
    answer = deploy('<application module="parts"/>', grid(cluster("a"), cluster("c", hop)))
    found = [{**seen, "arguments": []} for _, seen in rows(answer)]  # argv[0] is a full path
    assert found[0] == found[1]
    assert found[0]["modules"] == [1, 2]


def test_what_the_ignore_file_names_and_what_is_built_in_stays_here(
    deploy: Deploy, folder: Path, tmp_path: Path
) -> None:
    (folder / "lists.py").write_text("import os; print(*sorted(os.listdir()), sep=chr(10))\n")
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("nothing")
    (tmp_path / "outside.txt").write_text("from outside")
    (folder / "outside.txt").symlink_to(tmp_path / "outside.txt")
    answer = deploy(
        '<application script="lists.py"/>', grid(cluster("a", folder=str(tmp_path / "made")))
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == [
        ".gcmignore", "beside.py", "d.xml", "data", "empty", "lists.py", "looks.py",
        "outside.txt", "parts", "shortcut.txt", "tool.sh",
    ]  # fmt: skip
    assert "warning[not-copied]" in answer.stderr
    assert "dangling is" in answer.stderr
    assert "pipe is" in answer.stderr


def test_a_traceback_has_the_file_of_which_a_rank_ran_a_copy(
    deploy: Deploy, folder: Path, tmp_path: Path
) -> None:
    (folder / "fails.py").write_text("import nowhere\n")
    made = tmp_path / "made"
    answer = deploy('<application script="fails.py"/>', grid(cluster("a", folder=str(made))))
    assert f'File "{folder}/fails.py", line 1' in answer.stderr
    assert str(made) not in answer.stderr


def test_more_than_the_limit_is_refused_with_the_largest_and_the_cure(
    deploy: Deploy, folder: Path, tmp_path: Path
) -> None:
    with open(folder / "data" / "huge.bin", "wb") as file:
        file.truncate(3_000_000)
    machine = grid(cluster("a", folder=str(tmp_path / "made")))
    answer = deploy('<application script="looks.py" stage-limit="2"/>', machine)
    assert answer.returncode == 201
    assert "d.xml:1: error[too-much-to-copy]" in answer.stderr
    assert "the largest: data/ 3.0 MB" in answer.stderr
    assert 'write stage-limit="4"' in answer.stderr
    assert f"{folder}/.gcmignore" in answer.stderr
    (folder / ".gcmignore").write_text("*.bin\n")
    assert deploy('<application script="looks.py" stage-limit="2"/>', machine).returncode == 0


def test_much_is_copied_with_a_hint_unless_it_is_said_how_much_is_right(
    deploy: Deploy, folder: Path, tmp_path: Path
) -> None:
    with open(folder / "data" / "earlier.bin", "wb") as file:
        file.truncate(11_000_000)
    machine = grid(cluster("a", folder=str(tmp_path / "made")))
    for limit, is_told in (("", True), ('stage-limit="12"', False)):
        answer = deploy(f'<application script="looks.py" {limit}/>', machine)
        assert answer.returncode == 0
        assert ("warning[much-to-copy]" in answer.stderr) == is_told
        assert ("the largest: data/ 11.0 MB" in answer.stderr) == is_told


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 201)])
def test_on_a_terminal_it_is_a_question(
    folder: Path, tmp_path: Path, answer: str, code: int
) -> None:
    with open(folder / "huge.bin", "wb") as file:
        file.truncate(3_000_000)
    machine = grid(cluster("a", folder=str(tmp_path / "made")))
    (folder / "d.xml").write_text(
        f'<deployment><application script="looks.py" stage-limit="2"/>{machine}</deployment>'
    )
    person, terminal = os.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--quiet", str(folder / "d.xml")],
        stdin=terminal, stdout=subprocess.PIPE, stderr=terminal,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
    )  # fmt: skip
    os.close(terminal)
    said = b""
    while b"copy them? [y/N] " not in said:
        said += os.read(person, 4096)
    os.write(person, f"{answer}\n".encode())
    with suppress(OSError):  # the other end is closed: the end, on Linux
        while more := os.read(person, 4096):
            said += more
    process.communicate()
    os.close(person)
    assert process.returncode == code, said
    assert b"8 files, 3.0 MB would be copied to 1 cluster; the limit is 2 MB" in said
    assert b"3.0 MB  huge.bin" in said
    assert (b"too-much-to-copy" in said) == bool(code)


@pytest.mark.needs_sshd
def test_a_folder_that_is_there_already_is_used_as_it_is(
    deploy: Deploy, folder: Path, hop: str
) -> None:
    machine = grid(cluster("c", hop))
    ((place, seen),) = rows(deploy('<application script="looks.py" stage="no"/>', machine))
    assert place == str(folder)
    assert seen["data"] == "42"
    answer = deploy('<application script="/nowhere/looks.py" stage="no"/>', machine)
    assert answer.returncode == 203
    assert "the program folder /nowhere cannot be used" in answer.stderr
    assert 'leave out stage="no"' in answer.stderr


def test_a_dry_run_tells_where_each_cluster_works_and_what_is_copied(
    deploy: Deploy, folder: Path
) -> None:
    machine = grid(cluster("a"), cluster("b", '<ssh host="far.example"/>'))
    answer = deploy('<application script="looks.py"/>', machine, "--dry-run")
    assert f"      works in {folder}\n" in answer.stdout
    assert f"      works in a copy of {folder} (7 files, " in answer.stdout
    assert "  left out: .gcmignore" not in answer.stdout
    assert "left out: __pycache__/, field.old\n" in answer.stdout


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["-x", "HEAT_MISSING"], "-x HEAT_MISSING: there is no such variable"),
        (["-x", "1=2"], "'1=2' is neither NAME nor NAME=VALUE"),
    ],
)
def test_a_variable_without_a_value_is_a_wrong_command_line(
    deploy: Deploy, given: list[str], expected: str
) -> None:
    answer = deploy('<application script="looks.py"/>', grid(cluster("a")), *given)
    assert answer.returncode == 202
    assert expected in answer.stderr


@pytest.mark.needs_sshd
def test_a_program_that_misses_what_was_not_copied_is_told_so(
    deploy: Deploy, folder: Path, hop: str
) -> None:
    (folder / ".gcmignore").write_text("beside.py\n")
    answer = deploy('<application script="looks.py"/>', grid(cluster("c", hop)))
    assert answer.returncode == 1
    assert "No module named 'beside'" in answer.stderr
    assert f"'beside.py' of {folder} is not copied to s/c: .gcmignore" in answer.stderr
