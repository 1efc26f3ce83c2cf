"""MPICH, and what is built on it: Intel MPI, MVAPICH. Its `mpiexec` is called Hydra."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from runtime.native_mpi.contract import MpiAbort, MpiWorld, NativeMpi

_ABORT = re.compile(
    rb"^Abort\((?P<code>-?\d+)\) on node \d+(?: \(rank -?\d+ in comm \d+\))?: "
    rb"(?:(?P<call>application called MPI_Abort\(.*\n?)|(?P<words>.*))",
    re.MULTILINE,
)
_INNER_NAME = re.compile(r"\b(?:internal_|P)(?:MPI_)?(?=[A-Z])")
_TOPOLOGY = "HWLOC_XMLFILE"
_OF_A_USER = (
    "HYDRA_BINDING",
    "HYDRA_MAPPING",
    "HYDRA_MEMBIND",
    "HYDRA_CONFIG_FILE",
    "HYDRA_HOST_FILE",
    "HYDRA_ENV",
    "I_MPI_ROOT",  # Intel's has a protocol and libraries of its own
    "MPIR_CVAR_PMI_VERSION",
)
"""Settings by which a user tells Hydra what to do, and what it is to be."""


class Mpich(NativeMpi):
    """MPICH: hands its own environment to ranks, and takes any number of them for each core."""

    name = "mpich"
    marks = ("HYDRA", "MPICH Version", "Intel(R) MPI")
    rank_variables = (
        "PMI_RANK",
        "PMI_SIZE",
        "PMI_FD",
        "PMI_PORT",
        "PMI_ID",
        "PMI_SPAWNED",
        "PMI_HOSTNAME",
        "MPI_LOCALRANKID",
        "MPI_LOCALNRANKS",
        "HYDI_CONTROL_FD",
    )
    signal_words = re.compile(r"\(signal (\d+)\)")
    refusal = "unsupported PMI version"
    noise = ("[mpiexec@",)
    interface_options = ("-iface", "FI_TCP_IFACE", "UCX_NET_DEVICES")

    def is_managed(self, environment: Mapping[str, str]) -> bool:
        """Tell that unless a user has set how Hydra is to start ranks: then it is wanted."""
        return not any(environment.get(name) for name in _OF_A_USER)

    def open_starter(self, options: Sequence[str]) -> str:
        """Return Hydra where a user has options for it."""
        return "Hydra" if options else ""

    def abort_in(self, block: bytes) -> tuple[bytes, MpiAbort | None]:
        r"""Return lines without the number that a rank has among those of its `mpiexec`.

        >>> line = b"Abort(70) on node 1 (rank 1 in comm 0): Fatal error in internal_Send: "
        >>> MPICH.abort_in(b"before\n" + line + b"Invalid rank, error stack:\nMPI_Send failed\n")[0]
        b'before\nFatal error in internal_Send: Invalid rank, error stack:\nMPI_Send failed\n'
        >>> MPICH.abort_in(line + b"Invalid rank, error stack:\n")[1]
        MpiAbort(code=70, why='Fatal error in MPI_Send: Invalid rank')
        """
        found = _ABORT.search(block)
        if found is None:
            return block, None
        rest = _ABORT.sub(lambda one: one["words"] or b"", block)
        code = int(found["code"])
        why = f"called MPI_Abort({code})"
        if not found["call"]:
            words = found["words"].decode("utf-8", errors="replace").removesuffix(", error stack:")
            why = _INNER_NAME.sub("MPI_", words)
        return rest, MpiAbort(code & 0xFF or 1, why)

    def only_interface(self, name: str, others: Sequence[str]) -> str:  # noqa: ARG002
        """Return variables: options would let `mpiexec` start the ranks, which listens."""
        return (
            f'<environment name="UCX_NET_DEVICES" value="{name}"/> in <application>, or'
            " FI_TCP_IFACE where the MPICH uses libfabric"
        )

    def environment(self, world: MpiWorld, *, is_root: bool) -> Mapping[str, str]:  # noqa: ARG002
        """Let it start ranks beside it by itself.

        In a job of a batch system it would ask that to start them, which needs nodes for them.
        """
        return {} if world.is_elsewhere else {"HYDRA_BOOTSTRAP": "fork"}

    def tidiness(self, run_directory: str, environment: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """Let it not write the topology of the host into a file, which only /tmp could have.

        It does not if the ranks need not have the topology from there.
        """
        return {_TOPOLOGY: environment.get(_TOPOLOGY, "")}


class MpichWheel(Mpich):
    """The MPICH that pip has installed here, brought to where there is none."""

    name = "mpich-wheel"
    brings = "mpich"


MPICH = Mpich()
MPICH_WHEEL = MpichWheel()
