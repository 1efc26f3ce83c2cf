"""Writes docs/calls.md, the page of what works over several clusters; `python -m` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runtime.calls.table import NATIVE, OURS, PLAN, REFUSED, MpiCall, every_call

_HEAD = """\
# Calls of MPI over several clusters

Each call that takes a communicator, or what is made of one, and what becomes of it where its members are in several
clusters; where they share one cluster all are native MPI's. The page is made of the table in `runtime/calls`, from which
the methods of communicators are made, too: `python -m runtime.calls.page > docs/calls.md`.

- **ours**: done between clusters, with the arguments, results and errors of mpi4py.
- **plan**: a collective, which crosses each slow line once; [how](mpi.md#how-collectives-travel).
- **native**: asked of native MPI, whose answer is right for all members.
- **refused**: raises `MPI.NotOnTheGrid`, a `NotImplementedError`. What to do instead stands behind them.
"""

_CLASSES = {
    "Comm": "Communicators",
    "Intracomm": "Communicators of one group",
    "Topocomm": "Communicators with a topology",
    "Cartcomm": "Cartesian communicators",
    "Graphcomm": "Communicators with a graph",
    "Distgraphcomm": "Communicators with a distributed graph",
    "Intercomm": "Communicators of two groups",
    "Group": "Groups",
    "Request": "Requests",
    "Prequest": "Persistent requests",
    "Grequest": "Requests of the program",
    "Message": "Messages found by a probe",
    "Win": "Windows",
    "File": "Files",
    "Session": "Sessions",
}
_GRIDS = (OURS, PLAN, NATIVE, REFUSED)


def render_page() -> str:
    """Return the page in Markdown."""
    calls = [one for one in every_call() if one.of in _CLASSES]
    parts = [_HEAD]
    for of, heading in _CLASSES.items():
        rows = "\n".join(_rows([one for one in calls if one.of == of]))
        parts.append(f"## {heading}\n\nbetween clusters | calls\n---|---\n{rows}\n")
    return "\n".join(parts)


def _rows(calls: Iterable[MpiCall]) -> Iterator[str]:
    """Yield a row for all calls with which the same is done, or the same to be done instead."""
    found: dict[tuple[int, str], list[str]] = {}
    for one in calls:
        found.setdefault((_GRIDS.index(one.grid), one.cure), []).append(f"`{one.name}`")
    for (place, cure), names in sorted(found.items()):
        instead = f". Instead: {cure[0].lower()}{cure[1:]}" if cure else ""
        yield f"{_GRIDS[place]} | {', '.join(names)}{instead}"


if __name__ == "__main__":
    print(render_page(), end="")
