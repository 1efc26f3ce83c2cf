"""The contract of a native MPI: how it is recognised, started, and understood when it speaks.

A native MPI is one file beside this one, and one entry in `known`. It is a class of texts and pure
functions, which start nothing: front-ends, plans and `gcm-deploy doctor` use the same object, so
that a dry run shows the command line that is run. Nothing outside of this package asks for the name
of an MPI to decide what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from gcm.records import dataclass

AUTO = "auto"
"""What a descriptor says if the `mpiexec` shall be asked which MPI it belongs to."""


def names_hosts(options: Sequence[str]) -> bool:
    """Return whether options of a user say on which hosts an `mpiexec` starts ranks."""
    return "--host" in options


@dataclass(frozen=True, slots=True)
class MpiWorld:
    """One native MPI world: `ranks` processes of the command `argv`, which one `mpiexec` starts.

    `hosts` are names and numbers of ranks. Without them all ranks run beside `mpiexec`, unless
    `options`, which go to it as they are, name hosts in the same form. `environment` is for the
    ranks; None removes a name. Raises ValueError for a world without ranks, or without a place for
    each of them.
    """

    argv: Sequence[str]
    ranks: int
    mpiexec: str = "mpiexec"
    hosts: Sequence[tuple[str, int]] = ()
    options: Sequence[str] = ()
    environment: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        if self.ranks < 1:
            raise ValueError(f"an MPI job needs at least one rank, not {self.ranks}")
        places = sum(count for _, count in self.hosts)
        if self.hosts and places < self.ranks:
            raise ValueError(f"{self.ranks} ranks do not fit on hosts for {places}")

    @property
    def is_elsewhere(self) -> bool:
        """Whether ranks may be on other hosts than their `mpiexec`."""
        return bool(self.hosts) or names_hosts(self.options)


@dataclass(frozen=True, slots=True)
class MpiAbort:
    """What a rank writes before its MPI ends all ranks, with this exit code."""

    code: int
    why: str


class NativeMpi:
    """A native MPI. This class itself is the one that is not known yet: what all have in common.

    >>> NativeMpi().argv(MpiWorld(("a.out",), 4, hosts=[("n1", 2), ("n2", 2)]))
    ('mpiexec', '-n', '4', '--host', 'n1:2,n2:2', 'a.out')
    """

    name = AUTO
    """What descriptors call it, and what pip calls the package that has its `mpiexec`."""

    brings = ""
    """The package of this Python whose `mpiexec` and libraries are brought to its ranks."""

    marks: tuple[str, ...] = ()
    """Words by which `mpiexec --version`, or the name of a loaded library, shows what it is."""

    rank_variables: tuple[str, ...] = ()
    """What its `mpiexec` puts into the environment of a rank; another one must not inherit it."""

    tag: re.Pattern[bytes] | None = None
    """How a line of a rank begins as its `mpiexec` passes it on: the rank, `out` or `err`."""

    signal_words: re.Pattern[str] | None = None
    """How its `mpiexec` says by which signal a rank has ended; the group is the number."""

    refusal = ""
    """What its ranks say when the `mpiexec` of another MPI has started them."""

    noise: tuple[str, ...] = ()
    """How lines of its `mpiexec` begin that never are the reason for its end."""

    tries_every_interface = False
    """Whether ranks wait for ever on a network interface that leads nowhere."""

    interface_options: tuple[str, ...] = ()
    """Options and variables by which a user chooses the network interface."""

    def is_managed(self, environment: Mapping[str, str]) -> bool:  # noqa: ARG002 - for others
        """Tell whether our process manager can start ranks on one host in place of `mpiexec`.

        Not where this environment has settings by which a user tells `mpiexec` what to do.
        """
        return False

    def argv(self, world: MpiWorld) -> tuple[str, ...]:
        """Return the command line that starts the ranks of a world."""
        hosts = ",".join(f"{host}:{count}" for host, count in world.hosts)
        return (
            world.mpiexec,
            *("-n", str(world.ranks)),
            *(("--host", hosts) if hosts else ()),
            *self.own_options(world),
            *world.options,
            *world.argv,
        )

    def own_options(self, world: MpiWorld) -> tuple[str, ...]:  # noqa: ARG002 - for others
        """Return the options that it needs, and that no other MPI understands."""
        return ()

    def environment(self, world: MpiWorld, *, is_root: bool) -> Mapping[str, str]:  # noqa: ARG002
        """Return what its `mpiexec` needs to start a world with more ranks than cores, as root."""
        return {}

    def open_starter(self, options: Sequence[str]) -> str:  # noqa: ARG002 - for others
        """Return what starts its ranks and lets anybody connect; nothing where nobody can."""
        return ""

    def without_network(self, environment: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return what keeps ranks of one host from listening on networks, unless a user chose."""
        return {}

    def tidiness(self, run_directory: str, environment: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the environment in which it leaves no files if it is killed.

        `run_directory` is a private folder, empty where the ranks cannot see it; `environment` the
        environment of the starter.
        """
        return {}

    def signal_in(self, words: str) -> int:
        """Return by which signal a rank has ended, as its `mpiexec` says; 0 for other words."""
        found = self.signal_words.search(words) if self.signal_words else None
        return int(found[1]) if found else 0

    def reason_in(self, last_lines: Sequence[str]) -> str:
        """Return the first of the last lines of its `mpiexec` that may say why it has ended."""
        return next((one for one in last_lines if not one.startswith(self.noise)), "")

    def abort_in(self, block: bytes) -> tuple[bytes, MpiAbort | None]:
        """Return lines of a rank without its number in its job, and of which abort they tell."""
        return block, None

    def only_interface(self, name: str, others: Sequence[str]) -> str:  # noqa: ARG002 - likewise
        """Return what a descriptor needs to keep ranks off `others`, on interface `name`."""
        return f"the variable or option of that MPI for the interface {name}"
