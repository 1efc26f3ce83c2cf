"""The Java signatures that have a counterpart here."""

from __future__ import annotations

from typing import Any

from gcm.adl.membranes.controller_files import controller_here
from gcm.components.running import Runnable
from gcm.factory import described
from gcm.membranes.content_hooks import ContentHooksController
from gcm.membranes.interceptor import Interceptor

_INTERCEPTION = "org.objectweb.proactive.core.component.interception"
_KNOWN: dict[str, type[Any]] = {
    "java.lang.Runnable": Runnable,
    **{f"{_INTERCEPTION}.{way}Interceptor": Interceptor for way in ("", "Input", "Output")},
}
_CONTROLLERS: dict[str, type[Any]] = {
    one.name: one
    for kind in ("active", "composite")
    for one in described(kind).controllers
    if one is not ContentHooksController  # which is no public name
}


def counterpart(dotted: str) -> type[Any] | None:
    """Return the counterpart here of a signature of Java, Fractal or GCM; None for others.

    >>> counterpart("org.objectweb.fractal.api.control.NameController").__name__
    'NameController'
    """
    return _KNOWN.get(dotted) or _CONTROLLERS.get(controller_here(dotted))


def public_name(known: type[Any]) -> str:
    """Return the name of a counterpart for documents and imports."""
    return f"gcm.{known.__name__}"
