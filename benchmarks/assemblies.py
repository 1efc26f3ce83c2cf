"""How long it takes to check and to assemble large documents, and what the components weigh."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.parts import Link
from benchmarks.report import Goal, Line, duration
from gcm import Composite, ContentController, composite, primitive
from gcm.adl import assemble, plan_document
from gcm.documents import Diagnostics

SIZES = (1_000, 3_000, 10_000)
IN_A_COMPOSITE = 100
KILOBYTE = 1000


@dataclass(frozen=True, slots=True)
class Large:
    """The seconds and bytes that a document with that many primitives took."""

    primitives: int
    check: float
    assemble: float
    start: float
    weight: float


def measured() -> tuple[list[Line], list[Large]]:
    """Return the lines about large documents, and the figures behind them."""
    with TemporaryDirectory() as scratch:
        found = [_measured(Path(scratch) / f"chain{size}.fractal", size) for size in SIZES]
    least = found[0]
    return [line for one in found for line in _lines(one, least)], found


def _lines(one: Large, least: Large) -> list[Line]:
    size = f"{one.primitives:,}"
    lines = []
    for what, total, first in (
        ("check", one.check, least.check),
        ("assemble", one.assemble, least.assemble),
        ("start", one.start, least.start),
    ):
        each, base = total / one.primitives, first / least.primitives
        peer = f"{duration(base)} each at {least.primitives:,}" if one is not least else ""
        ratio = f"{each / base:.2f} x" if one is not least else ""
        lines.append(
            Line(f"{what} {size}", f"{duration(each)} each, {duration(total)}", peer, ratio)
        )
    weight = one.weight / one.primitives / KILOBYTE
    goal = Goal(20, weight, "kB")
    lines.append(Line(f"weight of {size}, started", f"{weight:.1f} kB each", goal=goal))
    return lines


def _measured(file: Path, size: int) -> Large:
    file.write_text(document(size, file.stem), "utf-8")
    return Large(size, *_in_child("timed", str(file)), *_in_child("weighed", str(size)))


def _in_child(*arguments: str) -> list[float]:
    """Measure in a process of its own: memory that was freed before would be used again."""
    command = [sys.executable, "-m", "benchmarks.assemblies", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: list[float] = json.loads(done.stdout)
    return figures


def document(primitives: int, name: str) -> str:
    """Return a document of composites with a chain of primitives in each."""
    lines = [f'<definition name="{name}">']
    for box in range(primitives // IN_A_COMPOSITE):
        lines.append(f'<component name="box{box}">')
        for number in range(IN_A_COMPOSITE):
            content = '<content class="benchmarks.parts.Link"/>'
            lines.append(f'<component name="link{number}">{content}</component>')
        for number in range(IN_A_COMPOSITE - 1):
            lines.append(f'<binding client="link{number}.next" server="link{number + 1}.echo"/>')
        lines.append("</component>")
    return "\n".join([*lines, "</definition>"])


def timed(file: str) -> list[float]:
    """Return the seconds of this thread that it takes to check, assemble and start a document."""
    found = Diagnostics()
    begin = time.thread_time()
    plan = plan_document(file, diagnostics=found)
    checked = time.thread_time()
    assert plan is not None, [str(one) for one in found]
    root = assemble(plan)
    assembled = time.thread_time()
    root.start()
    return [checked - begin, assembled - checked, time.thread_time() - assembled]


def weighed(primitives: int) -> list[float]:
    """Return by how many bytes the process grows with so many primitives, bound and started."""
    chain(IN_A_COMPOSITE).start()  # with the first ones comes what all of them share
    gc.collect()
    before = resident()
    boxes = [chain(IN_A_COMPOSITE) for _ in range(primitives // IN_A_COMPOSITE)]
    for box in boxes:
        box.start()
    gc.collect()
    return [resident() - before]


def chain(length: int) -> Composite:
    """Return a composite with a chain of primitives, made in code."""
    box = composite("box")
    content = box.controller(ContentController)
    links = [primitive(Link, f"link{number}") for number in range(length)]
    for link in links:
        content.add(link)
    for link, following in pairwise(links):
        link.bind("next", following.server("echo"))
    return box


def resident() -> int:
    """Return how many bytes of this process are in memory."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def main(arguments: Sequence[str]) -> None:
    """Measure one thing and print the figures for the process that asked."""
    what, of = arguments
    print(json.dumps(timed(of) if what == "timed" else weighed(int(of))))


if __name__ == "__main__":
    main(sys.argv[1:])
