"""Which files reach an MPI, as often as somebody asks and whatever they were before."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from runtime import linked_mpi
from runtime.linked_mpi import find_library, reaches_mpi, system_library

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc links the libraries")


def link(folder: Path, name: str, *needed: str, rpath: str = "-rpath,$ORIGIN") -> str:
    """Link a library that needs others of its folder, which may be there or not."""
    stubs = folder / "stubs"
    stubs.mkdir(exist_ok=True)
    for one in needed:
        command = ["gcc", "-shared", "-nostdlib", "-o", str(stubs / one), f"-Wl,-soname,{one}"]
        subprocess.run([*command, "-xc", "/dev/null"], check=True, timeout=60)
    made = folder / name
    made.unlink(missing_ok=True)
    command = ["gcc", "-shared", "-nostdlib", "-o", str(made), f"-Wl,--no-as-needed,{rpath}"]
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


def test_folders_of_what_asks_hold_for_what_it_needs_too(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    link(tmp_path / "deep", "libinner.so", "libmpi.so.12")
    link(tmp_path / "deep", "libmiddle.so", "libinner.so", rpath="-z,now")
    inherited = "--disable-new-dtags,-rpath,$ORIGIN/deep"
    assert reaches_mpi(link(tmp_path, "libouter.so", "libmiddle.so", rpath=inherited), {})


def test_libraries_in_folders_of_the_configuration_of_the_linker_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf, cache = tmp_path / "ld.so.conf", tmp_path / "ld.so.cache"
    (tmp_path / "configured").mkdir()
    made = link(tmp_path / "configured", "libown.so", "libmpi.so.12")
    outer = link(tmp_path, "libouter.so", "libown.so")
    assert not reaches_mpi(outer, {})
    conf.write_text(f"{tmp_path}/configured\n")
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin") or pytest.skip("no ldconfig")
    subprocess.run([ldconfig, "-X", "-f", conf, "-C", cache], check=True, timeout=60)
    assert system_library("libown.so", str(cache)) == made
    monkeypatch.setattr(linked_mpi.system_library, "__defaults__", (str(cache),))
    assert reaches_mpi(outer, {})


def test_a_cache_of_the_linker_that_breaks_off_has_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "ld.so.cache"
    broken.write_bytes(b"glibc-ld.so.cache1.1" + b"\xff" * 9)
    for cache in (broken, tmp_path / "none"):
        assert system_library("libc.so.6", str(cache)) == ""


def test_libraries_of_other_architectures_are_passed_by_as_the_linker_does(tmp_path: Path) -> None:
    (tmp_path / "narrow").mkdir()
    made, cache = link(tmp_path, "libown.so"), tmp_path / "ld.so.cache"
    narrow = tmp_path / "narrow" / "libown.so"
    narrow.write_bytes(b"\x7fELF\x01" + Path(made).read_bytes()[5:])
    assert find_library("libown.so", [*map(str, (narrow.parent, tmp_path))]) == made
    head, row = struct.Struct("=20s2I20x"), struct.Struct("=i2I12x")
    strings = b"".join(bytes(one) + b"\0" for one in (b"libown.so", narrow, Path(made)))
    begin = head.size + 2 * row.size
    paths = (begin + 10, begin + 10 + len(bytes(narrow)) + 1)
    rows = b"".join(row.pack(0, begin, path) for path in paths)
    cache.write_bytes(head.pack(b"glibc-ld.so.cache1.1", 2, len(strings)) + rows + strings)
    assert system_library("libown.so", str(cache)) == made
