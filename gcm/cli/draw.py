"""`gcm draw`: an assembly as an SVG picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gcm.adl.picture import scene_of_plan
from gcm.cli.load import Settings, load_plan
from gcm.drawing import draw


def draw_file(
    file: str,
    settings: Settings,
    roots: Sequence[str],
    output: str,
    *,
    controls: bool = False,
    structure: bool = False,
) -> int:
    """Draw the assembly of a document to `output`, or to standard output."""
    plan = load_plan(file, settings, roots, structure)
    if plan is None:
        return 1
    picture = draw(scene_of_plan(plan), controls=controls)
    if not output:
        print(picture)
        return 0
    try:
        Path(output).write_text(picture, encoding="utf-8")
    except OSError as error:
        print(f"gcm draw: cannot write '{output}': {error.strerror}", file=sys.stderr)
        return 1
    return 0
