"""The calls that programs see have the arguments that mpi4py's have, by name and by place."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from mpi4py import MPI as native

from runtime import MPI
from runtime.mpi.point_to_point.messages import Message
from runtime.mpi.requests.requests import Prequest, Request

OURS: dict[str, Any] = {
    name: getattr(MPI, name)
    for name, one in vars(native).items()
    if isinstance(one, type) and getattr(MPI, name) is not one
} | {"Request": Request, "Prequest": Prequest, "Message": Message}  # in one cluster mpi4py's
CLASSES = [*OURS]


def arguments(call: Any) -> list[tuple[str, str, str]]:
    found = inspect.signature(call).parameters.values()
    return [(one.name, one.kind.name, repr(one.default)) for one in found]


def calls(kind: type) -> dict[str, Any]:
    return {
        name: getattr(kind, name)
        for name in dir(kind)
        if not name.startswith("_") and callable(getattr(kind, name))
    }


def test_all_classes_that_stand_in_for_those_of_mpi4py_are_looked_at() -> None:
    assert {"Comm", "Intracomm", "Intercomm", "Cartcomm", "Request", "Win", "File"} <= {*CLASSES}


@pytest.mark.parametrize("name", CLASSES)
def test_methods_take_the_arguments_of_those_of_mpi4py(name: str) -> None:
    mine, theirs = calls(OURS[name]), calls(getattr(native, name))
    assert {*theirs} <= {*mine}
    different = {
        call: (arguments(mine[call]), arguments(one))
        for call, one in theirs.items()
        if arguments(mine[call]) != arguments(one)
    }
    assert different == {}


def test_functions_take_the_arguments_of_those_of_mpi4py() -> None:
    functions = [
        name
        for name, one in vars(native).items()
        if callable(one) and not isinstance(one, type) and getattr(MPI, name) is not one
    ]
    assert {"Init", "Init_thread", "Finalize", "Query_thread"} <= {*functions}
    different = {
        name
        for name in functions
        if arguments(getattr(MPI, name)) != arguments(getattr(native, name))
    }
    assert different == set()


@pytest.mark.parametrize("name", CLASSES)
def test_properties_are_those_of_mpi4py(name: str) -> None:
    assert {one for one in dir(getattr(native, name)) if not one.startswith("_")} <= {
        *dir(OURS[name])
    }
