"""The `hooks` controller: calls hooks of the content at start, stop and termination."""

from __future__ import annotations

from gcm.components.controller import Controller


class ContentHooksController(Controller):
    """Calls `on_start`, `on_stop` and `on_terminate` of the content, where it has them."""

    __slots__ = ()
    name = "hooks"

    def started(self) -> None:
        """Call `on_start`: everything the content needs is bound and open."""
        self._tell("on_start")

    def stopped(self) -> None:
        """Call `on_stop`: no call is inside any more."""
        self._tell("on_stop")

    def terminated(self) -> None:
        """Call `on_terminate`."""
        self._tell("on_terminate")

    def _tell(self, hook: str) -> None:
        method = getattr(self.component.content, hook, None)
        if method is not None:
            method()
