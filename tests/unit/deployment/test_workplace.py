"""Where the ranks of each cluster work, what is copied there, and what never is."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest

from runtime.deployment.planning.program_files import (
    EntryKind,
    FolderEntry,
    ProgramFiles,
    choose,
    copies,
    kept_here,
    readable,
    what_to_do,
)
from runtime.deployment.planning.steps import FileMove
from runtime.deployment.planning.workplace import Workplace, workplace_of

HOME = "/home/me/grid"


def workplaces(read: Any, text: str) -> list[Workplace]:
    found = read(f"<deployment>{text}</deployment>").good
    return [workplace_of(found, cluster) for cluster in found.clusters()]


def grid(*clusters: str) -> str:
    names = "abc"[: len(clusters)]
    named = zip(names, clusters, strict=True)
    inner = "".join(f'<cluster name="{name}">{one}</cluster>' for name, one in named)
    return f'<grid><site name="s">{inner}</site></grid>'


SSH, FOLDER = '<ssh host="h"/>', '<front-end folder="/scratch"/>'


@pytest.mark.parametrize(
    ("cluster", "application", "transfer", "expected"),
    [
        ("", "", "", Workplace(HOME, False, False, ())),
        (SSH, "", "", Workplace(HOME, True, True, ())),
        (FOLDER, "", "", Workplace(HOME, True, True, ())),
        (SSH, 'stage="no"', "", Workplace(HOME, False, False, ())),
        (FOLDER, 'stage="no"', "", Workplace(HOME, False, False, ())),
        ("", 'folder="/data"', "", Workplace("/data", False, False, ())),
        ("", "", '"in" source="x"', Workplace(HOME, True, True, (FileMove(f"{HOME}/x", "x"),))),
        (
            SSH, 'stage="no"', '"in" source="x"',
            Workplace(HOME, True, False, (FileMove(f"{HOME}/x", "x"),)),
        ),
        ("", "", '"out" source="x" destination="y"', Workplace(HOME, False, False, ())),
        ("", "", '"out" source="x" destination="y/{site}"', Workplace(HOME, True, True, ())),
        ("", "", '"out" source="x" destination="{cluster}"', Workplace(HOME, True, True, ())),
    ],
)  # fmt: skip
def test_a_cluster_works_in_place_on_this_machine_and_in_a_copy_elsewhere(
    read: Any, cluster: str, application: str, transfer: str, expected: Workplace
) -> None:
    moves = f"<file-transfer direction={transfer}/>" if transfer else ""
    program = f'<application module="m" {application}/>'
    assert workplaces(read, f"{program}{moves}{grid(cluster)}") == [expected]


def test_only_the_clusters_a_transfer_is_meant_for_get_a_copy(read: Any) -> None:
    moves = '<file-transfer direction="in" source="x" clusters="s/b"/>'
    found = workplaces(read, f'<application script="a.py"/>{moves}{grid("", "", SSH)}')
    assert [one.is_copy for one in found] == [False, True, True]


@pytest.mark.parametrize(
    ("program", "folder", "told"),
    [
        ('script="x/a.py"', f"{HOME}/x", "a.py"),
        ('script="x/a.py" folder="."', HOME, "x/a.py"),
        ('script="/else/a.py"', "/else", "a.py"),
        ('script="~/a.py"', "~", "a.py"),
        ('script="/else/a.py" folder="."', HOME, "/else/a.py"),
        ('executable="bin/s"', f"{HOME}/bin", "./s"),
        ('executable="s"', HOME, "s"),
        ('module="p.q"', HOME, "p.q"),
        ('module="p.q" folder="src"', f"{HOME}/src", "p.q"),
    ],
)
def test_the_program_folder_is_that_of_the_program_unless_one_is_named(
    read: Any, program: str, folder: str, told: str
) -> None:
    found = read(f"<deployment><application {program}/>{grid('')}</deployment>").good
    (code,), (cluster,) = found.applications, found.clusters()
    at = workplace_of(found, cluster)
    assert (at.folder, at.program_of(code, cluster)) == (folder, told)


def test_a_cluster_without_an_application_elsewhere_gets_a_folder_with_what_is_sent(
    read: Any,
) -> None:
    found = workplaces(
        read,
        '<assembly file="f"/><virtual-node name="v" nodes="s/a"/>'
        f'<file-transfer direction="in" source="x"/>{grid(SSH)}',
    )
    assert found == [Workplace(HOME, True, False, (FileMove(f"{HOME}/x", "x"),))]


def is_ignored(path: str) -> bool:
    return PurePosixPath(path).name in ("venv", "secret.txt")


ENTRIES = {
    "a file": (FolderEntry("a", EntryKind.FILE, 7), ("files", ("a", 7))),
    "a folder, which may be empty": (FolderEntry("d", EntryKind.FOLDER), ("folders", "d")),
    "an ignored file": (
        FolderEntry("d/secret.txt", EntryKind.FILE, 7),
        ("ignored", "d/secret.txt"),
    ),
    "an ignored folder": (FolderEntry("venv", EntryKind.FOLDER), ("ignored", "venv/")),
    "what never leaves": (FolderEntry("key", EntryKind.FILE, 7, is_kept=True), ("ignored", "key")),
    "a link inside": (FolderEntry("l", EntryKind.LINK, 7, "d/a", "file"), ("links", ("l", "d/a"))),
    "a link to a folder inside": (
        FolderEntry("l", EntryKind.LINK, 0, "d", "folder"),
        ("links", ("l", "d")),
    ),
    "a link to a file outside": (
        FolderEntry("l", EntryKind.LINK, 7, "", "file"),
        ("files", ("l", 7)),
    ),
    "a link to an ignored file": (
        FolderEntry("l", EntryKind.LINK, 7, "d/secret.txt", "file"),
        ("files", ("l", 7)),
    ),
    "a link into an ignored folder": (
        FolderEntry("l", EntryKind.LINK, 7, "venv/bin/x", "file"),
        ("files", ("l", 7)),
    ),
    "a link to a folder outside": (
        FolderEntry("l", EntryKind.LINK, 0, "", "folder"),
        ("skipped", "l is a link to a folder that is not copied"),
    ),
    "a link to nothing": (FolderEntry("l", EntryKind.LINK), ("skipped", "l is a link to nothing")),
    "a link to a device": (
        FolderEntry("l", EntryKind.LINK, leads_to=EntryKind.SPECIAL),
        ("skipped", "l is a link to a pipe, a socket or a device"),
    ),
    "a pipe": (
        FolderEntry("p", EntryKind.SPECIAL),
        ("skipped", "p is a pipe, a socket or a device"),
    ),
    "a file of somebody else": (
        FolderEntry("f", EntryKind.FILE, is_readable=False),
        ("skipped", "f cannot be read"),
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_each_kind_of_entry_is_copied_or_left_out_in_its_way(name: str) -> None:
    entry, (field, expected) = ENTRIES[name]
    found = choose([entry], is_ignored)
    sets = {one: getattr(found, one) for one in ("files", "folders", "links", "ignored", "skipped")}
    assert {name: value for name, value in sets.items() if value} == {field: (expected,)}


def test_the_limit_is_one_of_bytes_and_of_files() -> None:
    assert not ProgramFiles((("a", 2_000_000),)).exceeds(2)
    assert ProgramFiles((("a", 2_000_001),)).exceeds(2)
    many = tuple((str(number), 0) for number in range(201))
    assert not ProgramFiles(many[:200]).exceeds(2)
    assert ProgramFiles(many).exceeds(2)


def test_the_cure_names_the_largest_and_a_limit_that_would_do(read: Any) -> None:
    (code,) = read.body(grid(SSH)).good.applications
    files = ProgramFiles((("data/a", 150_000_000), ("data/b", 100_000_000), ("c", 900)))
    cure = what_to_do(code, files)
    assert "the largest: data/ 250.0 MB, c 900 bytes; " in cure
    assert 'stage-limit="251"' in cure
    assert not files.exceeds(251)


def test_keys_and_results_that_came_home_are_never_copied(read: Any) -> None:
    found = read.body(
        '<file-transfer direction="out" source="x" destination="run-{cluster}"/>'
        + grid('<ssh host="h" key="keys/id" known-hosts="/etc/known"/>')
    ).good
    assert list(kept_here(found)) == [f"{HOME}/keys/id", "/etc/known", f"{HOME}/run-a"]
    assert [one.path for one in copies(found)["application"]] == ["s/a"]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 KB"), (2_500_000, "2.5 MB"),
     (3 * 10**9, "3.0 GB"), (4 * 10**15, "4000.0 TB")],
)  # fmt: skip
def test_sizes_are_written_as_people_write_them(size: int, text: str) -> None:
    assert readable(size) == text


def test_a_helper_of_this_machine_starts_in_the_descriptors_folder_unless_it_has_one(
    read: Any,
) -> None:
    found = read.body(
        '<emulate/><process id="a" program="x"/><process id="b" program="x" folder="sub"/>'
        '<process id="c" program="x" folder="sub" on="site0/cluster0"/>'
        '<process id="d" kind="ssh" program="x" hosts="h"/>'
    ).good
    assert [one.folder for one in found.processes] == [HOME, f"{HOME}/sub", "sub", ""]


def test_the_folder_of_a_front_end_here_begins_at_the_descriptor_and_there_at_its_home(
    read: Any,
) -> None:
    runs = '<front-end folder="runs"/>'
    found = read.body(grid(runs, SSH + runs)).good
    assert [one.front_end.folder for one in found.clusters()] == [f"{HOME}/runs", "runs"]
