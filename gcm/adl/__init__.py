"""The architecture description language: XML to checked plan to live components and back.

The public names are listed in `__init__.pyi`, and imported when they are first used: a node that
makes components does not load what reads and writes documents.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; ranks do not import `typing`
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    from gcm.lazy_names import find  # a rank that uses none does without

    found = globals()[name] = find(__name__, name)
    return found


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *__getattr__("__all__")})
