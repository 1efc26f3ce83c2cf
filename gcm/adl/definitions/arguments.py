"""Arguments of definitions: how they are declared, passed, bound and substituted.

A definition declares `arguments="a,b=5"`; it is called `Def(1,'q')` or `Def(a=>1)`; inside it
`${a}` stands for the value. `'...'` and `"..."` keep commas, brackets and blanks together, and a
doubled quote inside stands for itself. `$${` is a plain `${`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gcm.adl.definitions.growth import DefinitionAmount, Growth
from gcm.documents import XmlNode, did_you_mean
from gcm.records import dataclass

_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z")
_ARROW = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=>(.*)\Z", re.DOTALL)
_PLACEHOLDER = re.compile(r"\$(\$+)\{|\$\{([^{}]*)\}")
_DOLLARS = re.compile(r"\$+\{")
_QUOTES = "'\""


class ArgumentSyntaxError(ValueError):
    """An invalid list of parameters, or an invalid call."""


@dataclass(frozen=True, slots=True)
class DefinitionParameter:
    """A declared argument; `default` is `None` when a value must be given."""

    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class DefinitionCall:
    """A reference to a definition, with values by position or by name."""

    name: str
    positional: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentFault:
    """One error in a call: a code, a message and a hint."""

    code: str
    message: str
    hint: str = ""


def parse_parameters(text: str) -> tuple[DefinitionParameter, ...]:
    """Read `a,b=5`.

    Raises:
        ArgumentSyntaxError: a name is malformed or declared twice.
    """
    if not text.strip():
        return ()
    parameters: dict[str, DefinitionParameter] = {}
    for part in _split(text):
        name, equals, default = part.partition("=")
        name = name.strip()
        if not _NAME.match(name):
            raise ArgumentSyntaxError(f"'{name}' is not an argument name")
        if name in parameters:
            raise ArgumentSyntaxError(f"argument '{name}' is declared twice")
        parameters[name] = DefinitionParameter(name, _value(default) if equals else None)
    return tuple(parameters.values())


def parse_calls(text: str) -> tuple[DefinitionCall, ...]:
    """Read a comma list of references such as `Base, pair.Pair(1,'x,y'), Named(a=>1)`.

    Raises:
        ArgumentSyntaxError: quotes or brackets do not match, a name is missing, or values by
            position and by name are mixed.
    """
    return tuple(_call(part.strip()) for part in _split(text))


def bind_arguments(
    parameters: Sequence[DefinitionParameter], call: DefinitionCall
) -> tuple[dict[str, str], list[ArgumentFault]]:
    """Return the value of each parameter, and all errors of the call.

    A parameter without a value keeps its `${name}`, which shows what depends on it.
    """
    names = [parameter.name for parameter in parameters]
    faults: list[ArgumentFault] = []
    given: dict[str, str] = dict(zip(names, call.positional, strict=False))
    if len(call.positional) > len(names):
        takes = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
        message = f"'{call.name}' takes {takes}, {len(call.positional)} are given"
        faults.append(ArgumentFault("too-many-arguments", message, _declared(names)))
    for name, value in call.named:
        if name not in names:
            hint = did_you_mean(name, names) or _declared(names)
            message = f"'{call.name}' has no argument '{name}'"
            faults.append(ArgumentFault("unknown-argument", message, hint))
        elif name in given:
            message = f"argument '{name}' of '{call.name}' is given twice"
            faults.append(ArgumentFault("duplicate-argument", message, "keep one of them"))
        else:
            given[name] = value
    for parameter in parameters:
        if parameter.name not in given and parameter.default is None:
            message = f"argument '{parameter.name}' of '{call.name}' has no value"
            hint = f"write {call.name}({parameter.name}=>...) or give it a default"
            faults.append(ArgumentFault("missing-argument", message, hint))
    bound = {p.name: given.get(p.name, p.default) for p in parameters}
    return {
        name: placeholder(name) if value is None else value for name, value in bound.items()
    }, faults


def placeholder(name: str) -> str:
    """Return the text that stands for the value of an argument."""
    return f"${{{name}}}"


def substitute(text: str, values: Mapping[str, str]) -> tuple[str, list[str]]:
    """Replace `${name}` by values; also return the names that have no value."""
    return _substitute(text, values, in_call=False)


def substitute_call(text: str, values: Mapping[str, str]) -> tuple[str, list[str]]:
    """Substitute in the text of a call, where a value may be between quotes.

    Its own quotes are doubled there, so that it does not end the text it is put into.
    """
    return _substitute(text, values, in_call=True)


def length_of(text: str, values: Mapping[str, str]) -> int:
    """Return about how long a text becomes by substitution, without doing it."""
    used = _PLACEHOLDER.finditer(text)
    return len(text) + sum(len(values.get((one.group(2) or "").strip(), "")) for one in used)


def escape(text: str) -> str:
    """Return the text that `substitute` turns into this one, whatever the values are."""
    return _DOLLARS.sub(lambda found: f"${found.group()}", text)


def split_values(text: str) -> list[str]:
    """Read a comma list of values, each with or without quotes.

    Raises:
        ArgumentSyntaxError: quotes or brackets do not match.
    """
    return [_value(part) for part in _split(text)] if text.strip() else []


def quoted(text: str) -> str:
    """Return the text in quotes, so that it is read as one value."""
    return "'" + text.replace("'", "''") + "'"


def substitute_node(
    node: XmlNode, values: Mapping[str, str], growth: Growth
) -> tuple[XmlNode, list[tuple[XmlNode, str]]]:
    """Substitute in every attribute of an element and of those below it.

    Also returns each unknown name together with the element that uses it. Elements in which
    nothing changes are kept as they are.

    Raises:
        TooLarge: that makes too much text.
    """
    unknown: list[tuple[XmlNode, str]] = []
    return _substitute_node(node, values, unknown, growth), unknown


def _substitute_node(
    node: XmlNode, values: Mapping[str, str], unknown: list[tuple[XmlNode, str]], growth: Growth
) -> XmlNode:
    attributes = {}
    for key, text in node.attributes.items():
        fill = substitute_call if key in ("definition", "extends") else substitute
        missing: list[str] = []
        if "$" in text:
            growth.add(DefinitionAmount.TEXT, length_of(text, values), node.location)
            text, missing = fill(text, values)  # noqa: PLW2901
        attributes[key] = text
        unknown += [(node, name) for name in missing]
    children = tuple([_substitute_node(child, values, unknown, growth) for child in node.children])
    unchanged = all(new is old for new, old in zip(children, node.children, strict=True))
    if unchanged and attributes == node.attributes:
        return node
    return replace(node, attributes=attributes, children=children)


def _substitute(text: str, values: Mapping[str, str], *, in_call: bool) -> tuple[str, list[str]]:
    missing: list[str] = []
    pieces: list[str] = []
    end = 0
    quote = ""
    for found in _PLACEHOLDER.finditer(text):
        before = text[end : found.start()]
        if in_call:
            quote = _open_quote(before, quote)
        end = found.end()
        dollars, name = found.group(1), (found.group(2) or "").strip()
        if dollars:
            piece = f"{dollars}{{"
        elif name in values:
            piece = values[name].replace(quote, quote * 2) if quote else values[name]
        else:
            piece = found.group()
            missing.append(name)
        if in_call:
            quote = _open_quote(found.group(), quote)
        pieces += [before, piece]
    return "".join(pieces) + text[end:], missing


def _declared(names: Sequence[str]) -> str:
    return f"declared: {', '.join(names)}" if names else "it is declared without arguments"


def _open_quote(text: str, quote: str = "") -> str:
    """Return the quote that is still open after a text, before which `quote` was open."""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
    return quote


def _split(text: str) -> list[str]:
    """Split at commas outside of quotes and brackets."""
    parts, start, depth, quote = [], 0, 0, ""
    for position, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth < 0:
                raise ArgumentSyntaxError(f"')' without '(' in '{text}'")
        elif char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    if quote:
        raise ArgumentSyntaxError(f"the quote {quote} is not closed in '{text}'")
    if depth:
        raise ArgumentSyntaxError(f"'(' without ')' in '{text}'")
    return [*parts, text[start:]]


def _call(text: str) -> DefinitionCall:
    name, bracket, rest = text.partition("(")
    name = name.strip()
    if not name:
        raise ArgumentSyntaxError("the name of a definition is missing")
    if any(char in name for char in _QUOTES):
        raise ArgumentSyntaxError(f"{name} is not a definition name")
    if not bracket:
        return DefinitionCall(name)
    if not rest.endswith(")"):
        raise ArgumentSyntaxError(f"text behind the ')' of '{text}'")
    inside = rest[:-1]
    if not inside.strip():
        return DefinitionCall(name)
    parts = _split(inside)
    arrows = [_ARROW.match(part) for part in parts]
    if not any(arrows):
        return DefinitionCall(name, tuple(_value(part) for part in parts))
    if not all(arrows):
        raise ArgumentSyntaxError(f"values by position and by name are mixed in '{text}'")
    return DefinitionCall(
        name, (), tuple((a.group(1), _value(a.group(2))) for a in arrows if a is not None)
    )


def _value(text: str) -> str:
    text = text.strip()
    if not text or text[0] not in _QUOTES:
        return text
    quote = text[0]
    inside = text[1:-1].replace(quote * 2, "")
    if len(text) < len(quote) * 2 or text[-1] != quote or quote in inside:
        raise ArgumentSyntaxError(f"text behind the closing quote in {text}")
    return text[1:-1].replace(quote * 2, quote)
