"""Node processes: as values, and as destinations of components that live in this process."""

from __future__ import annotations

from functools import partial
from typing import Any

from gcm.adl.plan import ComponentPlan
from gcm.components.model import Component
from gcm.errors import IllegalContentError
from gcm.interfaces.call_chain import as_header
from gcm.interfaces.interface import Referenced, ServerEnd
from gcm.invocation import Caller, Invocation
from gcm.records import dataclass
from runtime.hosting.host import Host
from runtime.transport.channel import Channel

NODE = "node"
"""The name of the agent's interface; the agent is the component at the home of its process."""


def ask_node(host: Host, home: str, operation: str, *args: Any) -> None:
    """Let the agent of the node process at `home` do something, and wait until it has."""
    host.call(Invocation(home, NODE, operation, args, chain=as_header())).result()


class OtherNode:
    """Where a component moves to; what stays here passes calls on.

    A component that `runs` is started there, any other holds calls until it is.
    """

    takes_bindings = True

    def __init__(
        self, host: Host, plan: ComponentPlan, home: str, address: str, *, runs: bool
    ) -> None:
        self._runs = runs
        self._host = host
        self._plan = plan
        self._home = home
        self._address = address
        self._ask = partial(ask_node, host, home)

    def adopt(self, component: Component, content: Any) -> Caller:
        """Make a copy of `component` there around `content`, bound and started.

        Raises:
            IllegalContentError: a server would have to know that its client is another one now, or
                the clients that their server is.
        """
        gathers = [one.path for one in component.servers if one.gathers and one.clients]
        clients = [one for one in component.clients for end in one.servers if _is_gathered(end)]
        if gathers:
            raise IllegalContentError(
                f"cannot move while clients are bound to {', '.join(gathers)}, which gathers",
                component=self._plan.path,
                cure="Stop and unbind these clients first; bind and start them after the move",
            )
        if clients:
            raise IllegalContentError(
                "cannot move while it is bound to what gathers calls, by "
                + ", ".join(one.name for one in clients),
                component=self._plan.path,
                cure="Stop it and unbind that first; bind it and start it after the move",
            )
        if self._address:
            self._host.reach(self._address, self._home)
        self._ask("make", self._plan, content)
        try:
            for client in component.clients:
                ends = [
                    end.server if isinstance(end, Referenced) else end for end in client.servers
                ]
                self._ask("lead", self._plan.path, client.name, ends)
            # A call that came before that would be refused.
            self._ask("start" if self._runs else "hold", self._plan.path)
            way = self._host.routes.find(self._home)
            assert way is not None
            self._host.routes.add(self._plan.path, way)  # calls go there before it is gone here
            self._host.exports.withdraw(self._plan.path)
        except BaseException:
            self._host.publish(self._plan.path, component)
            self._ask("drop", self._plan.path)
            raise
        return self._host


def _is_gathered(end: ServerEnd) -> bool:
    return end.type.is_gathercast


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """A node process as the launcher knows it.

    `home` is the path of its agent, `address` where it listens for other processes of the run, or
    empty if nobody can connect to it.
    """

    home: str
    channel: Channel
    address: str = ""
