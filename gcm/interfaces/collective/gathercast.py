"""Gathercast: calls of many clients become one call of the server, which answers all of them."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gcm.errors import (
    GathercastMemberError,
    GathercastTimeoutError,
    GcmError,
    IllegalLifeCycleError,
)
from gcm.interfaces.call_chain import Link, LinkOfRound, current, is_arriving, new_number, work_on
from gcm.interfaces.collective.gathering import (
    Effect,
    Expire,
    Fire,
    Refuse,
    RoundEntry,
    Rounds,
    RoundSettings,
)
from gcm.interfaces.collective.sharing import ListSharing, MemberSharing
from gcm.interfaces.distribution import is_redistributing
from gcm.interfaces.future import Future
from gcm.interfaces.going_on import outside, wait_for_others
from gcm.interfaces.policies.marks import is_one_by_one, put_mark
from gcm.interfaces.policies.parallel import UnassembledBlock
from gcm.interfaces.signature import Operation, signature_of
from gcm.interfaces.stacks import inside
from gcm.interfaces.submission import is_asynchronous, submit_to

if TYPE_CHECKING:
    from gcm.interfaces.interface import ClientInterface, ServerInterface

Port = Callable[..., Any]

_log = logging.getLogger("gcm")


def one_by_one(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Serve an operation of a gathercast interface for each client by itself.

    So one interface can gather some kinds of messages and pass others straight through.
    """
    put_mark(operation, "one_by_one", True, "one_by_one")
    return operation


class Gathering:
    """The rounds of all operations of one gathercast interface, in which the same clients call."""

    def __init__(self, server: ServerInterface) -> None:
        self._server = server
        self._operations: dict[str, _Gathered] = {}
        self._members: Rounds[ClientInterface] = Rounds()
        """Who calls, in which place; each operation's rounds begin as a copy of it."""
        # Several threads may bind clients; each client is added to every operation's rounds once.
        self._binding = threading.Lock()

    @property
    def settings(self) -> RoundSettings:
        """When rounds are over."""
        return self._members.settings

    def admit(self, client: ClientInterface) -> None:
        """Wait for `client` from now on."""
        with self._binding:
            self._members.admit(client)
            for gathered in self._operations.values():
                gathered.admit(client)

    def forget(self, client: ClientInterface) -> None:
        """No longer wait for `client`; `when_left` says what becomes of the rounds that do."""
        with self._binding:
            self._members.forget(client)
            for gathered in self._operations.values():
                gathered.forget(client)

    def configure(self, settings: RoundSettings) -> None:
        """Set when the rounds that begin later are over.

        Raises:
            IllegalLifeCycleError: calls are waiting in a round.
        """
        if any(gathered.waiting() for gathered in self._operations.values()):
            raise IllegalLifeCycleError(
                "calls are waiting in a round of the interface",
                component=self._server.owner.path,
                interface=self._server.name,
                cure="Configure it before the first call, or once the round is over",
            )
        with self._binding:
            self._members = Rounds(self._members.clients, settings)
            self._operations.clear()
        self._server.wire()

    def abandon(self, why: str) -> None:
        """Refuse all calls that wait in a round."""
        for gathered in self._operations.values():
            gathered.abandon(why)

    def waiting(self) -> dict[str, list[str]]:
        """Return for each operation with an open round the clients it still waits for."""
        open_rounds = {name: gathered.waiting() for name, gathered in self._operations.items()}
        return {name: missing for name, missing in open_rounds.items() if missing}

    def port(self, client: ClientInterface | None, operation: str, target: Port) -> Port:
        """Return the port through which `client` takes part in the rounds of `operation`."""
        described = signature_of(self._server.type.signature).operations[operation]
        alone = is_one_by_one(self._server.type.signature, operation)
        # Blocks were gathered when they left their component.
        if alone or (is_redistributing(described) and not self._server.internal):
            return target
        if client is None:
            return self._refuse_strangers(operation)
        with self._binding:
            if operation not in self._operations:
                self._operations[operation] = _Gathered(
                    self._server, described, self._members.empty()
                )
            gathered = self._operations[operation]
        gathered.target = target
        return GatherPort(gathered, client)

    def _refuse_strangers(self, operation: str) -> Port:
        def refuse(*_: Any, **__: Any) -> Any:
            raise GcmError(
                f"'{operation}' of a gathercast interface was called without a binding",
                component=self._server.owner.path,
                interface=self._server.name,
                cure="Call it through a bound client interface: it gathers one call of each "
                f"({', '.join(map(str, self._members.clients)) or 'none is bound yet'})",
            )

        return refuse


