"""The MPI that programs see: mpi4py's, with the communicators of the whole machine.

    from runtime import MPI

    world = MPI.COMM_GRID
    print(f"{world.rank} of {world.size} in {world.my_cluster}")

Everything that is not defined here is mpi4py's own.
"""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING, Any

from mpi4py import MPI as _native

from runtime.mpi import worlds as _worlds
from runtime.mpi.comm import (
    Cartcomm,
    Comm,
    Distgraphcomm,
    Graphcomm,
    Intercomm,
    Intracomm,
    Topocomm,
)
from runtime.mpi.refusals import File, NotOnTheGrid, Win
from runtime.mpi.topology_calls import ClusterInfo, Gateways, Neighborhood, SiteInfo
from runtime.topology import Neighbourhood, Reachability

if TYPE_CHECKING:
    from mpi4py.MPI import *  # noqa: F403 - what a program may use

_made = dict(globals())
globals().update({name: value for name, value in vars(_native).items() if name not in _made})
_comms = _worlds.start().comms
COMM_CLUSTER = _comms["COMM_CLUSTER"]
COMM_SITE = _comms["COMM_SITE"]
COMM_GRID = _comms["COMM_GRID"]
COMM_SITE_GATEWAYS = _comms["COMM_SITE_GATEWAYS"]
COMM_GRID_GATEWAYS = _comms["COMM_GRID_GATEWAYS"]


def Finalize() -> None:
    """Send what is still to be sent, then end MPI in this cluster."""
    _worlds.finish()
    _native.Finalize()


atexit.register(_worlds.finish)
