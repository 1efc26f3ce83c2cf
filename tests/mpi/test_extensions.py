"""Compiled extensions that take communicators: never do they compute on a part of one unnoticed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import mpi4py
import pytest

pytestmark = pytest.mark.mpi

Grid = Callable[..., dict[int, list[str]]]

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


def test_an_extension_gets_no_part_of_a_communicator(grid: Grid, compiled: Path) -> None:
    said = grid(
        "2+1",
        f"""
        import sys
        sys.path.insert(0, {str(compiled)!r})
        from mpi4py import MPI
        import asking
        print(asking.place(MPI.COMM_CLUSTER), asking.place(MPI.COMM_NULL))
        for wrong in (MPI.COMM_WORLD, MPI.COMM_WORLD.Get_group(), 5):
            try:
                print(asking.place(wrong))
            except (SystemError, TypeError) as error:
                print(type(error).__name__)
        sys.stdout.flush()
        asking.place(MPI.COMM_WORLD.Dup())
        """,
        code=range(1, 256),
        stderr=True,
    )
    refusal = (
        "(program.py, line 9). The Intracomm has members in several clusters: there is no handle "
        "of it, and native code that was given one would see those of this cluster alone."
    )
    for rank, lines in said.items():
        mine, size = (rank, 2) if rank < 2 else (0, 1)
        assert f"process {mine} of {size} process -1 of -1" in lines
        assert lines.count("SystemError") == 3
        told = [line for line in lines if line.startswith("Native code was refused a handle")]
        assert len(told) >= 1
        assert refusal in told[0].replace(f"{compiled}/", "")


def test_a_module_of_cython_takes_null_and_is_named(grid: Grid, compiled: Path) -> None:
    said = grid(
        "2+1",
        f"""
        import sys
        sys.path.insert(0, {str(compiled)!r})
        from mpi4py import MPI
        import reading
        print(reading.place(MPI.COMM_CLUSTER), reading.place(MPI.COMM_NULL))
        print(reading.place(MPI.COMM_WORLD.Split(MPI.UNDEFINED)))
        from mpi4py.MPI import *
        print(Grequest is MPI.Grequest, COMM_NULL == MPI.COMM_NULL, bool(COMM_NULL))
        """,
        stderr=True,
    )
    for rank, lines in said.items():
        size = 2 if rank < 2 else 1
        assert f"{size} processes null" in lines
        assert "null" in lines
        assert "True True False" in lines
        assert any("RuntimeWarning: reading reads communicators" in line for line in lines)
