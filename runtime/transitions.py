"""How what lives changes: a table says which stage an event leads to, and each change is logged.

Runs, clusters, ranks, peers and connections have such tables. The file imports little, and stands
alone, since ranks need it when they start and no floor above this one is common to all.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from runtime.lazy_import import logger

Stage = TypeVar("Stage", bound=StrEnum)
Cause = TypeVar("Cause", bound=StrEnum)

_log = logger(__name__)


def change(
    table: Mapping[tuple[Stage, Cause], Stage],
    before: Stage,
    event: Cause,
    who: object,
    why: str = "",
) -> Stage:
    """Return the stage that an event leads to, and log it; a pair that has no row changes nothing.

    `who` is shown in the log as its `str`; `why` says more than the event does.
    """
    after = table.get((before, event), before)
    if after is not before:
        _log.info("%s: %s -> %s, %s", who, before, after, why or event)
    return after
