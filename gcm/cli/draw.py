"""`gcm draw`: an assembly as a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import PurePath

from gcm.adl import MissingClasses
from gcm.adl.picture import scene_of_plan
from gcm.cli.load import Settings, load_plan
from gcm.drawing import Colours, OutputError, check_ending, draw, write_picture
from gcm.drawing.style import with_colours


def draw_file(
    file: str,
    settings: Settings,
    roots: Sequence[str],
    output: str,
    *,
    controls: bool = False,
    missing: MissingClasses | None = None,
    fold: bool = True,
    colours: Colours = Colours.AUTO,
) -> int:
    """Draw the assembly of a document to `output`, or to standard output."""
    if not output and sys.stdout.isatty():
        name = f"{PurePath(file).stem}.svg"
        print(
            f"gcm draw: a picture is text that no terminal shows: name a file, such as -o {name}, "
            "or send it to another program",
            file=sys.stderr,
        )
        return 2
    try:
        if output:
            check_ending(output)
        plan = load_plan(file, settings, roots, missing)
        if plan is None:
            return 1
        picture = draw(scene_of_plan(plan), controls=controls, fold=fold)
        if output:
            write_picture(picture, output, colours=colours)
        else:
            print(with_colours(picture, colours))
    except OutputError as error:
        print(f"gcm draw: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"gcm draw: cannot write '{output}': {error.strerror}", file=sys.stderr)
        return 1
    return 0
