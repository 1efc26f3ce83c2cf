"""The rest of a multicast goes on in another thread as soon as one of its calls has to wait.

Passive components are called one after the other in the thread of the caller. If one of them waits
for something that only a later call can bring about, such as the round of a gathercast that all of
them take part in, that call must not come too late. So whoever begins to wait first hands on what
the multicasts of its thread have not called yet. It finds them on its own stack, so that a
multicast in which nobody waits pays next to nothing for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from threading import Thread
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from gcm.interfaces.future import Future, fulfil

if TYPE_CHECKING:
    from gcm.components.model import Component

Item = TypeVar("Item")

LOOP_FILE = "<multicast of "
"""How the file name of the loops begins that `hand_on_the_rest` looks for.

Such a loop takes its calls from the iterator `gcm_items`, keeps the futures of those that it handed
on in the list `gcm_handed`, and knows an `Elsewhere` as `gcm_elsewhere`.
"""

GoOn = tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]
"""A function and the arguments with which it makes the calls that are left."""


class Elsewhere:
    """Where a loop hands on its calls: `gcm_elsewhere` in its frame.

    `how` is given the frame of the loop and the list of calls that are left, and tells what makes
    them. What is made elsewhere counts as inside the `owner` of the multicast.
    """

    __slots__ = ("_operation", "_owner", "how")

    def __init__(
        self, owner: Component, operation: str, how: Callable[[FrameType, list[Any]], GoOn]
    ) -> None:
        self._owner = owner
        self._operation = operation
        self.how = how

    def hand_on(self, frame: FrameType) -> None:
        """Make the calls that are left in another thread; the future goes to `gcm_handed`."""
        left = list(frame.f_locals["gcm_items"])
        if left:
            future: Future[Any] = Future(f"the rest of '{self._operation}' of {self._owner.path}")
            frame.f_locals["gcm_handed"].append(future)
            work = (future, self._owner, self._operation, *self.how(frame, left))
            Thread(target=_fulfil, args=work, name="multicast").start()


def _fulfil(future: Future[Any], *work: Any) -> None:
    from gcm.interfaces.stacks import inside  # which lets every wait hand on the rest

    fulfil(future, inside, work, {})


def make_each(
    gcm_items: Iterator[Item],
    gcm_handed: list[Future[Any]],  # noqa: ARG001 - for `hand_on_the_rest`
    gcm_elsewhere: Elsewhere,  # noqa: ARG001 - likewise
    call: Callable[[Item], None],
) -> None:
    """Make each call of `gcm_items`, unless it is handed on before its turn."""
    for item in gcm_items:
        call(item)


def hand_on_the_rest() -> None:
    """Let others make the calls that this thread cannot make while it waits."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code is make_each.__code__ or code.co_filename.startswith(LOOP_FILE):
            elsewhere = frame.f_locals.get("gcm_elsewhere")
            if elsewhere is not None:  # else this frame is only around the loop
                elsewhere.hand_on(frame)
        frame = frame.f_back
