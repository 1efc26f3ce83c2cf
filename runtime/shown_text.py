"""Text of others, such as names of files and answers of hosts, as it may be shown and logged.

Somebody else's text could move the cursor of a terminal, hide what stands there, or add a line to
a log that looks like one of ours. What ranks write is not meant: it is the program's own output.
"""

from __future__ import annotations

LONGEST = 80


def shown(text: str, most: int = LONGEST) -> str:
    r"""Return a text on one line, and shortened; what cannot be printed is written as in Python.

    >>> print(shown("gate\nUser x\x1b[2J"), shown("x" * 90, 4))
    gate\nUser x\x1b[2J xxxx...
    """
    visible = _visible(text[: most + 1])
    return f"{visible[:most]}..." if len(text) > most or len(visible) > most else visible


def shown_lines(text: str) -> str:
    r"""Return a text of several lines in which nothing but their ends is no printable character.

    >>> shown_lines("one\x07\ntwo\r\u202e")
    'one\\x07\ntwo\\r\\u202e'
    """
    return "\n".join(map(_visible, text.split("\n")))


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
