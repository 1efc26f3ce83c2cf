"""Native code that calls MPI: it has the world of the program, or is named with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import mpi4py
import pytest

from tests.commands import gcm_deploy

pytestmark = pytest.mark.mpi

LIBRARY = """
#include <mpi.h>
int world(void) { int size = -1; MPI_Comm_size(MPI_COMM_WORLD, &size); return size; }
"""
AT_THE_END = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static MPI_Comm kept;
static void at_exit(void) {
    int is_finalized = -1;
    MPI_Finalized(&is_finalized);
    printf("finalized: %d\\n", is_finalized);
    fflush(stdout);
}
void after_python(void) { at_exit(); MPI_Comm_free(&kept); }
void keep(void) { MPI_Comm_dup(MPI_COMM_WORLD, &kept); atexit(at_exit); }
"""
ENDS_LATER = """
import ctypes
from mpi4py import MPI
library = ctypes.CDLL("./libown.so")
library.keep()
ctypes.pythonapi.Py_AtExit(library.after_python)  # as petsc4py finalises what it has
"""
EXECUTABLE = """
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words) {
    int rank, size;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d of %d\\n", rank, size);
    return MPI_Finalize();
}
"""
LIKE_PETSC4PY = """
#include <Python.h>
#include <mpi4py/mpi4py.h>
static PyObject *place(PyObject *self, PyObject *arg) {
    int size = -1;
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(arg), "__module__");
    if (module == NULL || PyUnicode_CompareWithASCIIString(module, "mpi4py.MPI") != 0)
        return PyErr_Format(PyExc_TypeError, "Cannot convert %s", Py_TYPE(arg)->tp_name);
    MPI_Comm *comm = PyMPIComm_Get(arg);
    if (comm == NULL)
        return NULL;
    MPI_Comm_size(*comm, &size);
    return PyLong_FromLong(size);
}
static PyMethodDef methods[] = {{"place", place, METH_O, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "like", "", -1, methods};
PyMODINIT_FUNC PyInit_like(void) { return import_mpi4py() < 0 ? NULL : PyModule_Create(&module); }
"""
OWN_WORLD = """
import ctypes
from mpi4py import MPI
print(ctypes.CDLL("./libown.so").world(), "of", MPI.COMM_WORLD.size)
"""
WITHOUT_MPI4PY = """
import ctypes
print(ctypes.CDLL("./libown.so").world())
"""
BY_CFFI = """
import cffi
ffi = cffi.FFI()
ffi.cdef("int world(void);")
print(ffi.dlopen("./libown.so").world())
"""
LOADED_BEFORE = """
import ctypes, os
from mpi4py import MPI
load = ctypes.CDLL(None).dlopen  # which nobody notices
load.restype, load.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
handle = load(b"./libown.so", os.RTLD_NOW)
MPI.COMM_WORLD.handle
print(ctypes.CDLL("./libown.so", handle=handle).world())
"""
LOADED_BY_SEVERAL_THREADS = """
import _ctypes, ctypes, threading
from mpi4py import MPI
MPI.COMM_WORLD.handle  # from now on the slots of what is loaded are looked at
def load(path):
    for _ in range(300):
        _ctypes.dlclose(ctypes.CDLL(path)._handle)
threads = [threading.Thread(target=load, args=(f"./lib{one}.so",)) for one in "abc"]
for one in threads: one.start()
for one in threads: one.join()
print(ctypes.CDLL("./liba.so").world())
"""
BYPASSES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
int by_profile(void) { int size = -1; PMPI_Comm_size(MPI_COMM_WORLD, &size); return size; }
int own(void) { return 5; }
int by_own_name(void) {
    int (*function)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "own");
    return function ? function() : -1;
}
int by_name(const char *path) {
    int size = -1;
    void *mpi = dlopen(path, RTLD_NOW);
    int (*function)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))dlsym(mpi, "MPI_Comm_size");
    function(MPI_COMM_WORLD, &size);
    return size;
}
"""
PASSED_BY = """
import ctypes, sys
from mpi4py import MPI
path = f"{sys.prefix}/lib/libmpi.so.12".encode()
for name in "./libown.so", "./libsymbolic.so":
    library = ctypes.CDLL(name)
    print(library.by_profile(), library.by_name(path), library.by_own_name())
print(ctypes.CDLL(path.decode()).MPI_Comm_size is not None, MPI.COMM_CLUSTER.size)
"""
BREAKS = """
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
int begin(void) {
    int size;
    struct sigaction action = {.sa_handler = SIG_DFL};
    signal(SIGPIPE, SIG_DFL);
    __sysv_signal(SIGPIPE, SIG_DFL);
    sigset(SIGPIPE, SIG_DFL);
    sigaction(SIGPIPE, &action, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}
"""
ENDS_BROKEN = """
import ctypes, re, signal
from mpi4py import MPI
library = ctypes.CDLL("./libown.so")
size = library.begin()
ignored = re.search(r"SigIgn:\\s(\\w+)", open("/proc/self/status").read())[1]
print(size, int(ignored, 16) >> signal.SIGPIPE - 1 & 1, MPI.COMM_WORLD.allreduce(1))
"""
WAITS = """
#include <mpi.h>
int await_far(void) {
    int value = 0, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < 3; turn++) /* code in C that looks at no error */
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
}
"""
ENDED_IN_C = """
import ctypes, signal, sys
from mpi4py import MPI
def ring(*_):
    END
