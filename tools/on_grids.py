"""Runs a program on a grid of emulated clusters, for tests: a layout in a word, one command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-c", "import sys; from runtime.cli import main; sys.exit(main())")


def sizes_of(layout: str) -> list[list[int]]:
    """Return the ranks of each cluster of each site.

    `1+2` are two clusters of one site, `1|2` one cluster in each of two sites, `2x3` two sites of
    three clusters with two ranks each, and `1|2+3` has one cluster in the first site.

    >>> sizes_of("1+1"), sizes_of("1|2+3"), sizes_of("2x2")
    ([[1, 1]], [[1], [2, 3]], [[2, 2], [2, 2]])
    """
    if "x" in layout:
        sites, clusters = map(int, layout.split("x"))
        return [[2] * clusters for _ in range(sites)]
    return [[int(ranks) for ranks in site.split("+")] for site in layout.split("|")]


def identifiers(layout: str) -> list[str]:
    """Return `site:cluster:rank` of every process, in the order of COMM_GRID."""
    return [
        f"{site}:{cluster}:{rank}"
        for site, sizes in enumerate(sizes_of(layout))
        for cluster, size in enumerate(sizes)
        for rank in range(size)
    ]


def descriptor(
    layout: str,
    script: str,
    arguments: Sequence[str] = (),
    comm_world: str = "grid",
    *,
    way: str = "",
    failures: str = "abort",
    replicas: int = 1,
    restart: bool = False,
) -> str:
    """Return the descriptor that runs a script on a grid with this layout.

    It is on this machine, but for the first cluster if `way` has elements that lead there.
    """
    words = "".join(f"<argument value={quoteattr(word)}/>" for word in arguments)
    sites = "".join(
        "<site>" + "".join(f'<cluster><mpi ranks="{one}"/></cluster>' for one in site) + "</site>"
        for site in sizes_of(layout)
    )
    sites = sites.replace("<cluster>", f"<cluster>{way}", 1)
    return (
        f'<deployment name="try"><application script={quoteattr(script)} comm-world="{comm_world}"'
        f' failures="{failures}" replicas="{replicas}"'
        f' restart="{"yes" if restart else "no"}">'
        f"{words}</application><grid>{sites}</grid></deployment>"
    )


def environment() -> dict[str, str]:
    """Return the environment for `gcm-deploy`: it finds the `mpiexec` of this Python first."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}
