"""Libraries in C that a Python program loads: they get the MPI_COMM_WORLD of the program.

Before the first one is loaded that is linked with an MPI, or where the program asks for the handle
of a communicator over several clusters, the library is loaded that stands before MPI
(`runtime.shim`); it is compiled if nobody has done that. Each later one is bound to that. A program
that loads no such code pays for reading the first bytes of its extension modules, and needs no
compiler.
"""

from __future__ import annotations

import _thread
import os
import sys

from runtime.linked_mpi import is_mpi_library, needed_libraries, reaches_mpi
from runtime.mpi.process import native_code
from runtime.processes.rank.native_objects import NativeObjects, loaded_objects

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from runtime.membership.rank_link import RankLink

_BUILTIN = "lib-dynload"
"""The folder of Python's own extension modules, of which none calls MPI."""

_FORTRAN = ("libmpifort", "libmpi_mpifh", "libmpi_usempi")


class NativeLibraries:
    """Serves the libraries that this rank's program loads; its name for others is `native_code`."""

    def __init__(self, link: RankLink) -> None:
        self._link = link
        self._lock = _thread.allocate_lock()
        self._objects: NativeObjects | None = None
        self._library: Any = None
        self._path = self._mpi = ""
        self._why: str | None = None
        self._functions: list[Callable[..., int]] = []

    def watch(self) -> None:
        """Look at what the program loads from now on."""
        from importlib.machinery import ExtensionFileLoader

        create = ExtensionFileLoader.create_module

        def create_module(loader: Any, spec: Any) -> Any:
            self._before(spec.origin)
            module = create(loader, spec)
            self._after(module)
            return module

        ExtensionFileLoader.create_module = create_module  # type: ignore[method-assign, assignment]
        for name in ("_ctypes", "_cffi_backend"):
            if name in sys.modules:
                self._after(sys.modules[name])
        native_code.library = self

    def found(self) -> tuple[list[str], str]:
        """Return the files of what is newly loaded and calls an MPI by itself, and why it does."""
        if self._objects is None:
            return [], ""
        new = [(path, self._unserved(path)) for path in self._objects.found()]
        left = [(path, why) for path, why in new if why]
        return [path for path, _ in left], left[0][1] if left else ""

    def _unserved(self, path: str) -> str:
        """Return why a library sees this cluster alone; "" if it sees all."""
        if self._library is None:
            return self._why or "it was loaded in a way that was not noticed"
        needed = needed_libraries(path)
        if any(one.startswith(_FORTRAN) for one in needed):
            return "it calls MPI from Fortran, which is not supported yet"
        others = [one for one in needed if is_mpi_library(one)]
        if os.path.basename(self._mpi) not in others:
            return f"it is linked with {others[0]}, and mpi4py with {self._mpi}"
        return ""

    def python_ends(self) -> None:
        """Let what C does after the end of Python be native; the last to ask for that is first."""
        if self._library is not None:
            import ctypes

            ended = ctypes.cast(self._library.gcm_python_has_ended, ctypes.c_void_p)
            ctypes.pythonapi.Py_AtExit(ended)

    # --- as `native_code` asks --------------------------------------------------------------------

    def serve(self) -> str:
        """Load the library that stands before MPI; return why it cannot be had, or ""."""
        with self._lock:
            if self._why is None:
                self._why = self._load()
                if self._why:
                    os.environ[native_code.ALONE] = f"it sees its own cluster only: {self._why}"
        if not self._why:
            self.communicators_are_made()
        return self._why

    def communicators_are_made(self) -> None:
        """Let the library know them, if it is there."""
        made = sys.modules.get("runtime.mpi.progress.predefined")
        if self._library is None or self._functions or made is None or not made.are_made():
            return
        # Imported without the lock: who imports may wait for it, and keeps what is imported locked.
        from runtime.mpi.from_c.libraries import LibrariesInC

        with self._lock:  # the library in C keeps what the last one has
            if not self._functions:
                self._functions = LibrariesInC(self._path).functions()

    # --- loading ----------------------------------------------------------------------------------

    def _load(self) -> str:
        settings = self._link.wrapper.settings
        if settings.goes_on:
            return 'with failures="return" or replicas no library in C is served'
        from runtime.processes.compiled_shim import NoSharedWorld, compiled_shim, find_compiler

        self._mpi = next((one for one in loaded_objects() if _is_mpi(one)), "")
        compiler = find_compiler("mpiexec", sys.executable, os.environ)
        if not self._mpi:
            return "the MPI of mpi4py was not found"
        if not compiler:
            return "this cluster has no mpicc, which compiles a library for its MPI once"
        name = os.path.basename(self._mpi)
        try:
            self._path = compiled_shim("a library in C", compiler, name, os.environ)
        except NoSharedWorld as refusal:
            return str(refusal)
        return self._stand_before()

    def _stand_before(self) -> str:
        import ctypes

        from runtime.membership.everybody import everybody
        from runtime.shim import ASKED, SERVED

        library = ctypes.CDLL(self._path, mode=os.RTLD_GLOBAL | os.RTLD_NOW)
        multiple = 3  # what ranks have; MPI_THREAD_MULTIPLE is its number in all MPIs
        if not library.gcm_stand_before(self._mpi.encode(), self._path.encode(), multiple):
            return f"{self._path} does not find {self._mpi}"
        known = everybody(self._link)
        tag_is_not_known_yet = 0
        library.gcm_let_world_be_grid(known.index, known.grid.size, tag_is_not_known_yet)
        self._stubs = [self._first_call(at) for at in range(len(ASKED) + len(SERVED))]
        self._pointers = (ctypes.c_void_p * len(self._stubs))(*map(id, self._stubs))
        library.gcm_install(self._pointers)
        library.gcm_look_at_all()
        self._library = library
        return ""

    def _first_call(self, number: int) -> Callable[..., int]:
        """Return what is called for a program that has not imported mpi4py yet."""

        def call(*words: int) -> int:
            from runtime.mpi.surface.install import load

            load()  # which makes the communicators
            self.communicators_are_made()
            return self._functions[number](*words)

        return call

    def _before(self, path: str) -> None:
        """Be there before a library is loaded that calls MPI."""
        if self._objects is None:
            self._objects = NativeObjects()
        if self._why is not None or path in {"", self._path} or _BUILTIN in path:
            return  # that which is loaded here may need the MPI, too
        try:
            is_linked = _is_mpi(path) or reaches_mpi(path, os.environ)
        except OSError:
            return  # who loads it says so
        if is_linked:
            _accept_sizes()
            self.serve()

    def _after(self, module: Any) -> None:
        """Bind what was loaded; watch what loads libraries itself."""
        name = module.__name__
        if name == "_ctypes":
            module.dlopen = self._watched(module.dlopen)
            if "ctypes" in sys.modules:
                sys.modules["ctypes"]._dlopen = module.dlopen  # type: ignore[attr-defined]
        elif name == "_cffi_backend":
            module.load_library = self._watched(module.load_library)
        if self._library is not None:
            self._library.gcm_look_at_all()

    def _watched(self, load: Callable[..., Any]) -> Callable[..., Any]:
        def watched(name: Any = None, *words: Any) -> Any:
            if isinstance(name, (str, bytes, os.PathLike)):
                self._before(_found(os.fsdecode(name)))
            loaded = load(name, *words)
            if self._library is not None:
                self._library.gcm_look_at_all()
            return loaded

        return watched


def _accept_sizes() -> None:
    """Let modules of Cython take our communicators, which have a field more than those of mpi4py.

    What they know of is at the same place; they would warn of the size of each class.
    """
    import warnings

    warnings.filterwarnings("ignore", message=r"mpi4py\.MPI\.\w+ size changed")


def _is_mpi(path: str) -> bool:
    name = os.path.basename(path)
    return is_mpi_library(name) and not name.startswith(_FORTRAN)


def _found(name: str) -> str:
    """Return the file that the dynamic linker finds for a name that Python's own modules load."""
    from runtime.linked_mpi import find_loaded, folders_of, folders_of_program

    asks = (getattr(sys.modules.get(one), "__file__", "") for one in ("_ctypes", "_cffi_backend"))
    folders = (folder for one in asks if one for folder in folders_of(one))
    return find_loaded(name, (*folders, *folders_of_program()), os.environ) or name
