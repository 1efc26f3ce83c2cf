"""Chooses the plan of a collective operation, once for each operation and size.

An operation can have several plans. A controller chooses: that of a site for communicators within
the site, that of the grid for all others. A descriptor names another one with `<controller
role="plan-choice" class="module.Class"/>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

SHORT, TREE, FLAT, CHAIN = "short", "tree", "flat", "chain"
EXCHANGE, SPREAD = "exchange", "spread"
SURVIVING = "surviving"
"""The only plan of broadcasts where losses are survived; see `runtime.collectives.broadcast`."""

PLANS: dict[str, tuple[str, ...]] = {
    "Barrier": (SHORT, TREE),
    "Bcast": (SHORT, TREE, FLAT, CHAIN),
    "Reduce": (SHORT, TREE),
    "Allreduce": (SHORT, EXCHANGE, SPREAD),
    "Reduce_scatter_block": (SHORT, TREE),
    "Scan": (SHORT, TREE),
    "Exscan": (SHORT, TREE),
    "Gather": (SHORT, TREE),
    "Scatter": (SHORT, TREE),
    "Allgather": (SHORT, TREE),
    "Alltoall": (SHORT, TREE),
    "bcast": (TREE, FLAT, CHAIN),
}
"""The plans of each operation that has several; the first one that is offered is the usual one.

* `short`: single small messages among all members. It is offered where members of a cluster share
  a machine: for up to 128 KiB, and where each member has data of its own for up to 16 KiB of all.
* `tree`: natively inside clusters, between them by way of one member of each cluster or site.
* `flat`: from the root to each cluster at once: one latency, the data crosses a link once for each
  cluster behind it.
* `chain`: from cluster to cluster in a row, in segments: nobody sends the data more than once.
* `exchange`: sites exchange their partial results, one latency.
* `spread`: sites own pieces of the result in turn: fewer bytes, two latencies.
"""

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

        `size` is the number of bytes rounded up to a power of two, 0 for none, and None where
        members do not know it beforehand. Called once for each communicator, operation and size.
        """
        ...


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


class FixedPlan:
    """Chooses one plan wherever it is offered, and else as usual: a baseline to compare with.

    A descriptor names one of its classes, such as `runtime.collectives.choice.FlatPlan`.

    >>> FlatPlan(UsualPlans()).choose("Bcast", 8, (((0,), (1,)),), ("short", "tree", "flat"))
    'flat'
    """

    plan = TREE

    def __init__(self, usual: PlanChoice) -> None:
        self._usual = usual

    def choose(self, operation: str, size: int | None, sites: Sites, plans: Sequence[str]) -> str:
        """Return the plan of this class if it is among `plans`."""
        return (
            self.plan if self.plan in plans else self._usual.choose(operation, size, sites, plans)
        )


class TreePlan(FixedPlan):
    """By way of one member of each site, and of each cluster."""

    plan = TREE


class FlatPlan(FixedPlan):
    """From the root to each cluster."""

    plan = FLAT


class ChainPlan(FixedPlan):
    """From cluster to cluster in a row."""

    plan = CHAIN


class ExchangePlan(FixedPlan):
    """Sites exchange partial results."""

    plan = EXCHANGE


class SpreadPlan(FixedPlan):
    """Sites own pieces of the result."""

    plan = SPREAD


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
