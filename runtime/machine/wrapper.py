"""The wrapper of a rank, in the rank's own process: what it serves, and what it calls above it."""

from __future__ import annotations

import _thread
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.machine.calls import CallRefused, DispatchTable, Send, stub
from runtime.machine.contracts import (
    BINDING_CONTROLLER,
    CONTRACTS,
    Appeals,
    CollectiveData,
    Control,
    Health,
    Membership,
    References,
    Routes,
    Views,
)
from runtime.machine.delivery import PEERS, bound_to
from runtime.machine.rank_settings import RankSettings
from runtime.part_names import cluster_of
from runtime.transport.keys import parsed

if TYPE_CHECKING:
    from runtime.machine.rank_states import RankState

_SIGTERM = 15  # `signal` would be imported for this number alone


def _to_nobody(interface: str, operation: str, args: tuple[Any, ...]) -> None:
    """Send a call nowhere."""


class RankWrapper:
    """Keeps what the rank was told, and passes on what others say about routes.

    It is made of no membrane, since it is there before the program is and costs its start.

    >>> dispatch, sent = DispatchTable(), []
    >>> wrapper = RankWrapper("0:0:1#1", dispatch, lambda *call: sent.append(call))
    >>> wrapper.membership.ready(wrapper.name, [])
    >>> sent
    [('membership', 'ready', ('0:0:1', []))]
    >>> dispatch.call("control", "go")
    >>> wrapper.may_go
    True
    """

    def __init__(
        self,
        member: str,
        dispatch: DispatchTable,
        send: Send,
        appeal: Send = _to_nobody,
        *,
        above: str = "",
    ) -> None:
        """Serve what the component `above`, of the cluster, calls.

        `member` is the name that the rank has proved, with its incarnation. `send` brings calls to
        the component above, `appeal` those to the launcher.
        """
        self.member = member
        self.name, _ = parsed(member)
        self.membership = stub(Membership, send)
        self.health = stub(Health, send)
        self.references = stub(References, send)
        self.appeals = stub(Appeals, appeal)
        self._bound = {
            f"{CONTRACTS[one]}-up": [f"{above}.{CONTRACTS[one]}"]
            for one in (Membership, Health, References)
        }
        self.code = ""
        """The code with whose ranks it exchanges messages; "" for a native program."""
        self.may_go = False
        self.table = b""
        """Who is where; see `runtime.machine.table`."""
        self.settings = RankSettings()
        self.found_routes: list[Any] = []
        """The routes that other ranks of the cluster have found, as its front-end tells them."""
        self.ends = self.saves = float("inf")
        """When the run ends, and when programs save their state, by the monotonic clock here."""
        self.process = os.getpid()
        """What is asked to end: this process, or the native program that it has started."""
        self.state_of_program: Callable[[bool], RankState] | None = None
        """Tells what the program is doing, on demand with its stacks."""
        self._lock = _thread.allocate_lock()
        self._routes: Routes | None = None
        self._early: list[Callable[[Routes], None]] = []
        self._on_views: Callable[[bytes], None] | None = None
        self._ends: list[dict[str, Any]] = []
        self._on_ends: Callable[[list[dict[str, Any]]], None] | None = None
        self._on_results: Callable[[str, CollectiveData], None] | None = None
        dispatch.serve(Views, self)
        dispatch.serve(Control, self)
        dispatch.serve(Routes, self)

    def attach(self, routes: Routes) -> None:
        """Pass on what is said about routes from now on, and what has been said so far."""
        with self._lock:
            self._routes = routes
            early, self._early = self._early, []
            for call in early:
                call(routes)

    def answer(self, interface: str, operation: str, args: tuple[Any, ...]) -> Any:
        """Answer who asks what this component is bound to, as its `binding` controller would.

        Raises:
            CallRefused: something else is asked.
        """
        if (interface, operation) == (BINDING_CONTROLLER, "names"):
            return [*self._bound, *([PEERS] if self.code else [])]
        if (interface, operation, args) == (BINDING_CONTROLLER, "lookup", (PEERS,)) and self.code:
            return self._peers()
        if (interface, operation) == (BINDING_CONTROLLER, "lookup") and args[0] in self._bound:
            return self._bound[args[0]]
        raise CallRefused(f"a wrapper cannot be asked for {interface}.{operation}{args}")

    def _peers(self) -> list[str]:
        if not self.settings.grid:
            return []  # nobody may run yet
        import pickle  # only where somebody asks

        grid = pickle.loads(self.settings.grid)  # from the launcher
        return bound_to(grid, cluster_of(self.name), self.code)

    # --- views, control -------------------------------------------------------------------------

    def view(self, table: bytes) -> None:
        """Keep who is where."""
        with self._lock:
            self.table = table
            if self._on_views is not None:
                self._on_views(table)

    def on_views(self, hear: Callable[[bytes], None]) -> None:
        """Let `hear` know each table that comes from now on, and the one that is known."""
        with self._lock:
            self._on_views = hear
            hear(self.table)

    def lost(self, reports: list[dict[str, Any]]) -> None:
        """Pass on which other ranks have ended."""
        with self._lock:
            if self._on_ends is None:
                self._ends += reports
            else:
                self._on_ends(reports)

    def on_ends(self, hear: Callable[[list[dict[str, Any]]], None]) -> None:
        """Let `hear` know of all ranks that end from now on, and of those that have ended."""
        with self._lock:
            self._on_ends = hear
            hear(self._ends)

    def collected(self, call: str, to: str, group: list[str], data: CollectiveData) -> None:  # noqa: ARG002
        """Pass on the result of a collective to which this rank has given data.

        To whom it goes mattered on the way here; the arguments are those of the contract.
        """
        if self._on_results is not None:
            self._on_results(call, data)

    def on_results(self, hear: Callable[[str, CollectiveData], None]) -> None:
        """Let `hear` know the results of collectives."""
        self._on_results = hear

    def configure(self, settings: dict[str, Any], routes: list[Any]) -> None:
        """Keep what the rank needs to know before it runs."""
        self.settings, self.found_routes = RankSettings.parse(settings), routes

    def go(self) -> None:
        """Let the program begin."""
        self.may_go = True

    def stop(self) -> None:
        """Ask the program to end."""
        os.kill(self.process, _SIGTERM)

    def signal(self, number: int) -> None:
        """Send the program a signal."""
        os.kill(self.process, number)

    def limit_time(self, ends: float, saves: float) -> None:
        """Count the time from now on: clocks of other hosts say nothing here."""
        now = time.monotonic()
        self.ends, self.saves = now + ends, now + saves

    def tell_state(self, number: int, with_stacks: bool) -> None:
        """Tell what this rank is doing, once the program runs."""
        if self.state_of_program is not None:
            self.appeals.waiting(self.member, number, self.state_of_program(with_stacks).plain)

    # --- routes ---------------------------------------------------------------------------------

    def news(self, experiences: list[Any]) -> None:
        """Pass on which routes worked for others."""
        self._about_routes(lambda routes: routes.news(experiences))

    def try_again(self) -> None:
        """Pass on that closed routes may be tried again."""
        self._about_routes(lambda routes: routes.try_again())

    def count(self) -> None:
        """Pass on that somebody asks for the figures."""
        self._about_routes(lambda routes: routes.count())

    def come(self, member: str) -> None:
        """Pass on that another rank waits to be connected to."""
        self._about_routes(lambda routes: routes.come(member))

    def meet(self, front_end: str, token: str) -> None:
        """Pass on that another rank waits at a front-end."""
        self._about_routes(lambda routes: routes.meet(front_end, token))

    def _about_routes(self, call: Callable[[Routes], None]) -> None:
        with self._lock:
            if self._routes is None:
                self._early.append(call)
            else:
                call(self._routes)
