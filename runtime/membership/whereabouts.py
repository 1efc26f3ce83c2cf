"""Where the ranks of the machine are: what the handshake told, and what has changed since then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtime.membership.doorstep import NOT_FOUND, Found

Report = dict[str, Any]
"""What others know of a rank, or of a front-end."""


def replacement(index: int, rank: str, incarnation: int, facts: Mapping[str, Any] | None) -> Report:
    """Return the report of a rank that takes the place of a lost one, under an index of its own.

    Without facts it could not be started.
    """
    return {**report(rank, facts), "index": index, "incarnation": incarnation}


def front_end_report(cluster: str, forwarder: Found) -> Report:
    """Return what others know of the front-end of a cluster: where it forwards.

    It has no `rank`, and stands for no rank: a cluster that relays may have none.
    """
    return {"front-end": cluster, "forwarder": forwarder}


def report(rank: str, facts: Mapping[str, Any] | None) -> Report:
    """Return what others know of a rank: its name alone if it is started later.

    The first rank of a cluster stands for its MPI, too, which has tags up to `tags`. Everybody gets
    all of these, so they hold nothing else.
    """
    found: Report = {}
    if rank.endswith(":0") and facts is not None and "tags" in facts:
        found["tags"] = facts["tags"]
    if facts is None:
        return {"rank": rank, **found, "host": "", "doors": NOT_FOUND, "incarnation": 0}
    told = {name: facts[name] for name in ("host", "doors", "incarnation")}
    return {"rank": rank, **found, **told}


class Whereabouts:
    """What a front-end knows of all ranks; those of a code that starts later have moved.

    >>> known = Whereabouts()
    >>> known.moved([report("0:0:0", {"host": "here", "doors": (), "incarnation": 2})])
    >>> known.told([report("0:0:0", None), report("0:1:0", None)])
    >>> [one["host"] for one in known.everybody]
    ['here', '']
    """

    def __init__(self) -> None:
        self._told: dict[str, Report] = {}
        self._moved: dict[str, Report] = {}
        self._replacing: list[Report] = []
        self.epoch = 0
        """Grows with each change."""

    def told(self, everybody: Iterable[Report]) -> None:
        """Take in what everybody told in the handshake, in their order."""
        self._told = {one.get("rank") or one["front-end"]: one for one in everybody}

    def moved(self, reports: Iterable[Report]) -> None:
        """Record where ranks are that were started later or again; the handshake may come after."""
        self.epoch += 1
        for one in reports:
            if "index" in one:
                self._replacing.append(one)
            else:
                self._moved[one["rank"]] = one

    @property
    def everybody(self) -> list[Report]:
        """The reports of all ranks as they are now, and of front-ends, which never move.

        Behind them are those that have taken the place of lost ones, in the order of their indexes.
        """
        moved = self._moved
        told = [{**one, **moved[at]} if at in moved else one for at, one in self._told.items()]
        return told + self._replacing