class GatherPort:
    """The port of one client to one gathered operation."""

    __slots__ = ("_client", "_gathered")

    def __init__(self, gathered: _Gathered, client: ClientInterface) -> None:
        self._gathered = gathered
        self._client = client

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take part in the next round and wait until it is over."""
        ticket = self._gathered.arrive(self._client, args, kwargs, current())
        if ticket.done():
            return ticket.result()
        return outside(wait_for_others, ticket.result, partial(self._gathered.give_up, ticket))

    def submit(self, *args: Any, **kwargs: Any) -> Ticket:
        """Take part in the next round and return at once, unless this call completes it."""
        link = current()
        return self._gathered.arrive(
            self._client, args, kwargs, link if is_arriving(link) else None
        )


class Ticket(Future[Any]):
    """What one caller gets of a round; the round is `open` as long as others may join it.

    Until then its caller waits for calls that can only come while the `owner` runs.
    """

    patience = 30.0
    """For how many seconds a caller waits before it is said who is missing. There is no limit:
    right programs compute for an hour, and where a call never comes nobody else would say so."""

    looks_every = 1.0
    """How many seconds a request that waits for a round takes to see that it was called."""

    def __init__(
        self, gathered: _Gathered, owner: object, about: object, waits: Link | None
    ) -> None:
        super().__init__(about)
        self.owner = owner
        self.is_open = True
        self.waits = waits
        """The request that waits for the call, as far as that is known when it is made."""
        self.served: Future[Any] | None = None
        """What the call of the round is to bring, once it is made."""
        self._gathered = gathered
        self._assembling = threading.Lock()
        self.set_running_or_notify_cancel()

    def _passed(self, gate: threading.Lock, timeout: float | None) -> bool:
        if timeout is not None:
            return super()._passed(gate, timeout)
        waits = current()
        self.waits = self.waits or waits
        told_at = time.monotonic() + self.patience
        # What the round calls may wait for a request that waits for the round: then a circle is
        # found by who waits for what the call of the round is to bring.
        step = self.patience if waits is None else min(self.looks_every, self.patience)
        while (served := self.served) is None and not super()._passed(gate, step):
            if time.monotonic() >= told_at:
                if wait := self._gathered.describe_wait(self):
                    _log.warning("for %g s %s", self.patience, wait)
                told_at = math.inf
        if served is not None:
            served._wait(None)
            return super()._passed(gate, None)
        return True

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the result; a block is assembled by its receiver, not by its sender."""
        result = super().result(timeout)
        if not isinstance(result, UnassembledBlock):
            return result
        with self._assembling:
            if isinstance(self._result, UnassembledBlock):
                self._result = self._result.assembled()
        return self._result


