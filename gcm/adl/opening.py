"""From a document to live components in one step, for programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gcm.adl.assembling import FindRemote, Make, assemble, make_component
from gcm.adl.loading import plan_document
from gcm.components.model import Component
from gcm.documents import Diagnostics
from gcm.errors import AdlError


def load(
    path: str | os.PathLike[str],
    *,
    arguments: Mapping[str, str] = MappingProxyType({}),
    roots: Sequence[str | os.PathLike[str]] = (),
    make: Make = make_component,
    find_remote: FindRemote | None = None,
) -> Component:
    """Read, check and assemble a document; the root is returned stopped.

    `arguments` are the values of the arguments of its definition; `roots` are folders in which
    further definitions and Python modules are searched.

    Raises:
        AdlError: the document has errors; all of them are in its `diagnostics`.
        InstantiationError: a content class cannot be instantiated.

    >>> with running(load("hello.fractal")) as app:    # doctest: +SKIP
    ...     app.stub("run", Runnable).run()
    """
    diagnostics = Diagnostics()
    plan = plan_document(path, arguments=arguments, roots=roots, diagnostics=diagnostics)
    if plan is None:
        raise AdlError(
            f"{os.fspath(path)} has {len(diagnostics.errors)} fault(s)",
            tuple(diagnostics.by_location()),
        )
    return assemble(plan, make=make, find_remote=find_remote)
