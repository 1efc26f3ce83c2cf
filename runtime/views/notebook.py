"""The progress of a run in the notebook that has started it, where ipywidgets is installed."""

from __future__ import annotations

import sys
from html import escape
from importlib import import_module
from typing import Any, Self

from runtime.views.facts import Fact, OutputWritten, RunEnded
from runtime.views.picture import picture, plain
from runtime.views.progress_tree import ProgressTree

PAUSE = 0.2
"""Seconds between two pictures at least, but for the last one."""

_WIDTH, _HEIGHT = 100, 24


def is_in_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config


class NotebookProgress:
    """Shows the tree of a run below the cell, as a terminal does; for one thread.

    A notebook that cannot show it any more, such as one whose kernel ends, gets no more of it.
    """

    def __init__(self, widgets: Any, display: Any) -> None:
        self._tree = ProgressTree()
        self._shown = -PAUSE
        self._widget: Any = widgets.HTML()
        display(self._widget)

    @classmethod
    def here(cls) -> Self | None:
        """Return one for the notebook whose kernel this process is; None elsewhere."""
        if not is_in_notebook():
            return None
        try:
            return cls(import_module("ipywidgets"), import_module("IPython.display").display)
        except ImportError:
            return None

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        self._tree.take(fact)
        is_news = not isinstance(fact.record, OutputWritten) and fact.time >= self._shown + PAUSE
        if self._widget is not None and (is_news or isinstance(fact.record, RunEnded)):
            self._shown = fact.time
            lines = map(plain, picture(self._tree, fact.time, width=_WIDTH, height=_HEIGHT))
            try:
                self._widget.value = f"<pre>{escape(chr(10).join(lines))}</pre>"
            except Exception:  # whatever is wrong there, the run goes on
                self._widget = None