class _Gathered:
    """One operation: carries out the effects of its `Rounds`."""

    def __init__(
        self, server: ServerInterface, operation: Operation, rounds: Rounds[ClientInterface]
    ) -> None:
        self._server = server
        self._operation = operation.name
        self._share = (MemberSharing if is_redistributing(operation) else ListSharing)(operation)
        self._rounds = rounds
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._set_for: float | None = None
        self._open: dict[Ticket, None] = {}
        self.target: Port = _nowhere

    def admit(self, client: ClientInterface) -> None:
        with self._lock:
            self._rounds.admit(client)

    def forget(self, client: ClientInterface) -> None:
        with self._lock:
            effects = self._rounds.forget(client)
            self._settle(effects)
            self._set_timer()
        if effects:
            # The component may be stopped now, and an unbinding thread cannot wait for its start.
            threading.Thread(
                target=inside,
                args=(self._server.owner, self._operation, self._when_open, (effects,), {}),
                name=f"last round of {self._server}.{self._operation}",
                daemon=True,
            ).start()

    def _when_open(self, effects: Sequence[Effect[ClientInterface]]) -> None:
        try:
            self._server.owner.membrane.lifecycle.wait_until_open(
                self._server.name, self._operation
            )
        except GcmError as error:
            for effect in effects:
                _fail(effect.entries, error)
        else:
            self._carry_out(effects)

    def waiting(self) -> list[str]:
        """Return the clients that the oldest round still waits for."""
        with self._lock:
            return [str(client) for client in self._rounds.missing]

    def describe_wait(self, ticket: Ticket) -> str:
        """Return who has called and who has not, if `ticket` is the first of those that wait."""
        with self._lock:
            if next(iter(self._open), None) is not ticket:
                return ""
            called, missing = self._rounds.called, self._rounds.missing
        return (
            f"'{self._operation}' of the gathercast interface {self._server} waits for all to "
            f"call: {', '.join(map(str, called))} did, {', '.join(map(str, missing))} did not"
        )

    def arrive(
        self,
        client: ClientInterface,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        waits: Link | None,
    ) -> Ticket:
        about = f"{self._server}.{self._operation}, called by {client}"
        ticket = Ticket(self, self._server.owner, about, waits)
        with self._lock:
            effects = self._rounds.arrive(client, (args, kwargs), time.monotonic(), ticket=ticket)
            self._open[ticket] = None
            self._settle(effects)
            self._set_timer()
        self._carry_out(effects)
        return ticket

    def give_up(self, ticket: Ticket) -> None:
        """Refuse the calls of open rounds whose missing call will never come."""
        if ticket in self._open:
            self.abandon("another call of the round will not come: its multicast was interrupted")

    def abandon(self, why: str) -> None:
        with self._lock:
            refused, self._open = list(self._open), {}
            self._rounds = self._rounds.empty()
            self._set_timer()
        for ticket in refused:
            ticket.is_open = False
            ticket.set_exception(
                IllegalLifeCycleError(
                    why, component=self._server.owner.path, interface=self._server.name
                )
            )

    def _settle(self, effects: Sequence[Effect[ClientInterface]]) -> None:
        """Record that the thread that carries out `effects` answers their callers."""
        for effect in effects:
            for entry in effect.entries:
                self._open.pop(entry.ticket, None)

    def _carry_out(self, effects: Sequence[Effect[ClientInterface]]) -> None:
        for effect in effects:
            for entry in effect.entries:
                entry.ticket.is_open = False
            match effect:
                case Fire():
                    self._fire(effect.entries)
                case Expire():
                    self._expire(effect)
                case Refuse():
                    self._refuse(effect)

    def _fire(self, entries: Sequence[RoundEntry[ClientInterface]]) -> None:
        """Make one call of a full round; its result or its exception goes to every caller."""
        before = work_on(self._link_of(entries))
        try:
            args, kwargs = self._share.join([entry.arguments for entry in entries])
            served = submit_to(self.target, args, kwargs)
        except BaseException as error:  # every caller waits for it, not only this thread
            _fail(entries, error)
            if not isinstance(error, Exception):
                raise
            return
        finally:
            work_on(before)
        for entry in entries:
            entry.ticket.served = served
        served.add_done_callback(lambda done: self._deliver(entries, done))

    def _link_of(self, entries: Sequence[RoundEntry[ClientInterface]]) -> Link | None:
        """Return what waits for the call of a round: the requests in which its calls were made."""
        last = current()
        calls = [entry.ticket for entry in entries]
        if last is None and not any(call.waits for call in calls):
            return None
        where = f"{self._server}.{self._operation}"
        return LinkOfRound(new_number(), where, calls, last, is_asynchronous(self.target))

    def _deliver(self, entries: Sequence[RoundEntry[ClientInterface]], done: Any) -> None:
        error = done.exception()
        if error is None:
            try:
                calls = [entry.arguments for entry in entries]
                results = self._share.part(done.result(), calls)
            except Exception as refused:  # an unexpected result must not leave the callers waiting
                if isinstance(refused, GcmError):
                    refused.component = self._server.owner.path
                    refused.interface = self._server.name
                error = refused
            else:
                for entry, result in zip(entries, results, strict=True):
                    entry.ticket.set_result(result)
                return
        _fail(entries, error)

    def _expire(self, effect: Expire[ClientInterface]) -> None:
        missing = ", ".join(map(str, effect.missing))
        _fail(
            effect.entries,
            GathercastTimeoutError(
                f"'{self._operation}' gave up after {self._rounds.settings.timeout} s: "
                f"{missing} did not call",
                component=self._server.owner.path,
                interface=self._server.name,
                cure="Let every bound client call, unbind those that do not, or raise the timeout",
            ),
        )

    def _refuse(self, effect: Refuse[ClientInterface]) -> None:
        _fail(
            effect.entries,
            GathercastMemberError(
                f"'{self._operation}' was not called by {effect.left}, which is no longer bound",
                component=self._server.owner.path,
                interface=self._server.name,
                cure="Call again without it, or configure the gathercast to go on without those "
                "that leave, or to keep their places for others",
            ),
        )

    def _set_timer(self) -> None:
        """Set the timer for the oldest round; the lock is held."""
        deadline = self._rounds.deadline
        if deadline == self._set_for:
            return
        self._set_for = deadline
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            self._timer = threading.Timer(max(0.0, deadline - time.monotonic()), self._time_is_up)
            self._timer.daemon = True
            self._timer.start()

    def _time_is_up(self) -> None:
        with self._lock:
            effects = self._rounds.expire(time.monotonic())
            self._settle(effects)
            self._set_timer()
        waiting = [
            entry.client.owner
            for effect in effects
            for entry in effect.entries
            if hasattr(entry.client, "owner")  # otherwise it is in another process
        ]
        if all(owner.membrane.admits_calls for owner in waiting):
            self._carry_out(effects)
        else:  # a caller that is stopped together with this component must not wake up now
            self._when_open(effects)


def _fail(entries: Sequence[RoundEntry[ClientInterface]], error: BaseException) -> None:
    for entry in entries:
        entry.ticket.set_exception(error)


def _nowhere(*_: Any, **__: Any) -> Any:
    """The target until the interface is wired."""
    raise AssertionError("a gathered operation is wired before anybody can call it")
