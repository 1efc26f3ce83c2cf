"""Modes of files, and errors of the system by MPI's names."""

from __future__ import annotations

import errno
import os

import pytest

from runtime.files.faults import FileFault, fault_of
from runtime.files.modes import OpenMode, check_mode, check_use


@pytest.mark.parametrize(
    "mode",
    [
        OpenMode.CREATE,
        OpenMode.RDONLY | OpenMode.WRONLY,
        OpenMode.RDONLY | OpenMode.CREATE,
        OpenMode.RDONLY | OpenMode.EXCL,
        OpenMode.RDWR | OpenMode.SEQUENTIAL,
    ],
)
def test_modes_that_do_not_go_together_are_refused(mode: OpenMode) -> None:
    with pytest.raises(FileFault) as fault:
        check_mode(mode)
    assert fault.value.name == "ERR_AMODE"


def test_a_mode_says_what_the_system_is_to_do() -> None:
    mode = OpenMode.RDWR | OpenMode.CREATE | OpenMode.EXCL
    check_mode(mode)
    assert mode.flags & (os.O_RDWR | os.O_CREAT | os.O_EXCL) == os.O_RDWR | os.O_CREAT | os.O_EXCL
    assert not OpenMode.RDONLY.flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)


@pytest.mark.parametrize(
    ("mode", "reads", "shared", "name"),
    [
        (OpenMode.WRONLY, True, False, "ERR_ACCESS"),
        (OpenMode.RDONLY, False, False, "ERR_READ_ONLY"),
        (OpenMode.RDONLY | OpenMode.SEQUENTIAL, True, False, "ERR_UNSUPPORTED_OPERATION"),
    ],
)
def test_an_access_has_to_fit_the_mode(
    mode: OpenMode, reads: bool, shared: bool, name: str
) -> None:
    with pytest.raises(FileFault) as fault:
        check_use(mode, reads=reads, shared=shared)
    assert fault.value.name == name


def test_a_sequential_file_is_read_at_the_shared_pointer() -> None:
    check_use(OpenMode.RDONLY | OpenMode.SEQUENTIAL, reads=True, shared=True)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (errno.ENOENT, "ERR_NO_SUCH_FILE"),
        (errno.EROFS, "ERR_READ_ONLY"),
        (errno.ENOSPC, "ERR_NO_SPACE"),
        (errno.EEXIST, "ERR_FILE_EXISTS"),
        (errno.EIO, "ERR_IO"),
    ],
)
def test_an_error_of_the_system_has_a_class_of_mpi_and_its_words(number: int, name: str) -> None:
    fault = fault_of(OSError(number, os.strerror(number)), "writing")
    assert fault.name == name
    told = FileFault.of(fault.packed())
    assert (told.name, str(told)) == (name, f"writing: {os.strerror(number)}")
