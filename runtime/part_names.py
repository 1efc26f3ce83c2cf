"""What the texts say that name parts of the machine, as tables and files have them. Pure.

A rank is `0:1:2`, its cluster `0:1`, its site `0`, and the grid nothing. Imports nothing: the
transport of a rank needs it first. The values are `RankName` and `ClusterName`.
"""

from __future__ import annotations

_COLONS_OF_RANK = 2


def numbers_of(part: str) -> tuple[int, ...]:
    """Return the numbers in the name of a rank, a cluster, a site or the grid.

    >>> numbers_of("0:1:2"), numbers_of("1"), numbers_of("")
    ((0, 1, 2), (1,), ())
    """
    return tuple(map(int, words_of(part)))


def words_of(part: str) -> list[str]:
    """Return the pieces of a name, of one of several parts or of a member of another kind.

    >>> words_of("0:1"), words_of("launcher"), words_of("")
    (['0', '1'], ['launcher'], [])
    """
    return part.split(":") if part else []


def cluster_of(name: str) -> str:
    """Return the cluster of a rank, or the cluster itself.

    >>> cluster_of("0:1:2"), cluster_of("0:1")
    ('0:1', '0:1')
    """
    return name.rpartition(":")[0] if is_rank(name) else name


def site_of(name: str) -> str:
    """Return the site of a rank or a cluster.

    >>> site_of("0:1:2"), site_of("0:1")
    ('0', '0')
    """
    return name.partition(":")[0]


def is_rank(name: str) -> bool:
    """Tell whether a name is that of a rank, and of no larger part of the machine."""
    return name.count(":") == _COLONS_OF_RANK


def is_cluster(name: str) -> bool:
    """Tell whether a name is that of a cluster."""
    return name.count(":") == _COLONS_OF_RANK - 1


def part_above(part: str) -> str:
    """Return what is one level higher than a rank, a cluster or a site; the last is the grid.

    >>> part_above("0:1:2"), part_above("0:1"), part_above("0")
    ('0:1', '0', '')
    """
    return part.rpartition(":")[0]
