"""Compiled extensions that take communicators: they get all of one, or are refused or named."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import mpi4py
import pytest

from runtime.native_mpi import MPICH, OPEN_MPI
from tests.commands import gcm_deploy
from tests.grids import Grid
from tests.mpi_homes import MpiHome, mpi_homes  # noqa: F401 - a fixture

pytestmark = pytest.mark.mpi


ASKING = """
    #include <Python.h>
    #include <mpi4py/mpi4py.h>
    static PyObject *place(PyObject *self, PyObject *arg) {
        int rank = -1, size = -1;
        MPI_Comm *comm = PyMPIComm_Get(arg);
        if (comm == NULL)
            return NULL;
        MPI_Comm_rank(*comm, &rank);
        MPI_Comm_size(*comm, &size);
        return PyUnicode_FromFormat("process %d of %d", rank, size);
    }
    static int load(void) { return import_mpi4py(); }
"""
READING = """
    #include <Python.h>
    #include <mpi.h>
    struct object { PyObject_HEAD MPI_Comm ob_mpi; };
    static PyTypeObject *type;
    static PyObject *place(PyObject *self, PyObject *arg) {
        int size = -1;
        if (!PyObject_TypeCheck(arg, type))
            return PyErr_Format(PyExc_TypeError, "expected Comm, got %s", Py_TYPE(arg)->tp_name);
        MPI_Comm comm = ((struct object *)arg)->ob_mpi;
        if (comm == MPI_COMM_NULL)
            return PyUnicode_FromString("null");
        MPI_Comm_size(comm, &size);
        return PyUnicode_FromFormat("%d processes", size);
    }
    static int load(void) {  /* as Cython does: it asks for all types */
        PyObject *module = PyImport_ImportModule("mpi4py.MPI");
        if (module == NULL || PyObject_GetAttrString(module, "Grequest") == NULL)
            return -1;
        type = (PyTypeObject *)PyObject_GetAttrString(module, "Comm");
        return type == NULL ? -1 : 0;
    }
"""
MODULE = """
    static PyMethodDef methods[] = {{"place", place, METH_O, ""}, {0}};
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "NAME", "", -1, methods};
    PyMODINIT_FUNC PyInit_NAME(void) { return load() < 0 ? NULL : PyModule_Create(&module); }
"""

PYBIND11 = """
    #include <pybind11/pybind11.h>
    #include <mpi4py/mpi4py.h>
    static int place(pybind11::object arg) {
        MPI_Comm *comm = PyMPIComm_Get(arg.ptr());
        if (comm == nullptr)
            throw pybind11::error_already_set();
        int size = -1;
        MPI_Comm_size(*comm, &size);
        return size;
    }
    PYBIND11_MODULE(made, module) { import_mpi4py(); module.def("place", &place); }
"""
CASTING = """
    #include <pybind11/pybind11.h>
    #include <mpi4py/mpi4py.h>
    static int place(pybind11::object arg) {  // as the usual type casters do: NULL is not expected
        int size = -1;
        MPI_Comm_size(*PyMPIComm_Get(arg.ptr()), &size);
        return size;
    }
    PYBIND11_MODULE(made, module) { import_mpi4py(); module.def("place", &place); }
"""
NANOBIND = """
    #include <nanobind/nanobind.h>
    #include <mpi4py/mpi4py.h>
    static int place(nanobind::object arg) {
        MPI_Comm *comm = PyMPIComm_Get(arg.ptr());
        if (comm == nullptr)
            throw nanobind::python_error();
        int size = -1;
        MPI_Comm_size(*comm, &size);
        return size;
    }
    NB_MODULE(made, module) { import_mpi4py(); module.def("place", &place); }
"""
CYTHON = """
from mpi4py cimport MPI, libmpi
def place(MPI.Comm comm):
    cdef int size = -1
    libmpi.MPI_Comm_size(comm.ob_mpi, &size)
    return size
"""
PLACES = """
from mpi4py import MPI
import made
print("near", made.place(MPI.COMM_CLUSTER), flush=True)
print("far", made.place(MPI.COMM_WORLD), flush=True)
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """Return a folder with the modules `asking` and `reading`."""
    home = Path(sys.prefix)
    if shutil.which("gcc") is None or not (home / "include" / "mpi.h").exists():
        pytest.skip("gcc and the wheel of MPICH, which has headers, are needed")
    for name, text in (("asking", ASKING), ("reading", READING)):
        source = tmp_path / f"{name}.c"
        source.write_text(text + MODULE.replace("NAME", name))
        folders = (sysconfig.get_path("include"), home / "include", mpi4py.get_include())
        target, library = tmp_path / f"{name}.so", home / "lib"
        flags = ["-shared", "-fPIC", "-O0", *(f"-I{folder}" for folder in folders), f"-L{library}"]
        command = ["gcc", *flags, str(source), "-o", str(target), "-lmpi", f"-Wl,-rpath,{library}"]
        subprocess.run(command, check=True, timeout=60)
    return tmp_path


