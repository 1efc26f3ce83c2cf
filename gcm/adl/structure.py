"""The structure of documents with missing classes: stand-ins for those classes."""

from __future__ import annotations

import types
from dataclasses import field
from typing import Any, Protocol

from gcm.adl.classes import ClassFault, LoadClass
from gcm.records import dataclass

_MISSING = frozenset({"missing-module", "missing-class", "malformed-class-name"})
_MARK = "__stands_in_for__"


@dataclass(slots=True)
class MissingClasses:
    """The classes that were asked for and are not there, each with the class that stands for it.

    Interceptors are noted as well; controllers of controller files, each with its interface;
    these files, each with its name in the documents; and descriptions of membranes, each with the
    predefined membrane that its components would have without it.

    Where nothing `imports` the code of others, all classes but those of this package are missing:
    a module runs when it is imported.
    """

    imports: bool = True
    stand_ins: dict[str, type[Any]] = field(default_factory=dict)
    interceptors: set[str] = field(default_factory=set)
    controllers: dict[str, str] = field(default_factory=dict)
    controller_files: dict[str, str] = field(default_factory=dict)
    membranes: dict[str, str] = field(default_factory=dict)

    def noted_by(self, load_class: LoadClass) -> LoadClass:
        """Return a loader that records every missing class and returns its stand-in."""

        def load(dotted: str) -> object:
            try:
                if not self.imports and not dotted.strip().startswith("gcm."):
                    raise ClassFault(
                        "missing-module", f"nothing is imported, so '{dotted}' neither"
                    )
                return load_class(dotted)
            except ClassFault as fault:
                if is_missing(fault.code) and "${" not in dotted:
                    self.stand_in(dotted)
                raise

        return load

    def stand_in(self, dotted: str) -> type[Any]:
        """Return the stand-in for a missing class: an empty Protocol of that name."""
        if "${" in dotted:
            return _made(dotted)  # an argument without a value, and no class at all
        dotted = dotted.strip()  # names are in several lines at times
        if dotted not in self.stand_ins:
            self.stand_ins[dotted] = _made(dotted)
        return self.stand_ins[dotted]


def is_missing(code: str) -> bool:
    """Return whether an error with that code means that a class is missing, whatever the cause."""
    return code in _MISSING


def stands_in_for(known: type[Any]) -> str:
    """Return the name of the class that another one stands for, or nothing for a real one.

    >>> stands_in_for(MissingClasses().stand_in("org.example.Worker"))
    'org.example.Worker'
    """
    name: str = vars(known).get(_MARK, "")
    return name


def _made(dotted: str) -> type[Any]:
    module, _, name = dotted.replace(":", ".").rpartition(".")
    made: type[Any] = types.new_class(name, (Protocol,))
    made.__module__ = module
    setattr(made, _MARK, dotted)
    return made
