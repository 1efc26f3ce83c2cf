"""What ranks are told of one that has ended."""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from typing import Any

    from runtime.topology import RankNames


def end_of(
    rank: str, code: int, why: str, host: str, when: str, *, incarnation: int = 1
) -> dict[str, Any]:
    """Return the report: how a rank has ended, where and when; `code` is 0 if it ended well.

    `incarnation` says which of the processes that had this rank, one after the other.

    >>> from runtime.topology import NamedCluster, RankNames
    >>> report = end_of("0:1:0", 137, "was killed by SIGKILL", "node7", "14:03:07")
    >>> in_words(report, RankNames({"0:1": NamedCluster("south/cedar", 2)}))
    'rank 2 on node7 was killed by SIGKILL at 14:03:07'
    """
    return {
        "rank": rank, "code": code, "why": why, "host": host, "when": when,
        "incarnation": incarnation,
    }  # fmt: skip


def in_words(report: dict[str, Any], names: RankNames) -> str:
    """Return a report as people say it."""
    where = f" on {report['host']}" if report["host"] else ""
    return f"{names.name(report['rank'])}{where} {report['why']} at {report['when']}"
