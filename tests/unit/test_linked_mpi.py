"""Which files reach an MPI, as often as somebody asks and whatever they were before."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from runtime.linked_mpi import reaches_mpi

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc links the libraries")


def link(folder: Path, name: str, *needed: str) -> str:
    """Link a library that needs others of its folder, which may be there or not."""
    stubs = folder / "stubs"
    stubs.mkdir(exist_ok=True)
    for one in needed:
        command = ["gcc", "-shared", "-nostdlib", "-o", str(stubs / one), f"-Wl,-soname,{one}"]
        subprocess.run([*command, "-xc", "/dev/null"], check=True, timeout=60)
    made = folder / name
    made.unlink(missing_ok=True)
    command = ["gcc", "-shared", "-nostdlib", "-o", str(made), "-Wl,--no-as-needed,-rpath,$ORIGIN"]
    libraries = [str(stubs / one) for one in needed]
    subprocess.run([*command, "-xc", "/dev/null", "-xnone", *libraries], check=True, timeout=60)
    return str(made)


def test_a_file_that_was_missing_is_looked_into_when_it_is_there(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            reaches_mpi(str(tmp_path / "liblate.so"), {})
    assert reaches_mpi(link(tmp_path, "liblate.so", "libmpi.so.12"), {})


def test_what_is_built_again_is_read_again_and_so_is_what_it_needs(tmp_path: Path) -> None:
    outer = link(tmp_path, "libouter.so", "libinner.so")
    inner = link(tmp_path, "libinner.so")
    assert (reaches_mpi(outer, {}), reaches_mpi(inner, {})) == (False, False)
    link(tmp_path, "libinner.so", "libmpi.so.12")
    assert (reaches_mpi(outer, {}), reaches_mpi(inner, {})) == (True, True)


def test_libraries_that_need_each_other_all_reach_what_one_of_them_does(tmp_path: Path) -> None:
    first = link(tmp_path, "libfirst.so", "libsecond.so", "libthird.so")
    second = link(tmp_path, "libsecond.so", "libfirst.so")
    link(tmp_path, "libthird.so", "libmpi.so.12")
    assert [reaches_mpi(one, {}) for one in (first, second)] == [True, True]
