"""The `hooks` controller: tells the content of a primitive of the start, the stop and the end."""

from __future__ import annotations

from gcm.components.controller import Controller


class ContentHooksController(Controller):
    """Calls `on_start`, `on_stop` and `on_terminate` of the content, where it has them."""

    __slots__ = ()
    name = "hooks"

    def started(self) -> None:
        """Tell the content that everything it needs is bound and open."""
        self._tell("on_start")

    def stopped(self) -> None:
        """Tell the content that no call is inside any more."""
        self._tell("on_stop")

    def terminated(self) -> None:
        """Tell the content that this is the end."""
        self._tell("on_terminate")

    def _tell(self, hook: str) -> None:
        method = getattr(self.component.content, hook, None)
        if method is not None:
            method()
