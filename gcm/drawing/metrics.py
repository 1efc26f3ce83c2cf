"""The measures of a picture, in pixels, and how wide a text becomes."""

from __future__ import annotations

import unicodedata

# Text.
TITLE_SIZE = 13
NOTE_SIZE = 10
LABEL_SIZE = 11
HEADING_SIZE = 17
MAX_TEXT = 260
"""Names longer than this are cut; the tooltip keeps them whole."""

# Boxes.
HEADER = 28
NOTE_LINE = 14
ICON = 22
PADDING = 10
LEAF_MIN_WIDTH = 84
BOX_MARGIN = 11
"""Half the space between a box and the next one above or below it."""
HEIGHT_PER_WEIGHT = 60
"""The height that makes a box as hard to push aside as one more leaf."""
STRETCH = 1.6
"""How many times wider a leaf may become to be as wide as its siblings."""

FRAME_OF_CONTENT = 8
"""The membrane left, right and below of the content, where it is drawn."""
STACK = 3
"""How far the boxes behind a folded one look out."""

# Ports.
PORT_ROW = 20
BORDER_ROW = 24
LABEL_ROOM = 16
"""How far below the top of its row a composite's port sits; its name stands above the wire."""
STEM = 12
"""How far the shape of a port stands out of its border."""
LABEL_INDENT = 8
INNER_INDENT = STEM + 4

# Wires.
CROSSING_MARGIN = 5
TRACK = 9
CHANNEL_MARGIN = 20
CORNER = 6

# The whole picture.
FRAME = 28
COLUMN_HEIGHT = 900
"""A column that is no taller than this is never broken into several."""
ROW_WIDTH = 5000
"""A row of columns that is no wider than this is not broken into several."""
CHAIN_ASPECT = 5.0
"""A row that is more times broader than high is a chain, ..."""
CHAIN_WIDTH = 2000
"""... and broken into bands where its boxes are wider than this, ..."""
BOXES_PER_CROSSING = 3
"""... unless that costs more than one crossing for this many boxes, ..."""
THREAD_ASPECT = 30.0
"""... which counts no more for a row that is more times broader than high than this."""
ASPECT = 1.6
SLENDER = 2.0
"""How many times taller than the ideal shape a column may be: breaking one costs clarity."""
BROAD = 1.4
"""How many times wider than the ideal shape a row of columns may be."""

# In parts of the font size; the widest of the usual fonts counts.
_WIDTHS = (
    ("|'.,:;ijlI!", 0.34),
    (" ()[]{}`ftrJ/\\-", 0.43),
    ('ckszvxy_?LTFY"*°', 0.62),
    ("abdeghnopqu0123456789$ACEKPSRBVXZ", 0.7),
    ("DGHNOQU+<>=~#&^", 0.84),
    ("mwMW@%—…◆×", 1.0),
)
_WIDTH_OF = {char: width for chars, width in _WIDTHS for char in chars}
_BOLD = 1.15
_OTHER = 0.85
_WIDE = 1.05


def text_width(text: str, size: int, *, bold: bool = False) -> int:
    """Return a width the text does not exceed in any of the usual sans-serif fonts."""
    width = sum(_WIDTH_OF.get(char) or _foreign_width(char) for char in text) * size
    return int(width * (_BOLD if bold else 1.0)) + 1


def shortened(text: str, size: int, *, bold: bool = False, limit: int = MAX_TEXT) -> str:
    """Return the text, cut and ended by an ellipsis where it would be wider than `limit`."""
    if text_width(text, size, bold=bold) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(text[:middle] + "…", size, bold=bold) <= limit:
            low = middle
        else:
            high = middle - 1
    return text[:low] + "…"


def _foreign_width(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    return _WIDE if unicodedata.east_asian_width(char) in "WF" else _OTHER
