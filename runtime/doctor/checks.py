"""Checks of one host, from its record. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from gcm.documents import Severity
from runtime.doctor.records import ExaminedHost, Finding, HostFacts, Record
from runtime.host_addresses import VIRTUAL
from runtime.mpi4py_version import OLDEST_MPI4PY, is_too_old
from runtime.native_mpi import is_interface_chosen, native_mpi, native_mpi_of_library

MIB = 1 << 20
FEW_BYTES = 50 * MIB
"""Bytes that a run needs in the folder for temporary files, beside copies of programs."""

LITTLE_SHARED_MEMORY = 64 * MIB
"""Bytes for each rank: what MPI libraries use for queues and large messages."""

SKEW, MUCH_SKEW = 5.0, 3600.0
"""Seconds by which clocks may differ before it is a warning, and before it is an error."""

OWN_FILES = 64
"""Files that a rank has open beside connections; an eighth of the limit is kept free too."""

_SHARED_MEMORY = "/dev/shm"
_VIRTUAL = (*VIRTUAL, "tun", "tap")

_PACKAGES = {"PIL": "pillow", "yaml": "pyyaml", "sklearn": "scikit-learn", "cv2": "opencv-python"}
"""What pip calls modules that have another name."""

Check = Callable[[ExaminedHost, HostFacts, Record], Iterator[Finding]]


def _finding(
    host: ExaminedHost, code: str, what: str, why: str, fix: str, *, severe: bool = True
) -> Finding:
    severity = Severity.ERROR if severe else Severity.WARNING
    return Finding(code, severity, what, host.where, why, fix, host.location)


def check_mpi(host: ExaminedHost, facts: HostFacts, record: Record) -> Iterator[Finding]:
    """Yield faults of mpiexec and mpi4py: missing, broken, or of different MPIs."""
    if not host.needs_mpi:
        return
    fault = record.mpi_fault
    if native_mpi(host.flavour).brings:
        if fault is not None:
            yield _finding(
                host, "mpi-not-brought", fault.what + _last_line(fault.cause),
                "the descriptor wants an MPI to be brought along, which starts the ranks",
                fault.cure,
            )  # fmt: skip
        return
    if not facts.mpiexec:
        yield _finding(
            host, "no-mpiexec", f"there is no {host.mpiexec!r}",
            "it starts the ranks of the cluster",
            f"{install(facts, 'mpich')}; or name the one that is there:"
            ' <mpi command-path="/path/to/mpiexec"/>' + ("" if host.is_here else
            '; or bring one along: <mpi flavour="mpich-wheel"/>'),
        )  # fmt: skip
    if host.needs_mpi4py and not facts.packages.get("mpi4py"):
        yield _finding(
            host, "no-mpi4py", f"{facts.python} has no mpi4py",
            "ranks that are Python programs speak through it" if host.is_here
            else "a run brings that of this machine, which fits a Python of the same version only",
            f"{install(facts, 'mpi4py')}; or name another Python:"
            ' <front-end python="/path/to/python"/>',
            severe=host.is_here,
        )  # fmt: skip
        return
    version = facts.packages.get("mpi4py", "")
    if host.needs_mpi4py and is_too_old(version):
        yield _finding(
            host, "old-mpi4py", f"the mpi4py of {facts.python} is {version}",
            f"ranks need {OLDEST_MPI4PY}.0 or newer, and would end at its import",
            f"{install(facts, f'mpi4py>={OLDEST_MPI4PY}')}, with the MPI of that cluster loaded"
            ' (module load ...); or name another Python: <front-end python="/path/to/python"/>',
        )  # fmt: skip
        return
    if host.needs_mpi4py and facts.library_fault:
        yield _finding(
            host, "mpi4py-broken", f"mpi4py cannot load its MPI: {facts.library_fault}",
            "every rank would end at its import",
            f"{install(facts, '--force-reinstall', 'mpi4py')}, with the MPI of"
            " that cluster loaded (module load ...)",
        )  # fmt: skip
        return
    if fault is not None and facts.mpiexec:
        loaded = f" (mpi4py loads {facts.library})" if facts.library else ""
        is_other = type(fault).__name__ == "WrongMpiexec"
        yield _finding(
            host, "two-mpis" if is_other else "mpiexec-fails",
            f"{fault.what}{loaded}" + _last_line(fault.cause),
            "every rank would take itself for rank 0 of 1" if is_other
            else "the ranks of the cluster would not start",
            _beside_python(facts) if is_other else fault.cure,
        )  # fmt: skip


def check_modules(host: ExaminedHost, facts: HostFacts, _: Record) -> Iterator[Finding]:
    """Yield the packages that the program imports and the host does not have."""
    if not facts.missing:
        return
    names = " and ".join(facts.missing)
    yield _finding(
        host, "no-module", f"{facts.python} has no {names}",
        "the program imports it" if len(facts.missing) == 1 else "the program imports them",
        install(facts, *(_PACKAGES.get(one, one) for one in facts.missing)),
    )  # fmt: skip


def install(facts: HostFacts, *packages: str) -> str:
    """Return the command that gets packages on a host, as it works with its Python.

    >>> python = HostFacts("n", "ana", "/usr/bin/python3", (3, 13, 5))
    >>> install(python, "numpy")
    '/usr/bin/python3 -m pip install numpy'
    """
    wanted = shlex.join(packages)
    if not facts.is_managed:
        return f"{facts.python} -m pip install {wanted}"
    first = "" if facts.has_venv else "sudo apt install python3-venv && "
    return (
        f"{first}{facts.python} -m venv --system-site-packages ~/gcm-python"
        f" && ~/gcm-python/bin/pip install {wanted}"
        ', then <front-end python="~/gcm-python/bin/python"/>'
        + (' and <mpi command-path="~/gcm-python/bin/mpiexec"/>' if "mpich" in packages else "")
    )


def _beside_python(facts: HostFacts) -> str:
    folder = facts.python.rpartition("/")[0]
    return (
        f'<mpi command-path="{folder}/mpiexec"/> if mpi4py came with an MPI of its own; otherwise'
        f" the mpiexec of {facts.library or 'the MPI that mpi4py was built with'}"
    )


def _last_line(cause: str) -> str:
    line = cause.strip().rpartition("\n")[2]
    return f": {line}" if line else ""


def check_names(host: ExaminedHost, facts: HostFacts, _: Record) -> Iterator[Finding]:
    """Yield host names that cannot be resolved where they are needed."""
    for name, addresses in facts.names.items():
        if addresses:
            continue
        is_own = name == facts.host
        if is_own and host.is_here and host.spans == 1:
            continue  # nobody looks it up
        own_why = "MPI and the ranks of other clusters look for this host under its own name"
        yield _finding(
            host, "unresolvable-name",
            f"{facts.host} does not know {'its own name' if is_own else 'the host'} {name!r}",
            own_why if is_own else "mpiexec starts ranks on that host",
            f"add it to /etc/hosts on {facts.host} (ADDRESS {name}), or correct the name",
            severe=not is_own,
        )  # fmt: skip


def check_interfaces(host: ExaminedHost, facts: HostFacts, _: Record) -> Iterator[Finding]:
    """Yield network interfaces that lead nowhere and that an MPI over several hosts may use."""
    if host.spans == 1 or is_interface_chosen(" ".join((*host.options, *host.variables))):
        return
    virtual = {name: address for name, address in facts.interfaces if name.startswith(_VIRTUAL)}
    if not virtual:
        return
    shown = ", ".join(f"{name} ({address})" for name, address in virtual.items())
    real = next((name for name, _ in facts.interfaces if name not in virtual), "eth0")
    native = native_mpi_of_library(host.flavour, facts.library)
    own = facts.names.get(facts.host, ())
    is_chosen = any(address in own for address in virtual.values())
    yield _finding(
        host, "wrong-interface",
        f"{facts.host} has interfaces that only virtual machines or containers are behind: {shown}",
        f"the ranks of the cluster are on {host.spans} hosts, and MPI may wait for ever for others"
        " on such an interface",
        native.only_interface(real, tuple(virtual)),
        severe=native.tries_every_interface or is_chosen,
    )  # fmt: skip


def check_listeners(host: ExaminedHost, facts: HostFacts, _: Record) -> Iterator[Finding]:
    """Yield what starts ranks and listens on networks without asking who connects."""
    native = native_mpi_of_library(host.flavour, facts.library)
    starter = native.open_starter(host.options) if host.needs_mpi and facts.mpiexec else ""
    if not starter or host.behind is not None:
        return
    networks = ", ".join(" ".join(one) for one in facts.interfaces) or "the loopback"
    yield _finding(
        host, "open-listener",
        f"{starter} starts the ranks and listens for the whole run without asking for a proof: on"
        f" {networks}",
        "other accounts of this host, and of hosts that reach it, can hold up the run or interfere",
        "leave out the options of <mpi>: then gcm-pmi starts the ranks, and listens nowhere"
        if host.options and not native.open_starter(())
        else "use an MPICH, whose ranks gcm-pmi starts, or keep others off this host by a firewall",
        severe=False,
    )  # fmt: skip


def check_files(host: ExaminedHost, facts: HostFacts, _: Record) -> Iterator[Finding]:
    """Yield a limit of open files that is too low for the connections of ranks."""
    needed = OWN_FILES + host.ranks + host.others
    if facts.files < 0 or facts.files - facts.files // 8 >= needed:  # negative: no limit
        return
    can_raise = facts.most_files < 0 or facts.most_files > facts.files
    command = f"ulimit -n {max(needed * 2, 1024)}"
    yield _finding(
        host, "few-files",
        f"a process may have {facts.files} files open, and the run needs about {needed}",
        "a rank has a connection to each rank of another cluster that it communicates with, and a"
        " front-end to each of its ranks; beyond the limit they are opened and closed all the time",
        f"{command} in the shell's start-up file on {facts.host}" if can_raise
        else f"raise 'nofile' in /etc/security/limits.conf on {facts.host}, which allows no more"
        f" than {facts.most_files}",
        severe=facts.files < OWN_FILES + host.ranks,
    )  # fmt: skip


def check_room(host: ExaminedHost, facts: HostFacts, _: Record) -> Iterator[Finding]:
    """Yield folders with too little space."""
    for room in facts.folders:
        is_memory = room.folder == _SHARED_MEMORY
        if is_memory and (not host.needs_mpi or host.ranks < 2):
            continue
        needed = LITTLE_SHARED_MEMORY * host.ranks // 4 if is_memory else FEW_BYTES
        if not room.error and room.free >= needed:
            continue
        what = room.error or f"only {room.free / MIB:,.1f} MiB are free, of {needed / MIB:,.0f}"
        yield _finding(
            host, "little-shared-memory" if is_memory else "no-space",
            f"{room.folder}: {what}",
            f"{host.ranks} ranks exchange messages through it" if is_memory
            else "sockets, programs and results of the run are kept there",
            "give it more: mount -o remount,size=2G /dev/shm (in a container: --shm-size=2g)"
            if is_memory else f"make room on {facts.host} (df -h {room.folder}), or name another"
            ' folder: <front-end folder="/scratch/me"/>',
            severe=not is_memory,
        )  # fmt: skip


def check_clock(host: ExaminedHost, facts: HostFacts, record: Record) -> Iterator[Finding]:
    """Yield a clock that differs from the launcher's by more than the round trip explains."""
    least, most = record.ahead
    if least <= SKEW and most >= -SKEW:
        return
    seconds, word = (least, "ahead of") if least > 0 else (-most, "behind")
    yield _finding(
        host, "clock-skew",
        f"the clock of {facts.host} is {seconds:,.0f} s {word} that of the launcher",
        "files that come home look older or newer than they are, times in logs do not fit, and"
        " beyond a day encrypted connections are refused",
        f"timedatectl set-ntp true on {facts.host} (or: chronyc makestep)",
        severe=seconds > MUCH_SKEW,
    )  # fmt: skip


CHECKS: tuple[Check, ...] = (
    check_mpi, check_modules, check_names, check_interfaces, check_listeners, check_files,
    check_room, check_clock,
)  # fmt: skip
"""All checks of a single host."""
