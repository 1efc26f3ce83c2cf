"""What components on nodes print, where a Python program holds the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress

from runtime.views.facts import Fact, OutputWritten
from runtime.views.stream import nothing


class ComponentOutput:
    """A listener that prints as the components of an assembly do, as if they were in this process.

    Output of ranks is kept by the components of their codes, and helpers have none to keep.
    """

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Print what comes from a node, whose name is a path."""
        if isinstance(fact.record, OutputWritten) and "/" in fact.name:
            stream = sys.stderr if fact.record.stream == "stderr" else sys.stdout
            with suppress(OSError, ValueError):  # where nobody reads, the run goes on
                stream.write(bytes(fact.record.data).decode(errors="replace"))
                stream.flush()
        taken()
