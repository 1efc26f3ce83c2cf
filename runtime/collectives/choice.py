"""Chooses the plan of a collective operation, once for each operation and size.

An operation can have several plans. A controller chooses: that of a site for communicators within
the site, that of the grid for all others. A descriptor names another one with `<controller
role="plan-choice" class="module.Class"/>`, or plans with `plans`; see `runtime.collectives.rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from runtime.collectives.blocks import SEGMENT

SHORT, TREE, FLAT, CHAIN = "short", "tree", "flat", "chain"
EXCHANGE, SPREAD = "exchange", "spread"
FOUR_ARY, BINOMIAL, BUTTERFLY, ROTATION = "4-ary", "binomial", "butterfly", "rotation"
COMPONENTS = "components"
SURVIVING = "surviving"
"""The only plan of broadcasts where losses are survived; see `runtime.collectives.broadcast`."""

PLANS: dict[str, tuple[str, ...]] = {
    "Barrier": (SHORT, TREE, FLAT, FOUR_ARY, BUTTERFLY, COMPONENTS),
    "Bcast": (SHORT, TREE, FLAT, CHAIN, BINOMIAL, COMPONENTS),
    "Reduce": (SHORT, TREE, FLAT, BINOMIAL, COMPONENTS),
    "Allreduce": (SHORT, EXCHANGE, SPREAD, FLAT, BUTTERFLY, COMPONENTS),
    "Reduce_scatter_block": (SHORT, TREE),
    "Scan": (SHORT, TREE),
    "Exscan": (SHORT, TREE),
    "Gather": (SHORT, TREE, FLAT, COMPONENTS),
    "Scatter": (SHORT, TREE, FLAT),
    "Allgather": (SHORT, TREE, ROTATION, COMPONENTS),
    "Alltoall": (SHORT, TREE, ROTATION),
    "bcast": (TREE, FLAT, CHAIN, BINOMIAL),
    "allgather": (SHORT, TREE),
    "alltoall": (SHORT, TREE),
}
"""The plans of each operation that has several; the first one that is offered is the usual one.

* `short`: single small messages among all members. It is offered where members of a cluster share
  a machine: for up to 128 KiB, and where each member has data of its own for up to 16 KiB of all.
  Where only the call itself shows that objects are larger, `tree` follows.
* `tree`: natively inside clusters, between them by way of one member of each cluster or site.
* `flat`: of a broadcast, from the root to each cluster at once: one latency, the data crosses a
  link once for each cluster behind it. Of others, from each member to each that needs its data.
* `chain`: from cluster to cluster in a row, in segments: nobody sends the data more than once.
* `exchange`: sites exchange their partial results, one latency.
* `spread`: sites own pieces of the result in turn: fewer bytes, two latencies.
* `4-ary`, `binomial`, `butterfly`, `rotation`: see `runtime.collectives.ranks_only`.
* `components`: see `runtime.collectives.components`. It is offered for up to 8 MiB of all members
  whose ranks are in the order of the machine, unless losses are survived.
"""

SEGMENTED = ("Bcast", "Reduce", "Allreduce", "Allgather", "bcast")
"""The operations that cut large data into segments, whose size can be chosen."""

SPREAD_FROM = 1024 * 1024
"""From this size on, sending fewer bytes is worth a second WAN latency if there are three sites."""

_SPREADING_SITES = 3

Sites: TypeAlias = "tuple[tuple[tuple[int, ...], ...], ...]"
"""The members of a communicator: sites of clusters of ranks. With a single site in all, each of
its clusters counts as a site."""


class PlanChoice(Protocol):
    """The contract of the controller that chooses plans.

    Its class is called with the controller that it replaces, to which it may delegate. All ranks
    have one and have to choose alike, so a choice must depend on the arguments only.
    """

    def choose(self, operation: str, size: int | None, sites: Sites, plans: Sequence[str]) -> str:
        """Return which of `plans` to use for an operation, such as "Bcast", among `sites`.

        The size of segments in bytes can follow behind a slash: "chain/65536".

        `size` is the number of bytes rounded up to a power of two, 0 for none, and None where
        members do not know it beforehand. Called once for each communicator, operation and size.
        """


class UsualPlans:
    """The default choice.

    >>> UsualPlans().choose("Bcast", 8, (((0, 1),), ((2,),)), ("short", "tree", "flat", "chain"))
    'short'
    """

    def choose(self, operation: str, size: int | None, sites: Sites, plans: Sequence[str]) -> str:
        """Return the first plan, but for large reductions over many sites."""
        if SHORT not in plans and operation == "Allreduce" and len(sites) >= _SPREADING_SITES:
            return SPREAD if (size or 0) >= SPREAD_FROM else plans[0]
        return plans[0]


class Choice(NamedTuple):
    """A plan, and the size of its segments in bytes.

    >>> str(Choice("chain", 65536)), str(Choice("tree")), Choice.read("chain/65536").segment
    ('chain/65536', 'tree', 65536)
    """

    plan: str
    segment: int = SEGMENT

    def __str__(self) -> str:
        return self.plan if self.segment == SEGMENT else f"{self.plan}/{self.segment}"

    @classmethod
    def read(cls, text: str) -> Choice:
        """Return the choice that `PlanChoice.choose` answers."""
        plan, _, segment = text.partition("/")
        return cls(plan, int(segment)) if segment else cls(plan)


def size_class(size: int) -> int:
    """Return a number of bytes rounded up to a power of two.

    >>> [size_class(size) for size in (0, 1, 5, 8, 9)]
    [0, 1, 8, 8, 16]
    """
    return 1 << (size - 1).bit_length() if size else 0


def kind_of(operation: str, plan: str) -> str:
    """Return the name of a call in messages and errors; an unusual plan makes a kind of its own.

    >>> kind_of("Bcast", "short"), kind_of("Bcast", "tree"), kind_of("Bcast", "chain")
    ('Bcast', 'Bcast', 'Bcast by chain')
    """
    return operation if plan in USUAL else f"{operation} by {plan}"


USUAL = ("", SHORT, TREE, EXCHANGE, SURVIVING)
"""Plans that need no name of their own: no two of them are plans of one operation in a run, except
`short`, whose messages are distinct in any case.
"""
