"""Writes a picture to a file, in the format given by the suffix of its name."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from gcm.drawing.style import with_colours
from gcm.errors import GcmError
from gcm.suggestion import did_you_mean

SCALE = 2
"""Pixels of a PNG for each pixel of the SVG picture, so that it can be printed."""


class Colours(StrEnum):
    """The background that a picture is made for."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"


class OutputError(GcmError):
    """A picture that cannot be written as requested."""


def check_ending(file: str) -> None:
    """Refuse a file name without a known suffix.

    Raises:
        OutputError: no format has this suffix.
    """
    _writer(file)


def write_picture(picture: str, file: str, *, colours: Colours = Colours.AUTO) -> None:
    """Write an SVG picture to a file, as SVG or as PNG.

    A PNG cannot follow the preference of its reader: `Colours.AUTO` makes it light.

    Raises:
        OutputError: no format has this suffix, or the library for it is not installed.
        OSError: the file cannot be written.
    """
    Path(file).write_bytes(_writer(file)(picture, colours))


def _svg(picture: str, colours: Colours) -> bytes:
    return with_colours(picture, colours).encode()


def _png(picture: str, colours: Colours) -> bytes:
    try:
        import resvg_py
    except ImportError as error:
        raise OutputError(
            "PNG pictures need the library resvg_py, which is not installed",
            cure="Install it with: pip install 'gcm-grid[png]'; or write an .svg file",
        ) from error
    chosen = Colours.LIGHT if colours is Colours.AUTO else colours
    plain = with_colours(picture, chosen)
    return bytes(resvg_py.svg_to_bytes(svg_string=plain, zoom=SCALE))


_WRITERS: dict[str, Callable[[str, Colours], bytes]] = {".svg": _svg, ".png": _png}


def _writer(file: str) -> Callable[[str, Colours], bytes]:
    ending = Path(file).suffix.lower()
    if ending not in _WRITERS:
        told = f"'{ending}' is not a picture format" if ending else "the name has no ending"
        meant = did_you_mean(ending, _WRITERS)
        raise OutputError(
            f"the picture cannot be written to '{file}': {told}",
            cure=f"The ending has to be {' or '.join(_WRITERS)}{f'; {meant}' if meant else ''}",
        )
    return _WRITERS[ending]
