"""The C text of the library that stands before MPI, and what it refuses to be compiled for."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from runtime.calls import every_call
from runtime.linked_mpi import has_static_mpi
from runtime.native_mpi import Job, RankProgram
from runtime.processes.front_end import c_library
from runtime.processes.front_end.c_library import NoSharedWorld, with_c_library
from runtime.shim import ASKED, OLDER, SERVED, VARIABLE, Linked, Preload, source, verdict

HEADER = """
int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
    MPI_Comm comm);
int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
    MPI_Request *request);
int MPI_Gatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
    const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
    MPI_Comm comm);
int MPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
    MPI_Win *win);
int MPI_Win_fence(int assert, MPI_Win win);
int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh);
int MPI_File_seek(MPI_File fh, MPI_Offset offset, int whence);
int MPI_Comm_set_name(MPI_Comm comm, const char *comm_name);
int MPI_Type_commit(MPI_Datatype *datatype);
"""


def body_of(name: str) -> str:
    found = re.search(rf"EXPORTED int {name}\(.*?\n}}\n", source(HEADER), re.DOTALL)
    return "" if found is None else found[0]


def test_each_function_that_is_served_is_a_row_of_the_table() -> None:
    known = {one.standard for one in every_call()}
    assert [name for name in SERVED if name not in {*known, *OLDER}] == []
    assert len(set(SERVED)) == len(SERVED)


def test_the_numbers_of_what_is_asked_are_those_of_the_library() -> None:
    text = source("")
    names = text.partition("enum { FATAL")[2].partition("FIRST_ROW")[0]
    assert len(re.findall(r"\w+", f"FATAL{names}")) == len(ASKED)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MPI_Send", ["grid_comm(comm) != NULL", "BUFFER(buf)", "(Word)count", "WORD(datatype)"]),
        ("MPI_Send_c", ["served(OF_COMM(comm), ", "(Word)count"]),
        ("MPI_Isend", ["request, sizeof *request"]),
        ("MPI_Gatherv_c", ['refused(OF_COMM(comm), "MPI_Gatherv_c", "Use a communicator']),
        ("MPI_Win_create", ["served(OF_COMM(comm), ", "*win = MPI_WIN_NULL", "win, sizeof"]),
        ("MPI_Win_fence", ["grid_window(win) != NULL", "served(OF_WIN(win), "]),
        ("MPI_File_open", ["grid_comm(comm) != NULL", "served(OF_FILE(MPI_FILE_NULL), ", "fh, s"]),
        ("MPI_File_seek", ["grid_file(fh) != NULL", "served(OF_FILE(fh), "]),
    ],
)
def test_a_function_goes_to_python_or_is_refused_where_a_handle_spans_clusters(
    name: str, words: list[str]
) -> None:
    assert [one for one in words if one not in body_of(name)] == []
    assert f"return NATIVE({name})" in body_of(name)


@pytest.mark.parametrize("name", ["MPI_Comm_set_name", "MPI_Type_commit"])
def test_what_the_native_token_does_as_well_has_no_function(name: str) -> None:
    assert body_of(name) == ""


def test_two_mpis_and_fortran_are_refused_with_what_to_do() -> None:
    two = verdict(["libmpi.so.12", "libmpi.so.40"])
    assert (two.linked, "mpicc of one MPI" in two.cure) == (Linked.REFUSED, True)
    assert verdict(["libmpi_mpifh.so.40", "libmpi.so.40"]).linked is Linked.REFUSED


def test_the_words_of_the_rank_and_what_was_preloaded_before_are_in_one_variable() -> None:
    told = Preload("/x.so", "/libpython.so", "/python", ("-m", "runtime.c_rank", "a b"))
    found = told.environment({"LD_PRELOAD": "/darshan.so", "A": "1"})
    assert found["LD_PRELOAD"] == "/x.so:/darshan.so"
    assert found[VARIABLE].split("\x1f") == [
        *("/darshan.so", "", "/libpython.so", "/python", "-m", "runtime.c_rank", "a b"),
    ]


def job(path: str, mpiexec: str = "/nowhere/mpiexec") -> Job:
    program = RankProgram("/nowhere/python", "0:0", "a", "executable", path)
    return Job(program, 2, mpiexec=mpiexec, environment={"PATH": "/nowhere"})


def test_a_program_without_mpi_needs_no_library() -> None:
    assert with_c_library(job(sys.executable), "/").program.shim == ""


@pytest.fixture
def unreadable() -> Iterator[Path]:
    """Yield a program that this account may run and not read; root may read all."""
    before = os.geteuid()
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = Path(folder, "program")
        program.write_bytes(b"\x7fELF")
        program.chmod(0o111)
        if before == 0:
            os.seteuid(65534)
        try:
            yield program
        finally:
            os.seteuid(before)


def test_a_program_that_may_be_run_but_not_read_is_refused(unreadable: Path) -> None:
    with pytest.raises(NoSharedWorld, match=r"it may be run but not read \(Permission denied\)"):
        with_c_library(job(str(unreadable)), "/")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a compiler")
def test_an_mpi_that_is_part_of_a_program_is_found_by_its_symbols(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("int PMPI_Init(void) { return 0; } int main() { PMPI_Init(); }")
    subprocess.run(["gcc", "-o", "x", "x.c"], cwd=tmp_path, check=True, timeout=60)
    assert has_static_mpi(str(tmp_path / "x"))
    assert not has_static_mpi(str(tmp_path / "x.c"))
    assert not has_static_mpi(sys.executable)
    with pytest.raises(NoSharedWorld, match="its MPI is part of it"):
        with_c_library(job(str(tmp_path / "x")), "/")


def test_on_one_cluster_it_runs_as_it_is(unreadable: Path) -> None:
    alone = job(str(unreadable))
    alone = replace(alone, program=replace(alone.program, is_joined=False))
    assert with_c_library(alone, "/") is alone


def test_a_program_that_is_not_there_is_left_to_who_starts_it(tmp_path: Path) -> None:
    missing = job(str(tmp_path / "missing"))
    assert with_c_library(missing, "/") is missing


def test_a_cluster_without_compiler_is_refused_before_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(c_library, "linked_names", lambda *_: ["libmpi.so.12"])
    monkeypatch.setattr(c_library, "libpython", lambda: "/libpython.so")
    with pytest.raises(NoSharedWorld, match="no mpicc"):
        with_c_library(job("./x"), str(tmp_path))
    monkeypatch.setattr(c_library, "libpython", lambda: "")
    with pytest.raises(NoSharedWorld, match="no shared library"):
        with_c_library(job("./x"), str(tmp_path))


COMPILER = """\
#!/bin/sh
if [ "$1" = -E ]; then cat >/dev/null; echo "gcm_family OMPI_MAJOR_VERSION 40301300"; exit; fi
while [ "$1" != -o ]; do shift; done
echo >"$2"
"""


@pytest.fixture
def found_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Job:
    """Return the job of a program with an MPI, with an `mpicc` that is quick beside `mpiexec`."""
    monkeypatch.setattr(c_library, "linked_names", lambda *_: ["libmpi.so.12"])
    monkeypatch.setattr(c_library, "libpython", lambda: "/libpython.so")
    for name in ("mpicc", "mpiexec"):
        (tmp_path / name).write_text(COMPILER)
        (tmp_path / name).chmod(0o755)
    made = job("./x", str(tmp_path / "mpiexec"))
    return replace(made, environment={"PATH": os.environ["PATH"]})


def library(of: Job, folder: Path) -> Path:
    return Path(with_c_library(of, str(folder)).program.shim)


def test_it_is_told_of_the_compiler_before_it_works_and_not_where_a_library_is_there(
    found_job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    there: list[list[Path]] = []
    for _ in range(2):
        with_c_library(found_job, str(tmp_path), lambda: there.append([*tmp_path.rglob("*.so")]))
    assert there == [[]]


def test_a_library_is_kept_where_nobody_else_writes(
    found_job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "kept").mkdir(mode=0o700)
    (tmp_path / "gcm").mkdir()
    (tmp_path / "gcm" / "shim").symlink_to(tmp_path / "kept")
    assert library(found_job, tmp_path).parent == (tmp_path / "kept").resolve()
    (tmp_path / "kept").chmod(0o770)
    with pytest.raises(NoSharedWorld, match="others can write into") as refusal:
        library(found_job, tmp_path)
    assert "that only you can write" in refusal.value.cure


def test_a_library_is_kept_nowhere_below_what_others_may_exchange(
    found_job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache" / "gcm").mkdir(parents=True)
    (tmp_path / "cache" / "gcm").chmod(0o777)
    with pytest.raises(NoSharedWorld, match="others can exchange what is in .*/cache/gcm"):
        library(found_job, tmp_path)
    (tmp_path / "cache" / "gcm").chmod(0o1777)  # as /tmp, where each has its own
    assert library(found_job, tmp_path).exists()


@pytest.mark.needs_root
def test_a_library_of_another_account_is_not_loaded(
    found_job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = library(found_job, tmp_path)
    kept.write_text("planted while others could write there")
    os.chown(kept, 4321, 4321)
    assert library(found_job, tmp_path).read_text() == "\n"
    kept.unlink()
    (tmp_path / "elsewhere").write_text("planted")
    kept.symlink_to(tmp_path / "elsewhere")
    assert library(found_job, tmp_path).read_text() == "\n"
    os.chown(tmp_path / "gcm", 4321, 4321)
    with pytest.raises(NoSharedWorld, match="others can exchange what is in .*/gcm"):
        library(found_job, tmp_path)


@pytest.mark.parametrize("name", ["my cache", "a:b"])
def test_a_folder_is_refused_that_the_linker_would_take_for_two(
    found_job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    with pytest.raises(NoSharedWorld, match="LD_PRELOAD cannot name a file in"):
        library(found_job, tmp_path)


def test_a_library_is_kept_for_machines_of_its_kind_and_nothing_else_is(
    found_job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "gcm" / "shim" / "compiling-0").mkdir(parents=True, mode=0o700)  # was killed
    (tmp_path / "gcm" / "shim").chmod(0o700)
    first = library(found_job, tmp_path)
    assert {one.name for one in first.parent.iterdir()} == {first.name, "lock"}
    assert library(found_job, tmp_path) == first
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert library(found_job, tmp_path) != first
