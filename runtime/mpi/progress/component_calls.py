"""Collectives that the clustering components carry out, as a rank takes part in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.mpi.errors import ComponentFault
from runtime.mpi.progress.operations import Operation
from runtime.transport.keys import member_name, parsed

if TYPE_CHECKING:
    from runtime.collectives.port import Data
    from runtime.machine.contracts import CollectiveData
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
        self._life = member_name(wrapper.code, parsed(wrapper.member)[1])

    def begin(
        self, call: str, how: tuple[str, str], group: Sequence[str], data: Data
    ) -> ComponentCall:
        """Give data to a collective of a group of ranks; see `Membership.contribute`.

        Groups of other codes, and of former incarnations of this one, may have calls of this name.
        """
        call = f"{self._life}:{call}"
        begun = self._waiting[call] = ComponentCall()
        wrapper = self._wrapper
        wrapper.membership.contribute(wrapper.name, call, how, list(group), bytes(data))
        return begun

    def arrived(self, call: str, data: CollectiveData) -> None:
        """Take a result, or the reason why there is none."""
        begun = self._waiting.pop(call, None)
        if begun is None:
            return
        if isinstance(data, str):
            begun.finish(ComponentFault(data))
        else:
            begun.data = data
            begun.finish()
