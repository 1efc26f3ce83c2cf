"""Files of a C program over clusters: how they are opened, read, written and asked."""

# ruff: noqa: PLR0917 - the arguments are those of MPI

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mpi4py import MPI

from runtime.calls import every_call
from runtime.files.faults import FileFault
from runtime.mpi.from_c.calls import Call, Calls
from runtime.mpi.from_c.values import check_given, native_handle, write, write_handle, write_status
from runtime.mpi.progress.latest_calls import write_down
from runtime.mpi.surface import mpi_module
from runtime.mpi.values.faults import WrongArgument


class FileCalls(Calls):
    """The functions that open, access and ask files over several clusters."""

    def table(self) -> dict[str, Call]:
        """Return them by their names."""
        made: dict[str, Call] = {
            "MPI_File_open": self._open,
            "MPI_File_set_size": self._call("Set_size", _as_given),
            "MPI_File_preallocate": self._call("Preallocate", _as_given),
            "MPI_File_get_size": self._asked("Get_size"),
            "MPI_File_get_amode": self._get_amode,
            "MPI_File_get_group": self._group,
            "MPI_File_set_info": self._call("Set_info", lambda info: (MPI.Info.fromhandle(info),)),
            "MPI_File_get_info": self._get_info,
            "MPI_File_set_view": self._set_view,
            "MPI_File_get_view": self._get_view,
            "MPI_File_seek": self._call("Seek", _as_given),
            "MPI_File_seek_shared": self._call("Seek_shared", _as_given),
            "MPI_File_get_position": self._asked("Get_position"),
            "MPI_File_get_position_shared": self._asked("Get_position_shared"),
            "MPI_File_get_byte_offset": self._asked("Get_byte_offset"),
            "MPI_File_get_type_extent": self._extent,
            "MPI_File_set_atomicity": self._call("Set_atomicity", lambda flag: (bool(flag),)),
            "MPI_File_get_atomicity": self._get_atomicity,
            "MPI_File_sync": self._call("Sync", _as_given),
        }
        for row in every_call():
            if row.of == "File" and row.kind == "file-access":
                made[row.standard] = self._access(row.name, row.arguments[0].name == "offset")
        return made

    def _open(self, comm: int, name: int, amode: int, info: int, _: int) -> int:
        from runtime.mpi.files.making import opened

        path = ctypes.string_at(name) if name else b""  # which all ranks are told there is none of
        hints = MPI.Info.fromhandle(info)
        made = opened(mpi_module.File, self._values.comm(comm), path, amode, hints)
        return self._values.hand_out_file(made)

    def _grid(self, file: int) -> Any:
        return self._values.files[file]._grid

    def _begin(self, file: int, name: str) -> Any:
        """Return the method of a file, which is called now."""
        grid = self._grid(file)
        write_down(f"File.{name}", grid.comm)
        return getattr(grid, name)

    def _call(self, name: str, prepare: Callable[..., tuple[Any, ...]]) -> Call:
        """Return a call of a method that returns nothing; its first argument is the file."""

        def call(file: int, *words: int) -> int:
            with _as_mpi(name):
                self._begin(file, name)(*prepare(*words))
            return 0

        return call

    def _asked(self, name: str) -> Call:
        """Return a call of a method whose result, of the size of an address, is written last."""

        def call(file: int, *words: int) -> int:
            check_given(words[-1])
            with _as_mpi(name):
                _write_offset(words[-1], self._begin(file, name)(*words[:-1]))
            return 0

        return call

    def _access(self, name: str, has_offset: bool) -> Call:
        """Return a call that reads or writes: at once, begun with a request, or split in two."""
        if name.endswith("_end"):
            return self._end_of_access(name)

        from runtime.mpi.files.agreeing import agree

        def prepared(file: int, words: tuple[int, ...]) -> tuple[Any, ...]:
            try:
                memory = self._values.one(*words[has_offset : has_offset + 3])
            except MPI.Exception as error:
                if "ordered" in name:  # the others wait for this process
                    agree(self._grid(file).comm, error)
                raise
            return (*words[:has_offset], memory)

        def call(file: int, *words: int) -> int:
            found = MPI.Status()
            with _as_mpi(name):
                self._begin(file, name)(*prepared(file, words), found)
            write_status(words[-1], found)
            return 0

        def begin(file: int, *words: int) -> int:
            with _as_mpi(name):
                request = self._begin(file, name)(*prepared(file, words))
            return 0 if request is None else self._requests.keep(request, file)

        return begin if name.startswith("I") or name.endswith("_begin") else call

    def _end_of_access(self, name: str) -> Call:
        def call(file: int, _: int, status: int) -> int:
            found = MPI.Status()
            with _as_mpi(name):
                self._begin(file, name)(None, found)
            write_status(status, found)
            return 0

        return call

    def _get_amode(self, file: int, found: int) -> int:
        write(found, self._grid(file).Get_amode())
        return 0

    def _get_atomicity(self, file: int, found: int) -> int:
        write(found, int(self._grid(file).Get_atomicity()))
        return 0

    def _group(self, file: int, _: int) -> int:
        return self._values.hand_out_group(self._grid(file).Get_group())

    def _get_info(self, file: int, found: int) -> int:
        check_given(found)
        write_handle(found, 0, native_handle(self._grid(file).Get_info()))
        return 0

    def _set_view(
        self, file: int, place: int, etype: int, filetype: int, name: int, info: int
    ) -> int:
        with _as_mpi("Set_view"):
            check_given(name)
            types = map(MPI.Datatype.fromhandle, (etype, filetype))
            text = ctypes.string_at(name).decode(errors="replace")
            hints = MPI.Info.fromhandle(info)
            self._begin(file, "Set_view")(place, *types, text, hints)
        return 0

    def _get_view(self, file: int, place: int, etype: int, filetype: int, name: int) -> int:
        for one in (place, etype, filetype, name):
            check_given(one)
        offset, *types, representation = self._grid(file).Get_view()
        _write_offset(place, offset)
        for address, datatype in zip((etype, filetype), types, strict=True):
            write_handle(address, 0, native_handle(datatype))
        text = representation.encode() + b"\0"
        ctypes.memmove(name, text, len(text))
        return 0

    def _extent(self, file: int, kind: int, found: int) -> int:
        check_given(found)
        datatype = self._values.type(kind).datatype
        _write_offset(found, self._grid(file).Get_type_extent(datatype))
        return 0


def _as_given(*words: int) -> tuple[int, ...]:
    return words


def _write_offset(address: int, value: int) -> None:
    ctypes.c_int64.from_address(address).value = value


@contextmanager
def _as_mpi(name: str) -> Iterator[None]:
    """Raise MPI.Exception for what a file raises of its arguments, and of its home."""
    from runtime.mpi.files.making import error_of

    try:
        yield
    except (FileFault, WrongArgument) as fault:
        raise error_of(name, fault) from None


def raised_for_file(_: MPI.File, name: str, fault: Exception) -> None:
    """Raise what has failed: the library calls the error handler."""
    with _as_mpi(name):
        raise fault
