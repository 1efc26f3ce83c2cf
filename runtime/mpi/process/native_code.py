"""Whether code in C finds the grid behind handles: who sees to that, as the lower floors know it.

`runtime.processes.rank.native_libraries` does, where a program loads such code or asks for a
handle, and `runtime.mpi.from_c.libraries` then knows all communicators. This imports no MPI: a rank
loads it at its start.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Any, Protocol

    from mpi4py import MPI

    class Library(Protocol):
        """The library that stands before MPI in this process."""

        def serve(self) -> str:
            """Load it, unless it is; return why it cannot be had, "" if it is there."""

        def communicators_are_made(self) -> None:
            """Tell it of those that are there from the start."""

    class Tokens(Protocol):
        """The handles behind which code in C finds the grid."""

        def add(self, members: Any) -> None:
            """Let the native communicator of `CommunicatorRanks` stand for them."""

        def remove(self, handle: int) -> None:
            """Let a handle be native again."""

        def named(self, comm: MPI.Comm) -> MPI.Comm:
            """Return the communicator whose handle is that of another one."""

        def add_group(self, group: MPI.Group) -> None:
            """Let the handle of a group over several clusters stand for it."""

        def remove_group(self, group: MPI.Group) -> None:
            """Let the handle of a group be native again."""


library: Library | None = None
"""None where this is no rank of several clusters, or COMM_WORLD is not the grid."""

tokens: Tokens | None = None
"""None until the library is there and knows the communicators."""


ALONE = "GCM_CLUSTER_ALONE"
"""The variable that tells code in C why it sees one cluster of several; `gcm.h` reads it."""

UNSERVED = "GCM_UNSERVED"
"""The variable that tells code in C why the rest of `gcm.h` is not there."""

OF_CLUSTER = (
    'this program sees its own cluster only: comm-world="cluster" says so, or gcm-deploy has found '
    "no shared MPI in what it has started"
)
_UNSERVED = "no library of gcm-deploy stands before the MPI of this program"


def told(*, sees_cluster: bool) -> dict[str, str]:
    """Return the variables for code in C before which no library stands, or not yet.

    It `sees_cluster` if that is one of several.
    """
    return {UNSERVED: _UNSERVED, **({ALONE: OF_CLUSTER} if sees_cluster else {})}


def why_not() -> str:
    """See to it that code in C finds the grid behind handles; return why it will not, or ""."""
    return "this process is no rank of a grid" if library is None else library.serve()
