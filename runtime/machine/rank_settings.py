"""What the ranks of a cluster are told before their programs run: made in planning, sent once.

A new setting is a field here, the `for_ranks` of its option, and whatever reads it in the rank; one
that follows from the plan has its value in `settings_of` of
`runtime.processes.launcher.configuring`.
"""

from __future__ import annotations

from collections.abc import Mapping

from gcm.records import dataclass

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from typing import Any, Self

    from runtime.machine.composition import PlainNamed


@dataclass(frozen=True, slots=True)
class RankSettings:
    """The settings of all ranks of a cluster. Those of the program have its descriptor's words."""

    grid: bytes = b""
    """The machine as its ranks see it, a pickled `Grid`; empty before the rank may run."""
    named_classes: tuple[PlainNamed, ...] = ()
    """The controllers and interceptors that the descriptor names."""
    plans: str = ""
    """The plans of collectives that a user has named."""
    explain_waits: float = 0.0
    """After how many seconds the rank tells of a wait; 0 for never."""
    is_observed: bool = False
    """Whether calls of MPI are counted."""
    is_traced: bool = False
    """Whether the latest calls are kept."""
    is_checked: bool = False
    """Whether all calls are told, and compared with those of other ranks."""
    is_joined: bool = False
    """Whether there are other clusters, so that native code would see less than the program."""
    line_times: tuple[float, float] | None = None
    """How long its lines may be silent, and how long they are tried to be resumed."""
    comm_world: str = "grid"
    """What `COMM_WORLD` is: the `grid` of all clusters, or the own `cluster`."""
    failures: str = "abort"
    """Whether the loss of a rank ends the run, or MPI says so (`return`)."""
    recovery: str = ""
    """How `COMM_WORLD` recovers from losses; empty if nothing is said of it."""
    recovery_messages: str = ""
    replicas: int = 1
    """How many processes each rank is."""
    restart: bool = False
    """Whether lost replicas are started again."""

    @property
    def goes_on(self) -> bool:
        """Whether other ranks go on when one is lost."""
        return self.failures == "return" or self.replicas > 1

    def plain(self) -> dict[str, Any]:
        """Return them as plain data, as they travel to the rank."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def parse(cls, plain: Mapping[str, Any]) -> Self:
        """Return the settings that came as plain data, from the front-end of this rank."""
        return cls(**{**plain, "named_classes": tuple(plain["named_classes"])})
