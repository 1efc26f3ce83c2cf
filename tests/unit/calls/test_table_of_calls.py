"""The table of MPI's calls beside mpi4py, the standard's header, and our own classes."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

from mpi4py import MPI

from runtime import calls
from runtime.calls import MpiCall, every_call
from runtime.calls.page import render_page
from runtime.mpi.communicators.groups import Group
from runtime.mpi.files.face import File
from runtime.mpi.files.making import give_methods as give_methods_of_files
from runtime.mpi.point_to_point.messages import Message
from runtime.mpi.requests.requests import Prequest, Request
from runtime.mpi.surface import communicator_classes as ours
from runtime.mpi.surface.sessions import Session
from runtime.mpi.windows.face import Win
from runtime.mpi.windows.making import give_methods

STANDARD = Path(__file__).with_name("standard.txt")

METHODS = [one for one in every_call() if one.of != "-"]
FACES: dict[str, Any] = {
    **{one: getattr(ours, one) for one in calls.OF_COMMUNICATORS},
    **{"Group": Group, "Request": Request, "Prequest": Prequest, "Message": Message},
    **{"Win": Win, "File": File, "Session": Session},
}


def name_of(call: MpiCall) -> str:
    return f"{call.of}.{call.name}"


def native(call: MpiCall) -> Any:
    found = vars(getattr(MPI, call.of))[call.name]
    return getattr(found, "__func__", found)


def default_of(text: str | None) -> object:
    """Return the default value that a row names: of module `MPI`, or written down."""
    if text is None:
        return inspect.Parameter.empty
    if hasattr(MPI, text):
        return getattr(MPI, text)
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text


def has_its_own(call: MpiCall) -> bool:
    """Return whether a class of ours, which says that it is of mpi4py, has such a method."""
    kinds = FACES[call.of].__mro__ if call.of in FACES else ()
    theirs = {object, *(one for one in vars(MPI).values() if isinstance(one, type))}
    return any(call.name in vars(one) for one in kinds if one not in theirs)


def test_each_method_of_mpi4py_has_a_row_and_each_row_is_one() -> None:
    classes = dict.fromkeys(one.of for one in METHODS)
    theirs = {
        f"{of}.{name}"
        for of in classes
        for name, found in vars(getattr(MPI, of)).items()
        if not name.startswith("_") and not inspect.isgetsetdescriptor(found)
    }
    rows = [name_of(one) for one in METHODS]
    assert len(rows) == len(set(rows))
    assert set(rows) == theirs


def test_each_function_of_the_standard_that_takes_a_handle_has_a_row() -> None:
    lines = [one.split() for one in STANDARD.read_text().splitlines() if one[0] != "#"]
    functions = {name.removesuffix("_c") for name, *_ in lines}
    rows = {one.standard for one in every_call()}
    assert functions - rows == set()
    beyond = {one for one in rows - functions if not one.startswith("MPIX_") and one != "-"}
    # these take what a handle has: an attribute's key, an error handler's function, a file's name,
    # a descriptor, or the number of a handle in Fortran
    assert beyond == {
        *("MPI_Comm_create_errhandler", "MPI_Comm_create_keyval", "MPI_Comm_free_keyval"),
        *("MPI_Win_create_errhandler", "MPI_Win_create_keyval", "MPI_Win_free_keyval"),
        *("MPI_File_create_errhandler", "MPI_File_delete", "MPI_Session_create_errhandler"),
        *(f"MPI_{kind}_{way}" for kind in
          ("Comm", "File", "Group", "Message", "Request", "Session", "Win")
          for way in ("c2f", "f2c")),
    }  # fmt: skip


def test_a_row_has_the_arguments_of_mpi4py() -> None:
    def of_row(call: MpiCall) -> list[tuple[str, object]]:
        return [(one.name, default_of(one.default)) for one in call.arguments]

    def of_mpi4py(call: MpiCall) -> list[tuple[str, object]]:
        taken = [*inspect.signature(native(call)).parameters.values()][1:]
        return [(one.name, one.default) for one in taken]

    assert [name_of(one) for one in METHODS if of_row(one) != of_mpi4py(one)] == []


def test_a_row_says_whether_a_call_is_ours() -> None:
    give_methods()
    give_methods_of_files()

    def is_true(call: MpiCall) -> bool:
        if call.grid == calls.REFUSED:
            return has_its_own(call) or call.kind == "partition"
        return has_its_own(call) == (call.grid != calls.NATIVE)

    assert [name_of(one) for one in METHODS if not is_true(one)] == []


def test_a_collective_names_the_blocking_call_that_does_the_same() -> None:
    rows = calls.of_kind("collective")
    assert rows["Ibcast"].operation == rows["Bcast_init"].operation == "Bcast"
    assert rows["barrier"].operation == "Barrier"
    assert {one.operation for one in rows.values()} <= set(rows)


def test_the_page_of_calls_is_current() -> None:
    page = Path(__file__).parents[3] / "docs" / "calls.md"
    assert page.read_text() == render_page(), "run: python -m runtime.calls.page > docs/calls.md"
