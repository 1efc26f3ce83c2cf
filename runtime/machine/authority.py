"""Which calls of ranks a front-end passes on unopened, and who may receive them: the one table.

```
rank ──► its front-end ──► launcher             what only the launcher can decide: TO_LAUNCHER
rank ──► its front-end ──► (launcher) ──► rank  what ranks ask of each other: TO_RANKS
```

A front-end passes on what the table marks and nothing else; whatever else a rank calls is for the
front-end itself. It does not open the arguments, so it need not know them, and a new operation
touches its contract, its caller and its receiver only. The front-end vouches for the sender: a
rank calls in its own name alone. The receiver opens the arguments as those of an untrusted process,
plain data up to `MOST_BYTES`, and compares the first one with the sender.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.machine.contracts import CONTRACTS, Appeals, CodeRoutes, Coupling, Mail, Routes
from runtime.machine.paths import COUPLING, DRIVER_PATH, LAUNCHER, RANKS

if TYPE_CHECKING:
    from runtime.transport.messages import Target

MOST_BYTES = 4 << 20
"""The largest appeal of a rank that the launcher opens."""

APPEALS = CONTRACTS[Appeals]

TO_LAUNCHER = {LAUNCHER: APPEALS, COUPLING: CONTRACTS[Coupling], DRIVER_PATH: CONTRACTS[Mail]}
"""By the path that a rank calls in the launcher: the only interface that it may call there."""

TO_RANKS = {
    (CONTRACTS[Routes], "come"): True,
    (CONTRACTS[Routes], "meet"): False,
    (CONTRACTS[CodeRoutes], "come"): True,
    (CONTRACTS[CodeRoutes], "meet"): False,
    (CONTRACTS[Mail], "deliver"): True,
    (CONTRACTS[Mail], "taken"): True,
}
"""What a rank may call of another one, and whether the first argument is the caller's name."""

OVER_LINKS = {CONTRACTS[Routes], CONTRACTS[CodeRoutes]}
"""The interfaces whose calls also go over the connections between front-ends: they may get lost."""


def is_for_launcher(target: Target) -> bool:
    """Tell whether a rank may make this call to the launcher.

    >>> from runtime.transport.messages import Target
    >>> is_for_launcher(Target("/launcher", "appeals", "suspects"))
    True
    >>> is_for_launcher(Target("/launcher", "reports", "failed"))
    False
    """
    return TO_LAUNCHER.get(target.component) == target.interface


def is_for_rank(target: Target) -> bool:
    """Tell whether a rank may make this call to another rank.

    >>> from runtime.transport.messages import Target
    >>> is_for_rank(Target("/ranks/0:1:2", "routes", "come"))
    True
    >>> is_for_rank(Target("/ranks/0:1:2", "control", "stop"))
    False
    """
    is_rank = target.component.startswith(RANKS)
    return is_rank and (target.interface, target.operation) in TO_RANKS
