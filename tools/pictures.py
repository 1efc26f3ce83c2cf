"""Draws the pictures of docs/pictures.md into docs/images.

    python -m tools.pictures

A test compares the files with what is drawn here, so that they are never out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gcm.adl import plan_document, scene_of_plan
from gcm.documents import Diagnostics
from gcm.drawing import Box, Scene, SceneLink, ScenePort, draw
from runtime.cli.line.options import read_options
from runtime.cli.load import load_deployment
from runtime.cli.machine_picture import machine_picture

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"

FLAT = """
radar > decode; satellite > decode calibrate; buoys > ingest; balloons > ingest; stations > ingest
ships > ingest; decode > filter; calibrate > filter; ingest > clock units; clock > merge
units > merge; filter > thin; thin > merge; merge > archive quality; quality > reject accept
reject > report; accept > analysis; climate > analysis; analysis > first-guess increments
first-guess > minimise; increments > minimise; covariances > minimise; minimise > balance
balance > state; state > ocean land air ice; ocean > waves coupler; land > soil rivers
air > dynamics physics; ice > coupler; soil > coupler; rivers > ocean-mix; waves > coupler
dynamics > advect; physics > clouds radiation; clouds > rain; radiation > coupler
advect > coupler; rain > coupler; ocean-mix > coupler; coupler > ensemble; ensemble > spread mean
spread > maps; mean > maps verify; verify > scores; scores > report; maps > web print
report > web; archive > report
"""


def flat() -> Box:
    """Return an assembly of fifty components on one level: a weather forecast."""
    links: dict[str, list[str]] = {}
    for line in FLAT.replace("\n", ";").split(";"):
        start, _, ends = line.partition(">")
        if ends:
            links.setdefault(start.strip(), []).extend(ends.split())
    names = list(dict.fromkeys([*links, *(end for ends in links.values() for end in ends)]))
    served = {end for ends in links.values() for end in ends}
    boxes = [
        Box(
            name,
            (
                *([ScenePort("in", "server")] if name in served else []),
                *(ScenePort(end, "client") for end in links.get(name, ())),
            ),
        )
        for name in names
    ]
    bound = [SceneLink((start, end), (end, "in")) for start, ends in links.items() for end in ends]
    return Box("forecast", (), tuple(boxes), tuple(bound), "composite")


def _assembly(file: str) -> str:
    plan = plan_document(ROOT / file, diagnostics=Diagnostics())
    assert plan is not None, file
    return draw(scene_of_plan(plan))


def _machine(*words: str) -> str:
    deployment = load_deployment(read_options(words))
    assert deployment is not None, words
    return machine_picture(deployment)


def pictures() -> dict[str, str]:
    """Return the name of each picture with its text."""
    return {
        "membrane": _assembly("examples/07_membrane/guarded.fractal"),
        "flat": draw(Scene(flat())),
        "ranks": _machine("--emulate", "4x4x12", str(ROOT / "examples/10_ring/ring.py")),
        "three-labs": _machine(str(IMAGES / "three-labs.xml")),
        "two-sites": _machine(str(IMAGES / "two-sites.xml")),
    }


def main() -> int:
    """Write all pictures."""
    for name, picture in pictures().items():
        (IMAGES / f"{name}.svg").write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
