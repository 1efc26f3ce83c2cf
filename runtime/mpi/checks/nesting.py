"""Tells calls of the program from those that a call of the program makes itself."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import Any


class CallNesting(_thread._local):
    """Whether this thread is inside a call of the program already."""

    is_inside = False

    def observed_call(self, call: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
        """Make a call of the program, and return its result.

        It has the name by which the look at stacks passes over what is around calls.
        """
        before, self.is_inside = self.is_inside, True
        try:
            return call(*args, **options)
        finally:
            self.is_inside = before
