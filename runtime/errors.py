"""The root of every error of the hierarchical machine: what, where, why, and what to do."""

from __future__ import annotations


class GridError(Exception):
    """The root of all errors of `runtime`.

    `place` says where (a host, a path in the hierarchy, a file and line), `cause` carries what the
    other side said, such as the last lines of a remote stderr, `cure` says what to do next.
    """

    def __init__(self, what: str, *, place: str = "", cause: str = "", cure: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.place = place
        self.cause = cause
        self.cure = cure

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows of it: the message, which says what the frames do not."""
        return [f"{type(self).__name__}: {self}"]

    def __str__(self) -> str:
        """Return the whole message; the cause follows on its own indented lines."""
        head = f"{self.place}: {self.what}" if self.place else self.what
        if self.cure:
            head = f"{head}. {self.cure}"
        if not self.cause:
            return head
        return "\n".join([head, *(f"    {line}" for line in self.cause.rstrip().splitlines())])
