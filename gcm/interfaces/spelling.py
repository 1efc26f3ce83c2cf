"""Parameters of an operation as Python source, for generated functions that pass them on."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from inspect import Parameter as Kinds
from typing import Any

from gcm.interfaces.signature import Operation


def spelled(operation: Operation) -> tuple[str, str]:
    """Return the parameters of `operation`, and the arguments that pass exactly these on.

    >>> spelled(signature_of(Greeter).operations["greet"])    # doctest: +SKIP
    ('name', 'name')
    """
    heads: list[str] = []
    hands: list[str] = []
    keyword_only = False
    for parameter in operation.parameters:
        if parameter.has_default or parameter.kind in (Kinds.VAR_POSITIONAL, Kinds.VAR_KEYWORD):
            # What the caller left out must stay left out, so that the server's own default applies.
            return "*args, **kwargs", "*args, **kwargs"
        if parameter.kind is Kinds.KEYWORD_ONLY:
            if not keyword_only:
                heads.append("*")
                keyword_only = True
            hands.append(f"{parameter.name}={parameter.name}")
        else:
            hands.append(parameter.name)
        heads.append(parameter.name)
    return ", ".join(heads), ", ".join(hands)


def unused(name: str, operation: Operation) -> str:
    """Return `name`, lengthened until no parameter of `operation` has it."""
    while any(parameter.name == name for parameter in operation.parameters):
        name += "_"
    return name


def compiled(source: str, file: str, **known: Any) -> dict[str, Callable[..., Any]]:
    """Return the functions that `source` defines, using what is `known` to it by name.

    Tracebacks show its lines as those of `file`.
    """
    namespace: dict[str, Any] = dict(known)
    exec(compile(source, file, "exec"), namespace)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    del namespace["__builtins__"]
    return namespace
