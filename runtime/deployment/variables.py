"""Variables of a descriptor: their values, where each came from, and their use in text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from gcm.documents import Diagnostics, Location, XmlNode, did_you_mean
from gcm.records import dataclass
from runtime.deployment.extent import Extent, MachineAmount
from runtime.deployment.language.kinds import NAME_PATTERN
from runtime.deployment.model import ValueOrigin, Variable

_NAME = re.compile(NAME_PATTERN)
_USE = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_ENVIRONMENT_PREFIX = "env."
_BUILT_IN_PREFIX = "descriptor."

LONGEST_VALUE = 1024 * 1024
"""The most characters of one value: no system accepts a longer argument of a program."""

DEEPEST_NESTING = 50
"""The longest chain of variables whose values use one another."""


@dataclass(slots=True)
class _Declared:
    text: str | None
    origin: ValueOrigin
    source: str
    location: Location


@dataclass(slots=True)
class Variables:
    """The variables of one descriptor, resolved when they are first used."""

    declared: dict[str, _Declared]
    environment: Mapping[str, str]
    diagnostics: Diagnostics
    extent: Extent
    resolved: dict[str, str | None] = field(default_factory=dict)
    _nesting: list[str] = field(default_factory=list)

    def expand(self, text: str, location: Location) -> str | None:
        """Replace every `${name}`; `$${` stands for a plain `${`.

        Returns None when something could not be replaced; that has then been reported.
        """
        if "${" not in text:
            return text
        pieces: list[str] = []
        length = end = 0
        faulty = False
        for match in _USE.finditer(text):
            value = "${" if match.group() == "$${" else self._value(match, text, location)
            faulty = faulty or value is None
            pieces += [text[end : match.start()], value or ""]
            end = match.end()
            length += len(pieces[-2]) + len(pieces[-1])
            if length > LONGEST_VALUE:
                self._report_length(location)
                return None
        pieces.append(text[end:])
        fits = self.extent.grow(MachineAmount.TEXT, length + len(pieces[-1]), location)
        return None if faulty or not fits else "".join(pieces)

    def all(self) -> tuple[Variable, ...]:
        """Return every variable that has a value, resolved, in the order of declaration."""
        found = []
        for name, declared in self.declared.items():
            value = self._resolve(name, declared.location)
            if value is not None:
                found.append(Variable(name, value, declared.origin, declared.source))
        return tuple(found)

    def _value(self, match: re.Match[str], text: str, location: Location) -> str | None:
        name = match.group(1)
        if not match.group(2):
            self.diagnostics.report(
                "unclosed-variable",
                f"'{text}' has a '${{' without its '}}'",
                location,
                hint="write '$${' for a plain '${'",
            )
            return None
        if name.startswith(_ENVIRONMENT_PREFIX):
            return self._from_environment(name.removeprefix(_ENVIRONMENT_PREFIX), location)
        return self._resolve(name, location)

    def _from_environment(self, name: str, location: Location) -> str | None:
        if name not in self.environment:
            self.diagnostics.report(
                "undefined-variable",
                f"the environment variable '{name}' is not set",
                location,
                hint=f'set it, or declare a <variable environment="{name}"> with a default value',
            )
        return self.environment.get(name)

    def _resolve(self, name: str, location: Location) -> str | None:
        if name in self.resolved:
            return self.resolved[name]
        declared = self.declared.get(name)
        if declared is None:
            self.diagnostics.report(
                "undefined-variable",
                f"there is no variable '{name}'",
                location,
                hint=did_you_mean(name, self.declared)
                or f'declare <variable name="{name}" value="..."/>',
            )
            return None
        if name in self._nesting:
            self._report_cycle(name)
            return None
        if len(self._nesting) == DEEPEST_NESTING:
            self._report_nesting(name)
            return None
        self._nesting.append(name)
        self.resolved[name] = self._resolve_declared(name, declared)
        self._nesting.pop()
        return self.resolved[name]

    def _resolve_declared(self, name: str, declared: _Declared) -> str | None:
        if declared.text is None:
            self.diagnostics.report(
                "variable-without-value",
                f"variable '{name}' has no value",
                declared.location,
                hint=f"give one with --set {name}=..., or write a default value",
            )
            return None
        if declared.origin is not ValueOrigin.DEFAULT:
            return declared.text
        return self.expand(declared.text, declared.location)

    def _report_cycle(self, name: str) -> None:
        names = [found for found in self.declared if found in self._nesting]
        circle = ", ".join(f"'{found}'" for found in names)
        self.diagnostics.report(
            "cyclic-variable",
            f"the value of variable '{name}' needs itself; the variables involved: {circle}",
            self.declared[name].location,
            hint="give one of them a value of its own",
        )

    def _report_nesting(self, name: str) -> None:
        self.diagnostics.report(
            "too-deep",
            f"the values of more than {DEEPEST_NESTING} variables use one another in a row",
            self.declared[name].location,
            hint="write values that use fewer others",
        )

    def _report_length(self, location: Location) -> None:
        self.diagnostics.report(
            "too-long",
            f"with its variables replaced a value has more than {LONGEST_VALUE:,} characters",
            location,
            hint="the variables in it double themselves; keep that much in a file",
        )


def declare_variables(
    root: XmlNode,
    *,
    settings: Mapping[str, str],
    environment: Mapping[str, str],
    built_in: Mapping[str, str],
    diagnostics: Diagnostics,
    extent: Extent | None = None,
) -> Variables:
    """Collect the variables of a document and what overrides them.

    Reports duplicate and ill-formed names, and settings for variables that do not exist.
    """
    declared = {
        f"{_BUILT_IN_PREFIX}{name}": _Declared(
            value, ValueOrigin.BUILT_IN, root.location.file, root.location
        )
        for name, value in built_in.items()
    }
    for node in root.children:
        if node.tag == "variable" and node.attributes.get("name"):
            _declare(node, declared, settings, environment, diagnostics)
    of_codes = [*_settings_of_codes(root)]
    own = [known for known in declared if not known.startswith(_BUILT_IN_PREFIX)]
    for name in settings:
        if name not in own and name not in of_codes:
            diagnostics.report(
                "unknown-setting",
                f"--set {name}=... sets a variable that the descriptor does not declare",
                root.location,
                hint=did_you_mean(name, [*own, *of_codes]),
            )
    return Variables(declared, environment, diagnostics, extent or Extent(diagnostics))


def _settings_of_codes(root: XmlNode) -> Iterator[str]:
    """Yield what `--set` calls the settings of applications."""
    for node in root.children:
        if node.tag == "application":
            code = node.attributes.get("name", "application")
            yield from (
                f"{code}.{one.attributes['name']}"
                for one in node.children
                if one.tag == "setting" and "name" in one.attributes
            )


def _declare(
    node: XmlNode,
    declared: dict[str, _Declared],
    settings: Mapping[str, str],
    environment: Mapping[str, str],
    diagnostics: Diagnostics,
) -> None:
    name = node.attributes["name"]
    if name.startswith((_ENVIRONMENT_PREFIX, _BUILT_IN_PREFIX)) or "${" in name:
        diagnostics.report(
            "reserved-name",
            f"'{name}' cannot be the name of a variable",
            node.location,
            hint="names that begin with 'env.' or 'descriptor.' have a meaning of their own, and "
            "names do not use variables",
        )
        return
    if not _NAME.fullmatch(name):
        return  # the check of the structure reports it
    if name in declared:
        diagnostics.report(
            "duplicate-name",
            f"variable '{name}' is declared twice",
            node.location,
            hint=f"the first one is at {declared[name].location}",
        )
        return
    from_environment = node.attributes.get("environment", "")
    if name in settings:
        text, origin, source = settings[name], ValueOrigin.SETTING, f"--set {name}"
    elif from_environment in environment:
        text, origin, source = (
            environment[from_environment],
            ValueOrigin.ENVIRONMENT,
            from_environment,
        )
    else:
        declared[name] = _Declared(
            node.attributes.get("value"), ValueOrigin.DEFAULT, str(node.location), node.location
        )
        return
    declared[name] = _Declared(text, origin, source, node.location)
