"""What is found in a real folder: files, links, what is left out and what cannot be copied."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import Deployment, DescriptorContext, read_descriptor
from runtime.launchers.errors import StagingFailed
from runtime.results.program_survey import survey
from runtime.views.fact_lines import heading
from runtime.views.page import page_of
from runtime.views.trace import Trace

TEXT = (
    '<deployment><application script="a.py"/><grid><site><cluster>'
    '<ssh host="h" key="{key}"/></cluster></site></grid>{more}</deployment>'
)


def described(folder: Path, key: str = "", more: str = "") -> Deployment:
    (folder / "a.py").touch()
    text = TEXT.format(key=key, more=more)
    found = Diagnostics()
    deployment = read_descriptor(
        text.encode(), name="t.xml", surroundings=DescriptorContext(str(folder)), diagnostics=found
    )
    assert deployment is not None, [str(one) for one in found]
    return deployment


def test_all_of_a_folder_is_copied_but_what_is_ignored(tmp_path: Path) -> None:
    for name in ("data/deep", "venv/lib", ".git", "__pycache__", "old", "kept"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("12345")
    (tmp_path / "x.pyc").touch()
    (tmp_path / ".gcmignore").write_text("# mine\nold/\n*.tmp\n!needed.tmp\n")
    (tmp_path / "a.tmp").touch()
    (tmp_path / "needed.tmp").touch()
    deployment = described(tmp_path)
    found = survey(deployment.applications[0], deployment)
    assert [path for path, _ in found.files] == [
        ".gcmignore", "a.py", "data/deep/file", "kept/file", "needed.tmp",
    ]  # fmt: skip
    assert dict(found.files)["data/deep/file"] == 5
    assert found.folders == ("data", "data/deep", "kept")
    assert found.ignored == (".git/", "__pycache__/", "a.tmp", "old/", "venv/", "x.pyc")
    assert found.skipped == ()


def test_what_is_built_in_can_be_taken_back(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "file").touch()
    (tmp_path / ".gcmignore").write_text("!venv\n")
    deployment = described(tmp_path)
    found = survey(deployment.applications[0], deployment)
    assert "venv/file" in dict(found.files)


def test_links_that_stay_inside_are_links_wherever_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "one").write_text("1")
    (tmp_path / "absolute").symlink_to(tmp_path / "data" / "one")
    (tmp_path / "data" / "deep" / "up").symlink_to("../../a.py")
    (tmp_path / "chain").symlink_to("absolute")
    (tmp_path / "folder").symlink_to("data")
    (tmp_path / "data" / "circle").symlink_to("..")
    deployment = described(tmp_path)
    found = survey(deployment.applications[0], deployment)
    assert dict(found.links) == {
        "absolute": "data/one",
        "chain": "data/one",
        "folder": "data",
        "data/circle": ".",
        "data/deep/up": "a.py",
    }


def test_links_to_elsewhere_become_files_or_are_told(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    (other / "file").write_text("123")
    (home / "file").symlink_to(other / "file")
    (home / "folder").symlink_to(other)
    (home / "nothing").symlink_to("missing")
    (home / "circle").symlink_to("circle")
    (home / "device").symlink_to("/dev/null")
    os.mkfifo(home / "pipe")
    deployment = described(home)
    found = survey(deployment.applications[0], deployment)
    assert dict(found.files) == {"a.py": 0, "file": 3}
    told = [(words[0], words[-1]) for words in map(str.split, found.skipped)]
    assert told == [
        ("circle", "nothing"),
        ("device", "device"),
        ("folder", "copied"),
        ("nothing", "nothing"),
        ("pipe", "device"),
    ]


def test_a_key_never_leaves_not_even_through_a_link_or_against_the_ignore_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "id").write_text("secret")
    (tmp_path / "also").symlink_to("keys/id")
    (tmp_path / ".gcmignore").write_text("!keys\n!id\n!also\n")
    deployment = described(tmp_path, key="keys/id")
    found = survey(deployment.applications[0], deployment)
    assert found.ignored == ("also", "keys/id")
    assert dict(found.files).keys() == {".gcmignore", "a.py"}
    assert found.links == ()


def test_results_that_have_come_home_do_not_go_out_again(tmp_path: Path) -> None:
    (tmp_path / "results" / "site0").mkdir(parents=True)
    (tmp_path / "results" / "site0" / "out").touch()
    (tmp_path / "run-cluster0").mkdir()
    (tmp_path / "run-cluster0" / "out").touch()
    more = '<file-transfer direction="out" source="out" destination="results/{site}"/>'
    more += '<file-transfer direction="out" source="out" destination="run-{cluster}"/>'
    deployment = described(tmp_path, more=more)
    found = survey(deployment.applications[0], deployment)
    assert found.ignored == ("results/site0/", "run-cluster0/")
    assert found.folders == ("results",)


def test_a_folder_that_nobody_wants_to_copy_is_not_looked_through_to_its_end(
    tmp_path: Path,
) -> None:
    deployment = described(tmp_path)
    for number in range(7):
        (tmp_path / str(number)).touch()
    with pytest.raises(StagingFailed, match="holds more than 7 files and folders"):
        survey(deployment.applications[0], deployment, most=7)
    assert len(survey(deployment.applications[0], deployment, most=8).files) == 8


def test_no_copy_is_part_of_another_copy(tmp_path: Path) -> None:
    (tmp_path / "runs" / "kept").mkdir(parents=True)
    (tmp_path / "runs" / "kept" / "file").touch()
    found = Diagnostics()
    deployment = read_descriptor(
        b'<deployment><application script="a.py"/><grid><site><cluster><front-end folder="runs"/>'
        b"</cluster></site></grid></deployment>",
        name="t.xml",
        surroundings=DescriptorContext(str(tmp_path)),
        diagnostics=found,
    )
    assert deployment is not None
    assert survey(deployment.applications[0], deployment).ignored == ("runs/",)


def test_an_ignore_file_with_a_bad_pattern_is_named(tmp_path: Path) -> None:
    (tmp_path / ".gcmignore").write_text("good\n!\n")
    deployment = described(tmp_path)
    with pytest.raises(StagingFailed, match="a bad pattern in line 2: !") as caught:
        survey(deployment.applications[0], deployment)
    assert caught.value.place == str(tmp_path / ".gcmignore")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.txt", "# gcm credential\n# lab: x\n-----BEGIN CERTIFICATE-----\n", "a lab"),
        ("key", "note\n-----BEGIN OPENSSH PRIVATE KEY-----\n", "is a private key"),
        ("key.yml", "tls:\n  -----BEGIN RSA PRIVATE KEY-----\n", "is a private key"),
        ("x.Pem", "", "has a name for secrets"),
        (".env.local", "", "has a name for secrets"),
        ("page.md", "`-----BEGIN PRIVATE KEY-----` begins a key\n", ""),
        ("a.crt", "-----BEGIN CERTIFICATE-----\n", ""),
        ("tests.py", 'TEXT = "# gcm credential"\n', ""),
    ],
)
def test_secrets_are_not_copied_and_told(tmp_path: Path, name: str, content: str, why: str) -> None:
    deployment = described(tmp_path)
    (tmp_path / name).write_text(content)
    (tmp_path / "link").symlink_to(name)
    found = survey(deployment.applications[0], deployment)
    assert (name in dict(found.files)) is not bool(why)
    assert all(one.endswith(why) for one in found.skipped)
    assert len(found.skipped) == (2 if why else 0)


def test_what_runs_have_written_about_themselves_is_no_input_of_the_next_one(
    tmp_path: Path,
) -> None:
    deployment = described(tmp_path)
    (tmp_path / "run.facts").write_bytes(heading())
    (tmp_path / "trace.json").write_bytes(b"".join(Trace().lines()))
    (tmp_path / "run.html").write_text(page_of({"title": "a run"}))
    (tmp_path / "trace.otf2").mkdir()
    (tmp_path / "mine.html").write_text("<!DOCTYPE html><title>mine</title>")
    (tmp_path / "mine.json").write_text('{"displayTimeUnit": "ms"}')
    found = survey(deployment.applications[0], deployment)
    assert [path for path, _ in found.files] == ["a.py", "mine.html", "mine.json"]
    assert found.ignored == ("run.facts", "run.html", "trace.json", "trace.otf2/")
