"""`make evaluate`: every figure of the sources, measured again; or the named ones.

    python -m benchmarks.evaluate --list
    python -m benchmarks.evaluate point-to-point-far
    python -m benchmarks.evaluate --short                 within seven minutes
    python -m benchmarks.evaluate --page docs/evaluation.md

A run adds a session to the records in docs/evaluation, in a copy of them in build/evaluation, and
says which verdicts it has changed. Each repetition is kept when it ends, so a run that was broken
off goes on where it was. The page and the plots are made of what is there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.evaluate.coverage import ELSEWHERE
from benchmarks.evaluate.figure import Figure, Record, Verdict
from benchmarks.evaluate.figures import FIGURES
from benchmarks.evaluate.page import page, plots, told
from benchmarks.evaluate.store import RecordError, Store, due
from benchmarks.grid import missing

FOLDER, KEPT = Path("build/evaluation"), Path("docs/evaluation")


def main(argv: list[str] | None = None) -> int:
    """Measure what is missing, print verdicts, write the page; a verdict is no error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("figures", nargs="*", metavar="NAME", help="figures; all if none")
    parser.add_argument("--short", action="store_true", help="small sizes, two repetitions")
    parser.add_argument("--list", action="store_true", help="print the names of figures")
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--page", type=Path, help="only write this page, from records beside it")
    parser.add_argument("--folder", type=Path, help=f"where records are ({FOLDER})")
    options = parser.parse_args(argv)
    by_name = {one.name: one for one in FIGURES}
    if unknown := [name for name in options.figures if name not in by_name]:
        parser.error(f"there is no figure {', '.join(unknown)}; --list prints them")
    if options.list:
        for one in FIGURES:
            print(f"{one.name:24} {one.title} ({', '.join(one.shows)})")
        for name, why in ELSEWHERE:
            print(f"{'(not measured)':24} {name}: {why}")
        return 0
    everything = [one for one in FIGURES if not (options.short and one.is_long)]
    wanted = [by_name[name] for name in options.figures] or everything
    beside = options.page.with_suffix("") if options.page else FOLDER
    folder = options.folder or (beside / "short" if options.short else beside)
    try:
        store = Store(folder, None if options.short or options.page else KEPT)
        if options.page is None and (failed := _session(store, wanted, options)):
            print(f"nothing could be measured of {', '.join(failed)}", file=sys.stderr)
            return 1
        write_page(store, folder, options.page or folder.with_suffix(".md"))
    except RecordError as error:
        print(f"benchmarks.evaluate: {error}", file=sys.stderr)
        return 1
    return 0


def _session(store: Store, wanted: Sequence[Figure], options: argparse.Namespace) -> list[str]:
    """Measure what the session that is due lacks; return the figures of which nothing was."""
    if options.again:
        for one in wanted:
            store.write(one, Record())
    number = due((one, store.read(one)) for one in wanted)
    return [one.name for one in wanted if not _measure(store, one, number, short=options.short)]


def _measure(store: Store, figure: Figure, number: int, *, short: bool) -> bool:
    """Measure one figure, print its verdicts; return whether that worked, where it can."""
    before = store.read(figure)
    if figure.turns == 1 and before.sessions:
        return True  # computed: the next session would give the same
    begun = time.monotonic()
    record = store.measure(figure, number, short=short)
    took = time.monotonic() - begun
    turns = len(record.sessions[-1].turns) if record.sessions else 0
    print(f"{figure.name}: session {number}, {turns} repetitions, {took:.0f} s", flush=True)
    for claim in figure.claims:
        was, now = before.judged(claim).verdict, record.judged(claim)
        changed = f" (before: {was})" if was not in (now.verdict, Verdict.OPEN) else ""
        print(f"    {now.verdict}{changed}: {claim.text}: {told(figure, claim, now)}", flush=True)
    for fault in record.faults:
        print(f"    fault: {fault}", flush=True)
    return bool(record.sessions) or (figure.needs_grid and bool(missing()))


def write_page(store: Store, folder: Path, path: Path) -> None:
    """Write the page and its plots, from all records that there are."""
    records = [(figure, store.read(figure)) for figure in FIGURES]
    for figure, record in records:
        for name, picture in plots(figure, record).items():
            (folder / name).write_text(picture, "utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(records, folder.name), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
