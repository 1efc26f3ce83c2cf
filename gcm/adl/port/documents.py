"""Replaces names of Java classes by those of Python classes in documents."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from types import MappingProxyType

_QUOTED = r"""("[^"]*"|'[^']*')"""
_ATTRIBUTE = re.compile(
    rf"\b(class|signature|interceptors|desc|arguments|definition|extends)(\s*=\s*){_QUOTED}"
)
_IMPLEMENTATION = re.compile(r"(<implementation>\s*)([^<]*?)(\s*</implementation>)")
_ENCODING = re.compile(rf"(<\?xml[^>]*\bencoding\s*=\s*){_QUOTED}")
_DOTTED = re.compile(r"[\w$.:]+")


def renamed(
    text: str,
    signatures: Mapping[str, str],
    contents: Mapping[str, str],
    around: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return a document with other names of classes; the rest of its text is unchanged.

    Classes are also named by defaults of arguments and by values given to them. Those of `around`
    are interceptors and descriptions of membranes.
    """
    classes = {**signatures, **contents}

    def value(found: re.Match[str]) -> str:
        name, equals, quoted = found.groups()
        if name in ("definition", "extends"):
            before, bracket, call = quoted.partition("(")
            new = before + bracket + _each(call, classes)
        elif name == "desc":
            new = f"{quoted[0]}{around.get(quoted[1:-1], quoted[1:-1])}{quoted[0]}"
        elif name in ("arguments", "interceptors"):
            new = _each(quoted, classes if name == "arguments" else around)
        else:
            known = contents if name == "class" else signatures
            inside = html.unescape(quoted[1:-1]).strip()
            new = f"{quoted[0]}{known.get(inside, quoted[1:-1])}{quoted[0]}"
        return f"{name}{equals}{new}"

    return _ENCODING.sub(r'\1"UTF-8"', _ATTRIBUTE.sub(value, text), count=1)


def with_controllers(text: str, controllers: Mapping[str, str]) -> str:
    """Return a controller file with other names of classes."""

    def value(found: re.Match[str]) -> str:
        return f"{found[1]}{controllers.get(found[2], found[2])}{found[3]}"

    return _ENCODING.sub(r'\1"UTF-8"', _IMPLEMENTATION.sub(value, text), count=1)


def _each(text: str, classes: Mapping[str, str]) -> str:
    return _DOTTED.sub(lambda found: classes.get(found[0], found[0]), text)
