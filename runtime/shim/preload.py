"""How a program is told what it needs to be a rank: in one variable, which it takes away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gcm.records import dataclass

VARIABLE = "GCM_C_PROGRAM"
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Preload:
    """The library for a program, the Python for a thread of it, and the words for that."""

    library: str
    libpython: str
    python: str
    words: Sequence[str]
    personality: int | None = None
    """What its children get back of how the system treats a process; None if that is the same."""

    def environment(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return an environment in which the program is a rank.

        What was preloaded `before` comes behind, as Score-P or Darshan: calls pass on to it. The
        program and its children find the environment as it was.
        """
        others = before.get("LD_PRELOAD", "")
        before_it = "" if self.personality is None else str(self.personality)
        told = (others, before_it, self.libpython, self.python, *self.words)
        return {
            **before,
            "LD_PRELOAD": f"{self.library}:{others}" if others else self.library,
            VARIABLE: _SEPARATOR.join(told),
        }