def test_an_extension_gets_all_of_a_communicator(grid: Grid, compiled: Path) -> None:
    said = grid(
        "2+1",
        f"""
        import sys
        sys.path.insert(0, {str(compiled)!r})
        from mpi4py import MPI
        import asking, reading
        W = MPI.COMM_WORLD
        print(asking.place(W), asking.place(W.Dup()), asking.place(W.Split(0, -W.rank)))
        print(asking.place(MPI.COMM_CLUSTER), asking.place(MPI.COMM_NULL))
        print(reading.place(W), reading.place(MPI.COMM_CLUSTER), reading.place(MPI.COMM_NULL))
        print(reading.place(W.Split(MPI.UNDEFINED)))
        for wrong in (W.Get_group(), 5):
            try:
                print(asking.place(wrong))
            except TypeError:
                print("TypeError")
        from mpi4py.MPI import *
        print(Grequest is MPI.Grequest, COMM_NULL == MPI.COMM_NULL, bool(COMM_NULL))
        """,
        stderr=True,
    )
    for rank, lines in said.items():
        mine, size = (rank, 2) if rank < 2 else (0, 1)
        assert lines == [
            f"process {rank} of 3 process {rank} of 3 process {2 - rank} of 3",
            f"process {mine} of {size} process -1 of -1",
            f"3 processes {size} processes null",
            *("null", "TypeError", "TypeError", "True True False"),
        ]


def test_without_a_library_an_extension_is_refused_and_one_of_cython_is_named(
    grid: Grid, compiled: Path
) -> None:
    said = grid(
        "2+1",
        f"""
        import os, sys
        os.environ["XDG_CACHE_HOME"] = "/tmp/a:b"  # where no library can be kept
        sys.path.insert(0, {str(compiled)!r})
        from mpi4py import MPI
        import asking, reading
        print(asking.place(MPI.COMM_CLUSTER), reading.place(MPI.COMM_CLUSTER))
        try:
            asking.place(MPI.COMM_WORLD)
        except TypeError:
            print("TypeError")
        sys.stdout.flush()
        asking.place(MPI.COMM_WORLD.Dup())
        """,
        code=range(1, 256),
        stderr=True,
    )
    refusal = "The Intracomm has members in several clusters"
    for rank, lines in said.items():
        mine, size = (rank, 2) if rank < 2 else (0, 1)
        assert f"process {mine} of {size} {size} processes" in lines
        assert "TypeError" in lines
        (warning,) = (line for line in lines if "RuntimeWarning: " in line)
        assert "reading reads communicators" in warning
        assert "LD_PRELOAD" in warning
        told = [line for line in lines if line.startswith("Native code was refused a handle")]
        assert "(program.py, line 9). " in told[0].replace(f"{compiled}/", "")
        assert refusal in told[0]


@pytest.mark.parametrize(
    ("flavour", "maker", "text"),
    [
        pytest.param(OPEN_MPI.name, "c", ASKING, id="C"),
        pytest.param(OPEN_MPI.name, "pybind11", PYBIND11, id="pybind11"),
        pytest.param(MPICH.name, "pybind11", CASTING, id="type caster"),
        pytest.param(MPICH.name, "nanobind", NANOBIND, id="nanobind"),
        pytest.param(OPEN_MPI.name, "Cython", CYTHON, id="Cython"),
    ],
)
def test_native_code_of_any_maker_has_the_communicators_of_the_program(
    tmp_path: Path,
    mpi_homes: dict[str, MpiHome | str],  # noqa: F811 - the fixture
    flavour: str,
    maker: str,
    text: str,
) -> None:
    home = mpi_homes[flavour]
    if isinstance(home, str):
        pytest.skip(home)
    if maker != "c" and importlib.util.find_spec(maker) is None:
        pytest.skip(f"{maker} is not installed: pip install {maker}")
    _build(tmp_path, Path(home.python).parent.parent, maker, text)
    (tmp_path / "places.py").write_text(PLACES)
    cluster = (
        f'<cluster><front-end python="{home.python}"/>'
        f'<mpi ranks="1" command-path="{home.mpiexec}"/></cluster>'
    )
    (tmp_path / "grid.xml").write_text(
        '<deployment><application script="places.py" stage="no"/>'
        f"<grid><site>{cluster * 2}</site></grid></deployment>"
    )
    done = gcm_deploy("--quiet", "grid.xml", cwd=tmp_path)
    near, far = (
        ("process 0 of 1", ["process 0 of 2", "process 1 of 2"]) if maker == "c" else (1, [2, 2])
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = [f"near {near}", f"near {near}", *(f"far {one}" for one in far)]
    assert sorted(done.stdout.splitlines()) == sorted(said)


def _build(folder: Path, home: Path, maker: str, text: str) -> None:
    """Compile the module `made` for the MPI of an environment."""
    if shutil.which("g++") is None or not (home / "include" / "mpi.h").exists():
        pytest.skip("g++ and the wheel of the MPI, which has headers, are needed")
    target, sources = folder / "made.so", [folder / "made.cpp"]
    includes: list[Path] = []
    if maker == "c":
        text = ASKING + MODULE.replace("NAME", "made")
        sources = [folder / "made.c"]
    elif maker == "Cython":
        (folder / "made.pyx").write_text(text)
        command = [sys.executable, "-m", "cython", "-3", "made.pyx", "-o", "made.c"]
        subprocess.run(command, check=True, timeout=60, cwd=folder)
        text, sources = (folder / "made.c").read_text(), [folder / "made.c"]
    else:
        root = Path(getattr(importlib.util.find_spec(maker), "origin", "")).parent
        includes = [root / "include"]
        if maker == "nanobind":
            includes.append(root / "ext" / "robin_map" / "include")
            sources.append(root / "src" / "nb_combined.cpp")
    sources[0].write_text(text)
    folders = (sysconfig.get_path("include"), home / "include", mpi4py.get_include(), *includes)
    flags = ["-shared", "-fPIC", "-O0", "-fvisibility=hidden", *(f"-I{one}" for one in folders)]
    compiler = "gcc" if sources[0].suffix == ".c" else "g++"
    library = home / "lib"
    link = [f"-L{library}", "-lmpi", f"-Wl,-rpath,{library}"]
    command = [compiler, *flags, *map(str, sources), "-o", str(target), *link]
    subprocess.run(command, check=True, timeout=120)
