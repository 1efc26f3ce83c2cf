"""What a cluster made is put where nothing executes, imports or reads it as instructions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtime.results.instructions import Instructions, own_name
from tests.planned_cluster import planned_cluster

CLUSTER = planned_cluster("b", (0, 1))
RULES = Instructions()


@pytest.mark.parametrize(
    "path",
    [
        *("a.py", "A.Py", "a.py.", "a.py ", "a.p\u200dy", "a.\uff50\uff59", "x.pyc", "x.pth"),
        *(
            "x.so",
            "x.cpython-311-x86_64-linux-gnu.so",
            "libm.so.6.1",
            "d.xml",
            "Makefile",
            "build.xml",
            "k.c",
            "runs/HEAD",
            "SConstruct",
        ),
        *("Pipfile", "Pipfile.lock", "a.ipynb", "environment.yml", "main.nf", "job.sbatch"),
        *("r.html", "Vagrantfile", "Dockerfile", "docker-compose.yaml", "uv.toml", "conftest.py"),
        *(".gcmignore", ".bashrc", "\u200d.env", "pytest.ini", "pkg/__init__.py"),
        *("latexmkrc", "jupyter_config.json", "CLAUDE.md", "AGENTS.md"),
    ],
)
def test_what_is_loaded_because_of_its_name_gets_that_of_its_cluster(path: str) -> None:
    assert RULES.place(f"/home/{path}", path, CLUSTER) == f"/home/{path}.s.b"


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "out/x.npy",
        "x.h5",
        "run.1",
        "a.json",
        "phonopy.yaml",
        "dump.0.cfg",
        "profile.dat",
        "logfile",
        "log.lammps",
        "py",
        "so",
        "x.py/a.txt",
        "a.pyx.txt",
    ],
)
def test_data_keeps_its_name(path: str) -> None:
    assert RULES.place(f"/home/{path}", path, CLUSTER) == f"/home/{path}"
    assert RULES.folder(f"/home/{path}", path, CLUSTER) == f"/home/{path}"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (".ssh/config.d/x", ".ssh.s.b/config.d/x"),
        ("a/.config/x.py", "a/.config.s.b/x.py.s.b"),
        ("numpy-1.dist-info/RECORD", "numpy-1.dist-info.s.b/RECORD"),
        ("lib/site-packages/x.txt", "lib/site-packages.s.b/x.txt"),
    ],
)
def test_folders_that_are_looked_into_get_the_name_of_the_cluster(path: str, place: str) -> None:
    assert RULES.place(f"/home/.x/{path}", path, CLUSTER) == f"/home/.x/{place}"
    above, below = path.rsplit("/", 1)
    assert RULES.folder(f"/home/{above}", above, CLUSTER) == f"/home/{place.rpartition('/')[0]}"
    assert below in place


@pytest.mark.parametrize(
    ("content", "runs"),
    [(b"1", False), (b"#!/bin/sh\n", True), (b"\x7fELF\x02", True), (b"", False)],
)
def test_what_would_run_gets_the_name_of_its_cluster(
    tmp_path: Path, content: bytes, *, runs: bool
) -> None:
    part = tmp_path / "part"
    part.write_bytes(content)
    place = RULES.place("/home/x", "x", CLUSTER, str(part))
    assert place == ("/home/x.s.b" if runs else "/home/x")


@pytest.mark.parametrize(
    ("content", "is_data"),
    [
        (b"<report><deployment/></report>", True),
        (b"<?xml version='1.0'?>\n<!-- <deployment> -->\n<VTKFile a='deployment'/>", True),
        ("<?xml version='1.0' encoding='utf-16'?><mesh/>".encode("utf-16"), True),
        (b"<mesh>" + bytes(1 << 17), True),
        (b"<deployment/>", False),
        ("<?xml version='1.0' encoding='utf-16'?><deployment/>".encode("utf-16"), False),
        (b"<a:definition xmlns:a='b'/>", False),
        (b"<!-- <report> --><componentConfiguration/>", False),
        (b"<!DOCTYPE report><report/>", False),
        (b" " * (1 << 16) + b"<report/>", False),
        (b"report", False),
        (b"", False),
    ],
)
def test_xml_is_data_unless_it_may_be_read_as_instructions(
    tmp_path: Path, content: bytes, *, is_data: bool
) -> None:
    part, target = tmp_path / "part", str(tmp_path / "report.xml")
    part.write_bytes(content)
    place = RULES.place(target, "report.xml", CLUSTER, str(part))
    assert place == (target if is_data else f"{target}.s.b")


def test_what_the_descriptor_names_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    rules = Instructions(frozenset([str(tmp_path / "real/program")]))
    target = str(tmp_path / "folder/Program")
    assert rules.place(target, "Program", CLUSTER) == f"{target}.s.b"


def test_a_link_to_a_package_is_not_imported_under_its_name(tmp_path: Path) -> None:
    for name in ("pkg", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "pkg/__init__.py").touch()
    target = str(tmp_path / "numpy")
    assert RULES.link(target, "numpy", CLUSTER, "pkg") == f"{target}.s.b"
    assert RULES.link(target, "numpy", CLUSTER, "data") == target
    assert RULES.link(target, "numpy", CLUSTER, "venv/lib/site-packages") == f"{target}.s.b"
    assert RULES.link(target, "numpy", CLUSTER, "../.vscode") == f"{target}.s.b"
    assert RULES.link(f"{target}.py", "numpy.py", CLUSTER, "data") == f"{target}.py.s.b"


def test_no_cluster_is_called_so_that_its_files_are_loaded() -> None:
    assert own_name("/a.py", replace(CLUSTER, path="s/py")) == "/a.py.s.py.kept"
    assert own_name("/a.py", replace(CLUSTER, path="lyon/rhone")) == "/a.py.lyon.rhone"


@pytest.mark.parametrize(
    ("path", "content", "place"),
    [
        ("model.pth", b"PK\x03\x04...", "model.pth"),
        ("model.pth", b"\x80\x02...", "model.pth"),
        ("model.pth", b"import os", "model.pth.s.b"),
        ("site-packages/x.pth", b"PK\x03\x04\nimport os", "site-packages.s.b/x.pth.s.b"),
    ],
    ids=["zip", "pickle", "text", "where-python-looks"],
)
def test_a_saved_model_comes_under_its_name(
    tmp_path: Path, path: str, content: bytes, place: str
) -> None:
    part = tmp_path / "part"
    part.write_bytes(content)
    part.chmod(0o644)
    assert RULES.place(f"/home/{path}", path, CLUSTER, str(part)) == f"/home/{place}"


def test_a_store_of_arrays_has_hidden_files_that_are_data() -> None:
    path = "s.zarr/t/.zarray"
    assert RULES.place(f"/home/{path}", path, CLUSTER) == f"/home/{path}"
