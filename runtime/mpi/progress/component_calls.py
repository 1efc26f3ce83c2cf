"""Collectives that the clustering components carry out, as a rank takes part in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.mpi.progress.operations import Operation

if TYPE_CHECKING:
    from runtime.collectives.port import Data
    from runtime.machine.wrapper import RankWrapper


class ComponentCall(Operation):
    """Data that were given to the component of the cluster, whose result has to come."""

    __slots__ = ()

    def describe(self) -> str:
        """Describe what is waited for."""
        return "what the components of the machine collect"


class ComponentCalls:
    """Gives data to the component of the cluster, and takes the results.

    It is called with the engine's lock held.
    """

    def __init__(self, wrapper: RankWrapper) -> None:
        self._wrapper = wrapper
        self._waiting: dict[str, ComponentCall] = {}

    def begin(
        self, call: str, how: tuple[str, str], group: Sequence[str], data: Data
    ) -> ComponentCall:
        """Give data to a collective of a group of ranks; see `Membership.contribute`."""
        begun = self._waiting[call] = ComponentCall()
        wrapper = self._wrapper
        wrapper.membership.contribute(wrapper.name, call, how, list(group), bytes(data))
        return begun

    def arrived(self, call: str, data: bytes) -> None:
        """Take a result."""
        begun = self._waiting.pop(call, None)
        if begun is not None:
            begun.data = data
            begun.finish()