if MPI.COMM_WORLD.rank == 1:
    HANDLER
    library = ctypes.CDLL("./libown.so")
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        library.await_far()
        print("not reached")
    except BaseException as error:
        print(type(error).__name__, error, flush=True)
        raise
"""
FAILS_BESIDE = """
#include <mpi.h>
#include <unistd.h>
static _Atomic int is_ended, is_told;
void await_far(void) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    is_ended = 1;
    for (int turn = 0; turn < 30000 && !is_told; turn++) usleep(1000);
}
void fail(void) {
    int value = 0;
    for (int turn = 0; turn < 30000 && !is_ended; turn++) usleep(1000);
    MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    is_told = 1;
}
"""
ENDED_BESIDE = """
import ctypes, signal, threading
from mpi4py import MPI
def ring(*_):
    raise KeyboardInterrupt
if MPI.COMM_WORLD.rank == 1:
    MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    library = ctypes.CDLL("./libown.so")
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    threading.Thread(target=library.fail).start()
    library.await_far()
"""
HANDED = """
from mpi4py import MPI
import like
print(like.place(MPI.COMM_CLUSTER), like.place(MPI.COMM_WORLD))
"""


def build(folder: Path, text: str, target: str, *options: str) -> None:
    home = Path(sys.prefix)
    if shutil.which("gcc") is None or not (home / "include" / "mpi.h").exists():
        pytest.skip("gcc and the wheel of MPICH, which has headers, are needed")
    (folder / "source.c").write_text(text)
    folders = (sysconfig.get_path("include"), home / "include", mpi4py.get_include())
    library = ("-L", str(home / "lib"), "-lmpi", f"-Wl,-rpath,{home / 'lib'}")
    command = ["gcc", *options, *(f"-I{one}" for one in folders), "source.c", "-o", target]
    subprocess.run([*command, *library], check=True, timeout=60, cwd=folder)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        pytest.param(OWN_WORLD, "4 of 4", id="ctypes"),
        pytest.param(WITHOUT_MPI4PY, "4", id="without mpi4py"),
        pytest.param(BY_CFFI, "4", id="cffi"),
        pytest.param(LOADED_BEFORE, "4", id="loaded before"),
    ],
)
def test_the_world_of_a_library_is_that_of_the_program(
    tmp_path: Path, program: str, said: str
) -> None:
    build(tmp_path, LIBRARY, "libown.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(program)
    done = gcm_deploy("--emulate", "1x2x2", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{said}\n" * 4, "")


def test_libraries_that_look_up_mpi_or_call_its_profiled_functions_are_served_too(
    tmp_path: Path,
) -> None:
    build(tmp_path, BYPASSES, "libown.so", "-shared", "-fPIC")
    build(tmp_path, BYPASSES, "libsymbolic.so", "-shared", "-fPIC", "-Wl,-Bsymbolic")
    (tmp_path / "program.py").write_text(PASSED_BY)
    done = gcm_deploy("--emulate", "1x2x1", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.split()) == sorted(["2"] * 8 + ["5"] * 4 + ["True", "1"] * 2)


def test_a_library_cannot_let_broken_connections_of_the_grid_end_a_rank(tmp_path: Path) -> None:
    build(tmp_path, BREAKS, "libown.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(ENDS_BROKEN)
    done = gcm_deploy("--emulate", "1x2x1", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 1 2\n" * 2, "")


def test_what_a_library_does_after_the_end_of_python_is_native(tmp_path: Path) -> None:
    build(tmp_path, AT_THE_END, "libown.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(ENDS_LATER)
    done = gcm_deploy("--emulate", "1x2x1", "program.py", cwd=tmp_path, timeout=60)
    said = ["finalized: 0"] * 2 + ["finalized: 1"] * 2
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, said, "")


@pytest.mark.parametrize("handler", ["RETURN", "ARE_FATAL"])
@pytest.mark.parametrize(
    ("end", "said", "code"),
    [
        pytest.param("sys.exit(7)", "SystemExit 7", 7, id="exit"),
        pytest.param("raise KeyboardInterrupt", "KeyboardInterrupt ", 130, id="interrupt"),
    ],
)
def test_what_ends_a_program_within_a_call_of_c_ends_it_as_in_python(
    tmp_path: Path, handler: str, end: str, said: str, code: int
) -> None:
    build(tmp_path, WAITS, "libown.so", "-shared", "-fPIC")
    chosen = f"MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_{handler})"
    program = ENDED_IN_C.replace("END\n", f"{end}\n", 1).replace("HANDLER", chosen)
    (tmp_path / "program.py").write_text(program)
    done = gcm_deploy("--emulate", "1x2x1", "program.py", cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stdout) == (code, f"{said}\n")
    assert "MPI_Recv" not in done.stderr


def test_an_error_of_another_thread_is_told_while_the_program_is_about_to_end(
    tmp_path: Path,
) -> None:
    build(tmp_path, FAILS_BESIDE, "libown.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(ENDED_BESIDE)
    done = gcm_deploy("--emulate", "1x2x1", "program.py", cwd=tmp_path, timeout=60)
    assert (done.returncode, "MPI_Send at " in done.stderr) == (130, True), done.stderr


def test_threads_that_load_libraries_at_once_do_not_wait_for_each_other(tmp_path: Path) -> None:
    for name in "abc":
        build(tmp_path, LIBRARY, f"lib{name}.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(LOADED_BY_SEVERAL_THREADS)
    done = gcm_deploy("--emulate", "1x2x1", "program.py", cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n" * 2, "")


def test_a_library_that_cannot_be_served_is_named_once_for_the_run_with_the_reason(
    tmp_path: Path,
) -> None:
    build(tmp_path, LIBRARY, "libown.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(
        f"import os\nos.environ['XDG_CACHE_HOME'] = '/tmp/a:b'\n{OWN_WORLD}"
    )
    done = gcm_deploy("--emulate", "1x2x2", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "2 of 4\n" * 4)
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("gcm-deploy: libown.so in rank ")
    assert "LD_PRELOAD" in warning
    assert "Give it MPI.COMM_CLUSTER" in warning
    alone = gcm_deploy("-n", "2", "program.py", cwd=tmp_path)
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, "2 of 2\n" * 2, "")


def test_an_executable_on_several_clusters_has_one_world_unless_it_is_to_have_its_own(
    tmp_path: Path,
) -> None:
    build(tmp_path, EXECUTABLE, "hello_c")
    done = gcm_deploy("--emulate", "1x2x1", "./hello_c", cwd=tmp_path)
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, ["0 of 2", "1 of 2"])
    (tmp_path / "apart.xml").write_text(
        '<deployment><application executable="./hello_c" comm-world="cluster"/>'
        '<emulate clusters="2" ranks="1"/></deployment>'
    )
    apart = gcm_deploy("apart.xml", cwd=tmp_path)
    assert (apart.returncode, apart.stdout) == (0, "0 of 1\n" * 2)
    assert gcm_deploy("-n", "2", "./hello_c", cwd=tmp_path).stderr == ""
    assert gcm_deploy("--emulate", "1x2x1", shutil.which("true") or "true").stderr == ""


def test_an_executable_that_reaches_its_mpi_through_others_has_one_world_and_a_script_not(
    tmp_path: Path,
) -> None:
    begun = LIBRARY.replace("MPI_Comm_size", "MPI_Init(0, 0); MPI_Comm_size")
    whole = begun.replace("return size", "MPI_Finalize(); return size")
    build(tmp_path, whole, "libown.so", "-shared", "-fPIC")
    calls = "int world(void);\nint main(void) { return world() != 2; }\n"
    (tmp_path / "main.c").write_text(calls)
    linked = ["-L.", "-lown", "-Wl,-rpath,$ORIGIN", f"-Wl,-rpath-link,{sys.prefix}/lib"]
    command = ["gcc", "main.c", "-o", "indirect", *linked]
    subprocess.run(command, check=True, timeout=60, cwd=tmp_path)
    script = tmp_path / "job.sh"
    script.write_text('#!/bin/sh\n# sets it up\ntest -n "$HOME" && ./indirect\n')
    script.chmod(0o755)
    done = gcm_deploy("--emulate", "1x2x1", "./indirect", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = gcm_deploy("--emulate", "1x2x1", "./job.sh", cwd=tmp_path)
    assert "indirect, which has an MPI_COMM_WORLD of its own in each of its 2" in done.stderr


def test_a_pipe_in_place_of_a_program_is_refused_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o755)
    done = gcm_deploy("--emulate", "1x2x1", "./pipe", cwd=tmp_path, timeout=60)
    assert done.returncode == 202
    assert "gcm-deploy: './pipe' is a pipe, socket or device, and every rank" in done.stderr


def test_what_asks_for_mpi4py_by_name_gets_the_grid(tmp_path: Path) -> None:
    build(tmp_path, LIKE_PETSC4PY, "like.so", "-shared", "-fPIC")
    (tmp_path / "program.py").write_text(HANDED)
    done = gcm_deploy("--emulate", "1x2x2", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 4\n" * 4, "")
