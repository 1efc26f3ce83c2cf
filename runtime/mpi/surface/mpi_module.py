"""The MPI that programs see: mpi4py's, with the communicators of the whole machine.

    from runtime import MPI

    world = MPI.COMM_GRID
    print(f"{world.rank} of {world.size} in {world.my_cluster}")

Everything that is not defined here is mpi4py's own.
"""

# ruff: noqa: PLC0414 - `as` tells type checkers that a name is for those who import this module

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from mpi4py import MPI as _native

from runtime.lazy_import import LazyModule as _LazyModule
from runtime.mpi.collectives.reductions import AVG as AVG
from runtime.mpi.communicators.attributes import FT_ERRORS as FT_ERRORS
from runtime.mpi.communicators.attributes import FT_INCARNATION as FT_INCARNATION
from runtime.mpi.communicators.attributes import FT_PROCESSES as FT_PROCESSES
from runtime.mpi.communicators.attributes import FT_STATE as FT_STATE
from runtime.mpi.communicators.classes import null as _null
from runtime.mpi.communicators.creation import COMM_TYPE_CLUSTER as COMM_TYPE_CLUSTER
from runtime.mpi.communicators.creation import COMM_TYPE_SITE as COMM_TYPE_SITE
from runtime.mpi.communicators.groups import Group as Group
from runtime.mpi.communicators.topology_attributes import TOPOLOGY_COLORS as TOPOLOGY_COLORS
from runtime.mpi.communicators.topology_attributes import TOPOLOGY_DEPTHS as TOPOLOGY_DEPTHS
from runtime.mpi.errors import CommunicatorRevoked as CommunicatorRevoked
from runtime.mpi.errors import Get_error_string as Get_error_string
from runtime.mpi.errors import NotOnTheGrid as NotOnTheGrid
from runtime.mpi.errors import OutOfStep as OutOfStep
from runtime.mpi.errors import ProcessGone as ProcessGone
from runtime.mpi.errors import failure_classes as _failure_classes
from runtime.mpi.files.face import File as File
from runtime.mpi.point_to_point.messages import Message as Message
from runtime.mpi.process import native_code as _native_code
from runtime.mpi.progress import predefined as _predefined
from runtime.mpi.requests.requests import Prequest as Prequest
from runtime.mpi.requests.requests import Request as Request
from runtime.mpi.surface import extensions as _extensions
from runtime.mpi.surface import library_calls as _library_calls
from runtime.mpi.surface import lifetime as _lifetime
from runtime.mpi.surface import start as _worlds
from runtime.mpi.surface.communicator_classes import Cartcomm as Cartcomm
from runtime.mpi.surface.communicator_classes import Comm as Comm
from runtime.mpi.surface.communicator_classes import Distgraphcomm as Distgraphcomm
from runtime.mpi.surface.communicator_classes import Graphcomm as Graphcomm
from runtime.mpi.surface.communicator_classes import Intercomm as Intercomm
from runtime.mpi.surface.communicator_classes import Intracomm as Intracomm
from runtime.mpi.surface.communicator_classes import Topocomm as Topocomm
from runtime.mpi.surface.lifetime import Finalize as Finalize
from runtime.mpi.surface.lifetime import Init as Init
from runtime.mpi.surface.lifetime import Init_thread as Init_thread
from runtime.mpi.surface.lifetime import Is_finalized as Is_finalized
from runtime.mpi.surface.lifetime import Is_initialized as Is_initialized
from runtime.mpi.surface.lifetime import Query_thread as Query_thread
from runtime.mpi.surface.port_calls import Close_port as Close_port
from runtime.mpi.surface.port_calls import Lookup_name as Lookup_name
from runtime.mpi.surface.port_calls import Open_port as Open_port
from runtime.mpi.surface.port_calls import Publish_name as Publish_name
from runtime.mpi.surface.port_calls import Unpublish_name as Unpublish_name
from runtime.mpi.surface.sessions import Session as Session
from runtime.mpi.values import handles as _handles
from runtime.mpi.windows.face import Win as Win

if TYPE_CHECKING:
    from runtime.mpi.surface.checkpoint import Checkpoint as Checkpoint
    from runtime.mpi.surface.random_numbers import Random as Random
    from runtime.mpi.surface.topology_facts import ClusterInfo as ClusterInfo
    from runtime.mpi.surface.topology_facts import Gateways as Gateways
    from runtime.mpi.surface.topology_facts import Neighborhood as Neighborhood
    from runtime.mpi.surface.topology_facts import SiteInfo as SiteInfo
    from runtime.mpi.surface.walltime import Before_walltime as Before_walltime
    from runtime.mpi.surface.walltime import Time_left as Time_left
    from runtime.topology import Neighbourhood as Neighbourhood
    from runtime.topology import Reachability as Reachability

    COMM_CLUSTER: Intracomm
    COMM_SITE: Intracomm
    COMM_GRID: Intracomm
    COMM_SITE_GATEWAYS: Intracomm
    COMM_GRID_GATEWAYS: Intracomm
    COMM_WORLD: Intracomm
    COMM_SELF: Intracomm
    from mpi4py.MPI import *  # type: ignore[assignment]  # noqa: F403 - what is ours comes first


_LATER = {
    "Before_walltime": "runtime.mpi.surface.walltime",
    "Checkpoint": "runtime.mpi.surface.checkpoint",
    "ClusterInfo": "runtime.mpi.surface.topology_facts",
    "Gateways": "runtime.mpi.surface.topology_facts",
    "Neighborhood": "runtime.mpi.surface.topology_facts",
    "SiteInfo": "runtime.mpi.surface.topology_facts",
    "Neighbourhood": "runtime.topology",
    "Random": "runtime.mpi.surface.random_numbers",
    "Reachability": "runtime.topology",
    "Time_left": "runtime.mpi.surface.walltime",
}
"""What few programs name."""


def __getattr__(name: str) -> object:
    if name.startswith("COMM_") and not _native.Is_initialized():
        raise AttributeError(f"MPI.{name} is not there before MPI.Init has been called")
    if name == "__all__":
        return [one for one in (*globals(), _extensions.ASKED_BY_ALL) if not one.startswith("_")]
    if name == _extensions.ASKED_BY_ALL:
        _extensions.warn_of_importer()
        return getattr(_native, name)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_LazyModule(_LATER[name]), name)


def _begin() -> None:
    globals().update(_failure_classes())
    globals().update(_worlds.start().comms)
    globals().update(_worlds.other_names())
    _worlds.handle_errors()
    if _native_code.library is not None:
        _native_code.library.communicators_are_made()


globals().update({name: one for name, one in vars(_native).items() if name not in globals()})
del globals()[_extensions.ASKED_BY_ALL]  # for `__getattr__`, which sees who asks for it
globals()["COMM_NULL"] = _null()
__pyx_capi__ = _extensions.c_interface(_native.__pyx_capi__)
_lifetime.when_up(_begin)
_addressof = _handles.addressof
_handleof = _handles.handleof
_commctx_intra = _library_calls.commctx_intra
_commctx_inter = _library_calls.commctx_inter
atexit.register(_predefined.finish)
