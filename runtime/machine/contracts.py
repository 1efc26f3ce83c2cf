"""The contracts between the components of a running machine: read this first.

```
launcher
   │  ▲
   ▼  │            one front-end for each cluster: clustering components of the cluster, and of
front-end          the site and the grid that it leads
   │  ▲
   ▼  │
rank               a wrapper in each process
```

A contract has one class for each direction in which it is called. Upwards: `Membership`, `Health`,
`References`, `Output`. Downwards: `Views`, `Control`, `Routes`, `Input`. The component above serves
what is called upwards, and the component below what is called downwards.

All operations are notifications: nobody waits for an answer, and those of one sender arrive in the
order in which they were sent. They are carried out at once by the thread that receives them, so
they must not wait. Arguments are plain data (numbers, text, bytes, lists, dictionaries), because
the processes above open nothing else of what a rank sends. The first argument of every upward call
is its sender's identifier, `0:1:2` for a rank, `0:1` for a cluster, `0` for a site; the receiver
compares it with the name that the sender has proved when it connected.
"""

from __future__ import annotations

from typing import Any, Protocol

Facts = dict[str, Any]
"""What a rank says about itself when its MPI has started: `pid`, `host`, `size`, `doors`..."""


class Membership(Protocol):
    """Upwards: who has come."""

    def ready(self, member: str, epoch: int, reports: list[Facts]) -> None:
        """Tell that a member is ready in an epoch, and what those below it report."""
        ...


class Views(Protocol):
    """Downwards, the other half of membership: who belongs to the machine."""

    def view(self, epoch: int, table: bytes) -> None:
        """Tell who is where, encoded once by the component on top; see `runtime.machine.table`."""
        ...


class Health(Protocol):
    """Upwards: how members end, and why some cannot begin."""

    def unable(self, member: str, why: str, python: str) -> None:
        """Tell that a rank cannot start its MPI."""
        ...

    def ended(self, member: str, code: int, why: str, *facts: Any) -> None:
        """Tell how a rank has ended; `facts` are those of a `RankExit`."""
        ...

    def aborted(self, member: str, code: int, *facts: Any) -> None:
        """Tell that a rank ends the run."""
        ...


class References(Protocol):
    """Upwards: what a member has learned of the ways to others, and how it used them."""

    def learned(self, member: str, experiences: list[Any]) -> None:
        """Tell which routes worked and which did not; see `runtime.routing.plain`."""
        ...

    def counted(self, member: str, rows: list[Any], figures: dict[str, int]) -> None:
        """Tell what was sent to whom until now, and how it went."""
        ...

    def exchanged(self, member: str, rows: list[Any], figures: dict[str, int]) -> None:
        """Tell what was sent to whom until the end."""
        ...


class Control(Protocol):
    """Downwards: what a member is to do."""

    def configure(self, settings: dict[str, Any]) -> None:
        """Set what a member needs to know before it runs."""
        ...

    def go(self) -> None:
        """Let the program run."""
        ...

    def stop(self) -> None:
        """Ask a member to end in order."""
        ...


class Routes(Protocol):
    """Downwards, and from one rank to another: the other half of references."""

    def news(self, experiences: list[Any]) -> None:
        """Tell which routes worked for others and which did not."""
        ...

    def try_again(self) -> None:
        """Let routes be tried again that were found closed."""
        ...

    def count(self) -> None:
        """Ask for the figures; `References.counted` is the answer."""
        ...

    def come(self, member: str) -> None:
        """Ask a rank to connect to another one."""
        ...

    def meet(self, front_end: str, token: str) -> None:
        """Ask a rank to come to a front-end, where another one waits."""
        ...


CONTRACTS: dict[type, str] = {
    Membership: "membership",
    Views: "views",
    Health: "health",
    References: "references",
    Control: "control",
    Routes: "routes",
}
"""The name of the interface through which each contract is called."""
