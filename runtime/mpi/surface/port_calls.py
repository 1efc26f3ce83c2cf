"""The functions of MPI about ports and names: native MPI's in a run of one cluster."""

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.progress.predefined import predefined

_ports: Any = LazyModule("runtime.mpi.communicators.ports")


def Open_port(info: MPI.Info = MPI.INFO_NULL) -> str:
    """Return the name of a new port, at which any process of the run can reach this one."""
    engine = predefined().engine
    name: str = MPI.Open_port(info) if engine is None else _ports.open_port(engine)
    return name


def Close_port(port_name: str) -> None:
    """Close a port of this process; who waits there gets an error of class ERR_PORT."""
    engine = predefined().engine
    if engine is None:
        MPI.Close_port(port_name)
    else:
        _ports.close_port(engine, port_name)


def Publish_name(service_name: str, port_name: str, info: MPI.Info = MPI.INFO_NULL) -> None:
    """Give a port a name, by which all processes of the run find it until this one ends."""
    engine = predefined().engine
    if engine is None:
        MPI.Publish_name(service_name, port_name, info)
    else:
        _ports.publish(engine, service_name, port_name)


def Unpublish_name(service_name: str, port_name: str, info: MPI.Info = MPI.INFO_NULL) -> None:
    """Take the name of a port back."""
    engine = predefined().engine
    if engine is None:
        MPI.Unpublish_name(service_name, port_name, info)
    else:
        _ports.unpublish(engine, service_name, port_name)


def Lookup_name(service_name: str, info: MPI.Info = MPI.INFO_NULL) -> str:
    """Return the port that has a name; raises an error of class ERR_NAME at once if none has."""
    engine = predefined().engine
    found: str = (
        MPI.Lookup_name(service_name, info)
        if engine is None
        else _ports.look_up(engine, service_name)
    )
    return found
