"""Replacements of lost processes: who they are, how they are requested, and invited.

A restarted rank gets an index of its own, so that a communicator with the lost process never means
the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from runtime.mpi.errors import ProcessGone
from runtime.mpi.progress.mailboxes import INVITED
from runtime.mpi.progress.operations import Operation

if TYPE_CHECKING:
    from runtime.membership.rank_link import RankLink
    from runtime.mpi.process.place import Place
    from runtime.mpi.progress.driver import Driver


class Invitation:
    """What replacements are told of the communicator they join."""

    def __init__(
        self, context: bytes, members: tuple[int, ...], modes: dict[str, str], name: str
    ) -> None:
        self.context, self.members, self.modes, self.name = context, members, modes, name


class Newcomers:
    """What a process knows of replacements."""

    def __init__(self, place: Place, driver: Driver, link: RankLink) -> None:
        self._place, self._driver, self._link = place, driver, link
        driver.invited = self.invited
        self._invitations: dict[bytes, Invitation | None] = {}  # None: it was accepted
        self._uninvited: set[int] = set()  # other replacements that can invite nobody

    @property
    def is_newcomer(self) -> bool:
        """Whether this process is a replacement."""
        return self._link.is_again

    # --- what the front-end tells -----------------------------------------------------------------

    def handle_view(self, table: bytes) -> None:
        """Record the replacements in a view; the lock of the engine is held."""
        from runtime.machine.table import decoded
        from runtime.membership.everybody import replacing
        from runtime.wire import PeerConnections
        from runtime.wire.dialling.directory import Party
        from runtime.wire.opening import learn_front_ends

        reports, place, driver = decoded(table), self._place, self._driver
        size = place.grid.size
        for one in replacing(reports, place.grid, len(place.everybody) - size):
            place.replace(one.identifier, one.incarnation, one.host)
        connections = driver.connections
        if not isinstance(connections, PeerConnections):
            return
        learn_front_ends(connections, reports)
        for one in replacing(reports, place.grid, connections.size - size):
            site = place.grid.sites[one.identifier.site]
            name = f"{site.name}/{site.clusters[one.identifier.number].name}"
            connections.add(Party.of(one, name, place.names))
        driver.wake()
        connections.wake()

    # --- members that have lost others ------------------------------------------------------------

    def ask_for(self, lost: Iterable[int]) -> NewcomerArrival:
        """Request replacements of lost processes, unless there are some already.

        Returns an operation that is done when each is replaced, or will not be. It awaits those
        that were asked for, whatever was heard meanwhile: for one that came and is lost already,
        nobody would request another one.
        """
        place, gone = self._place, self._driver.losses.gone
        newest = {one: place.newest(one) for one in lost}
        wanted = {one: last for one, last in newest.items() if last in gone}
        names = [f"{place.everybody[one]}#{place.incarnation_of(one)}" for one in wanted.values()]
        if names:
            wrapper = self._link.wrapper
            wrapper.appeals.replace(wrapper.member, names)
        return NewcomerArrival(self, self._driver, wanted)

    def newest(self, index: int) -> int:
        """Return the index of the process that holds another one's place now."""
        return self._place.newest(index)

    def name_of(self, index: int) -> str:
        """Return the name of a process."""
        return self._place.name_of(index)

    def invite(self, newcomers: Iterable[int], invitation: Invitation) -> None:
        """Tell replacements which communicator they join."""
        from runtime.machine.table import encoded

        one = invitation
        said = {"context": one.context, "members": list(one.members), "modes": one.modes,
                "name": one.name}  # fmt: skip
        data = encoded([said])
        with self._driver.lock:
            for index in newcomers:
                if index not in self._driver.losses.gone:
                    self._driver.send_recovery(one.context, index, INVITED, data)

    # --- replacements -----------------------------------------------------------------------------

    def invited(self, sender: int, data: bytes) -> None:
        """Record an invitation; all members send the same. The engine's lock is held.

        One without data is from a replacement that waits for an invitation itself.
        """
        from runtime.machine.table import decoded

        if not data:
            self._uninvited.add(sender)
            self._driver.wake()
            return
        self._uninvited.discard(sender)
        (said,) = decoded(data)
        one = Invitation(said["context"], tuple(said["members"]), said["modes"], said["name"])
        self._invitations.setdefault(one.context, one)
        self._driver.wake()

    def await_invitation(self) -> Welcome:
        """Return an operation that is done when this process is invited.

        Other replacements are told that this one cannot invite them: once nobody else is left, none
        of them waits for another one.
        """
        with self._driver.lock:
            for one in self.others():
                if one >= self._place.grid.size:
                    self._driver.send_recovery(bytes(8), one, INVITED, b"")
        return Welcome(self, self._driver)

    def next_invitation(self) -> Invitation | None:
        """Accept and return the next invitation of those whose members are all known here.

        Who invites may have been told earlier than this process who has come.
        """
        known = len(self._place.everybody)
        for context, one in self._invitations.items():
            if one is not None and max(one.members) < known:
                self._invitations[context] = None
                return one
        return None

    def nobody_left(self) -> bool:
        """Return whether all others have ended, or wait for an invitation too."""
        return self._uninvited.issuperset(self.others())

    def others(self) -> list[int]:
        """Return those that have not ended."""
        place, gone = self._place, self._driver.losses.gone
        found = (one for one in range(len(place.everybody)) if one != place.index)
        return [one for one in found if one not in gone]


class NewcomerArrival(Operation):
    """The arrival of replacements; `lost` are the last known processes in their places."""

    __slots__ = ("_driver", "_lost", "_newcomers")

    def __init__(self, newcomers: Newcomers, driver: Driver, lost: dict[int, int]) -> None:
        super().__init__()
        self._newcomers, self._driver, self._lost = newcomers, driver, lost

    def test(self) -> bool:
        """Test whether all have come."""
        gone = self._driver.losses.gone
        newest = self._newcomers.newest
        if not self.done and all(
            last not in gone or newest(last) != last for last in self._lost.values()
        ):
            self.finish()
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        names = ", ".join(map(self._newcomers.name_of, self._lost))
        return f"the start of ranks in place of {names}"

    def awaited(self) -> Sequence[int]:
        """Return nobody: the replacements are not there yet."""
        return ()


class Welcome(Operation):
    """A wait for an invitation; `invitation` is set when it is done."""

    __slots__ = ("_driver", "_newcomers", "invitation")

    def __init__(self, newcomers: Newcomers, driver: Driver) -> None:
        super().__init__()
        self._newcomers, self._driver = newcomers, driver
        self.invitation: Invitation | None = None

    def test(self) -> bool:
        """Test whether it has come, or nobody is left who could send one."""
        if self.done:
            return True
        self.invitation = self._newcomers.next_invitation()
        if self.invitation is not None:
            self.finish()
        elif self._newcomers.nobody_left():
            self.finish(
                ProcessGone(
                    "nobody is left whom this process could join",
                    cause="all others have ended since it was started again, "
                    "or wait for an invitation too",
                )
            )
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return "an invitation of those who have lost a rank to join them (Dup at all of them)"

    def awaited(self) -> Sequence[int]:
        """Return those that may send it."""
        return self._newcomers.others()
