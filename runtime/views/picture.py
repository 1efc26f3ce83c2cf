"""Draws the states of a machine as a few lines of styled text, however large it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta

from gcm.records import dataclass
from runtime.views.progress_tree import (
    BAD,
    DONE,
    ENDED,
    FAILED,
    LOST,
    PLANNED,
    READY,
    RUNNING,
    STARTING,
    STUCK,
    UP,
    WAITING,
    ProgressPart,
    ProgressTree,
)

GLYPHS = {
    PLANNED: "·",
    STARTING: "○",
    UP: "◐",
    READY: "◐",
    RUNNING: "●",
    WAITING: "◌",
    STUCK: "✗",
    DONE: "✓",
    FAILED: "✗",
    LOST: "✗",
    ENDED: "■",
}
HIGHEST = 10_000
"""As many lines of a tree are shown as a machine may need, where it is shown once."""

_UNKNOWN = "?"
_USUAL_WORDS = len("starting MPI")


@dataclass(frozen=True, slots=True)
class StyledText:
    """A piece of text; `style` is the state whose look it has, `title`, or empty."""

    text: str
    style: str = ""


Line = tuple[StyledText, ...]


def picture(tree: ProgressTree, seconds: float, *, width: int, height: int) -> list[Line]:
    """Return at most `height` lines: everything if it fits, else what matters most.

    First all clusters under their sites; where that is too much, sites with counts and only the
    clusters that failed; where even that is too much, as much of it as fits.
    """
    above = overview(tree, seconds)
    lines = [*_in_full(tree, seconds, width)]
    if 1 + len(lines) > height:
        lines = [*_folded(tree, seconds)]
    if 1 + len(lines) > height:
        left = len(lines) - max(0, height - 2)
        lines = [*lines[: max(0, height - 2)], (StyledText(f"   and {left} more"),)]
    return [above, *lines][:height]


def plain(line: Line) -> str:
    """Return the text of a line."""
    return "".join(piece.text for piece in line)


def overview(tree: ProgressTree, seconds: float) -> Line:
    """Return the line above the tree: what the machine does, for how long, and its ranks."""
    phase = tree.phase()
    counts = tree.rank_states()
    ranks = ", ".join(f"{number} {state}" for state, number in counts.items())
    shown = f"  {ranks}" if ranks else ""
    if tree.code is not None:
        style = FAILED if tree.code else DONE
    else:
        style = FAILED if phase.endswith("failure") else STUCK if counts[STUCK] else phase
    return (
        StyledText(tree.name, "title"),
        StyledText(f"  {phase}", style),
        StyledText(f"  {seconds:.0f} s{shown}"),
        *_figures(tree, tree.clusters, seconds),
    )


def _figures(
    tree: ProgressTree, parts: Iterable[ProgressPart], seconds: float
) -> Iterator[StyledText]:
    """Yield how fast clusters send to others, and how much of the shortest walltime is left."""
    running = [one for one in parts if {RUNNING, WAITING, STUCK} & set(one.ranks)]
    if rate := tree.rate(*(one.identifier for one in running)):
        yield StyledText(f"  {_bytes(rate)}/s")
    ends = [one.walltime_ends for one in running if one.walltime_ends is not None]
    if ends:
        yield StyledText(f"  {timedelta(0, max(0, int(min(ends) - seconds)))} of walltime left")


def _bytes(number: float) -> str:
    unit = "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if number < 1000:
            break
        number, unit = number / 1000, larger
    return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"


def _in_full(tree: ProgressTree, seconds: float, width: int) -> Iterator[Line]:
    names = max((len(part.name.partition("/")[2]) for part in tree.clusters), default=0)
    words = max(_USUAL_WORDS, max((len(part.words) for part in tree.clusters), default=0))
    last_site = len(tree.sites) - 1 + bool(tree.others)
    for number, (site, clusters) in enumerate(tree.sites):
        fork, rail = ("├─ ", "│  ") if number < last_site else ("└─ ", "   ")
        yield (StyledText(fork), StyledText(site))
        for place, part in enumerate(clusters, 1):
            branch = rail + ("├─ " if place < len(clusters) else "└─ ")
            text = f"{part.identifier} {part.name.partition('/')[2]:<{names}}  "
            room = width - len(branch) - len(text) - words - 2
            state = StyledText(f"{part.words:<{words}}", part.summed_up)
            shown = [*_ranks(part, room)]
            for one in _figures(tree, [part], seconds) if len(tree.clusters) > 1 else ():
                if len(plain((*shown, one))) - len("  ") <= room:
                    shown.append(one)
            yield (StyledText(branch), StyledText(text), state, *shown)
    yield from _others(tree.others.values())


def _ranks(part: ProgressPart, room: int) -> Iterator[StyledText]:
    if not part.ranks:
        return
    yield StyledText("  ")
    if len(part.ranks) > room:
        yield StyledText(part.counted()[: max(0, room)])
        return
    for state in part.ranks:
        yield StyledText(GLYPHS.get(state, _UNKNOWN), state)


def _others(parts: Iterable[ProgressPart]) -> Iterator[Line]:
    for place, part in enumerate(parts := list(parts), 1):
        branch = "├─ " if place < len(parts) else "└─ "
        yield (StyledText(branch), StyledText(f"{part.name}  "), StyledText(part.words, part.state))


def _folded(tree: ProgressTree, seconds: float) -> Iterator[Line]:
    for site, clusters in tree.sites:
        states = Counter(part.summed_up for part in clusters)
        counts = ", ".join(f"{number} {state}" for state, number in states.items())
        style = next((state for state in (*BAD, STUCK, WAITING) if state in states), "")
        noun = "cluster" if len(clusters) == 1 else "clusters"
        yield (
            StyledText("── "),
            StyledText(f"{site}  {len(clusters)} {noun}: "),
            StyledText(counts, style),
            *_figures(tree, clusters, seconds),
        )
        for part in clusters:
            if part.summed_up in BAD or part.summed_up == STUCK:
                yield (
                    StyledText("   └─ "),
                    StyledText(f"{part.identifier} "),
                    StyledText(part.words, part.summed_up),
                )
    for part in tree.others.values():
        if part.state in BAD:
            yield (
                StyledText("── "),
                StyledText(f"{part.name}  "),
                StyledText(part.words, part.state),
            )
