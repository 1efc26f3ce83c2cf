"""Open MPI 4 and 5, each of which has its own name for many things."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from runtime.native_mpi.contract import MpiWorld, NativeMpi

_OVERSUBSCRIBED = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_NOT_BOUND = {
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_SESSION_FOLDERS = ("PRTE_MCA_prte_tmpdir_base", "OMPI_MCA_orte_tmpdir_base")
_TRANSPORTS = "OMPI_MCA_btl"
_HOST_FILES = "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"
_CRASHES = "OMPI_MCA_opal_signal"


class OpenMpi(NativeMpi):
    """Open MPI: refuses root and more ranks than cores, and mixes lines unless it tags them."""

    name = "openmpi"
    marks = ("Open MPI", "OpenRTE")
    rank_variables = (
        "PMIX_RANK",
        "PMIX_NAMESPACE",
        "PMIX_SERVER_URI2",
        "PMIX_SERVER_URI3",
        "PMIX_SERVER_URI21",
        "PMIX_SERVER_URI41",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_UNIVERSE_SIZE",
        "PRTE_LAUNCHED",
    )
    tag = re.compile(rb"\[\d+,(\d+)\]<std(out|err)>:")
    signal_words = re.compile(r"exited on signal (\d+)")
    tries_every_interface = True
    interface_options = ("btl_tcp_if", "oob_tcp_if", "UCX_NET_DEVICES")

    def own_options(self, world: MpiWorld) -> tuple[str, ...]:
        """Tag the output, and hand the environment to other hosts.

        Of that the options have only the names: the values stay out of the argument list.
        """
        handed = {name for name, value in world.environment.items() if value is not None}
        names = sorted(handed - {*world.options}) if world.is_elsewhere else ()
        return ("--tag-output", *(word for name in names for word in ("-x", name)))

    def environment(self, world: MpiWorld, *, is_root: bool) -> Mapping[str, str]:
        """Allow root, and more ranks than cores, which then must not be bound to cores.

        Where hosts have numbers of ranks, these are enough; to allow more would let it put all
        ranks on the first host.
        """
        more = {} if world.hosts else _OVERSUBSCRIBED
        return {**_NOT_BOUND, **more, **(_AS_ROOT if is_root else {})}

    def open_starter(self, options: Sequence[str]) -> str:  # noqa: ARG002 - whatever they are
        """Return what its `mpiexec` really is."""
        return "prterun (orterun in Open MPI 4)"

    def without_network(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Leave out the transport over TCP, unless a user has named more hosts."""
        is_chosen = any(name in environment for name in (_TRANSPORTS, *_HOST_FILES))
        return {} if is_chosen else {_TRANSPORTS: "^tcp"}

    def tidiness(self, run_directory: str, environment: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """Keep files in the run directory, and leave crashes to Python, which has the lines."""
        return (
            {**dict.fromkeys(_SESSION_FOLDERS, run_directory), _CRASHES: ""}
            if run_directory
            else {}
        )

    def only_interface(self, name: str, others: Sequence[str]) -> str:  # noqa: ARG002
        """Exclude the others, which it would all try."""
        return f'<mpi options="--mca btl_tcp_if_exclude lo,{",".join(others)}"/>'


OPEN_MPI = OpenMpi()
