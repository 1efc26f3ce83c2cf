"""Agreement while members die: at every point of the protocol, one or two of them, in any order."""

from __future__ import annotations

import itertools
import random
from collections import deque

import pytest

from runtime.collectives.agreement import Agreement, AgreementMessage, Agreements, Kind, Value

MEMBERS = (2, 5, 7, 9)


class Network:
    """Members that agree; each channel keeps its order, channels overtake each other by chance.

    `crashes` says after how many messages members die. What they have sent before still arrives,
    then the others learn of it, each in its own time.
    """

    def __init__(self, crashes: dict[int, int], seed: int) -> None:
        self.chance = random.Random(seed)
        self.left = dict(crashes)
        self.dead: set[int] = set()
        self.channels: dict[tuple[int, int], deque[AgreementMessage | None]] = {
            pair: deque() for pair in itertools.permutations(MEMBERS, 2)
        }
        self.members = {one: Agreement(1, one, MEMBERS) for one in MEMBERS}
        self.decided: dict[int, Value] = {}

    def run(self) -> None:
        """Let all begin at some time, and go on until nothing is under way."""
        waiting = list(MEMBERS)
        for one in MEMBERS:
            if self.left.get(one) == 0:
                self.die(one)
        while True:
            ways = [pair for pair, channel in self.channels.items() if channel]
            ways = [pair for pair in ways if pair[1] not in self.dead]
            waiting = [one for one in waiting if one not in self.dead]
            if not ways and not waiting:
                return
            pick = self.chance.randrange(len(ways) + len(waiting))
            if pick < len(waiting):
                one = waiting.pop(pick)
                self.send(one, self.members[one].begin(Value(one, (), MEMBERS[:2])))
            else:
                sender, to = ways[pick - len(waiting)]
                message = self.channels[sender, to].popleft()
                member = self.members[to]
                said = member.lost(sender) if message is None else member.heard(sender, message)
                self.send(to, said)

    def send(self, sender: int, messages: list[tuple[int, AgreementMessage]]) -> None:
        """Send as much as the sender lives to send, and see what it has decided."""
        for to, message in messages:
            if sender in self.dead:
                return
            self.channels[sender, to].append(AgreementMessage.decoded(message.encoded()))
            if sender in self.left:
                self.left[sender] -= 1
                if self.left[sender] == 0:
                    self.note(sender)
                    self.die(sender)
        self.note(sender)

    def note(self, member: int) -> None:
        """Take note of a decision, which its program may know of from now on."""
        decision = self.members[member].decision
        if decision is not None:
            assert self.decided.setdefault(member, decision) == decision

    def die(self, member: int) -> None:
        """Let a member die; the others will learn of it."""
        self.dead.add(member)
        for to in MEMBERS:
            if to != member:
                self.channels[member, to].append(None)


def agreed(crashes: dict[int, int], seed: int) -> Value:
    """Return what all agree on, also those who die later; all who live have to decide."""
    network = Network(crashes, seed)
    network.run()
    living = [one for one in MEMBERS if one not in network.dead]
    assert all(one in network.decided for one in living), "somebody who lives has not decided"
    values = set(network.decided.values())
    assert len(values) == 1, f"different decisions: {network.decided}"
    return values.pop()


def test_without_a_death_all_get_the_flags_of_all_and_nobody_has_failed() -> None:
    flag = 2 & 5 & 7 & 9
    for seed in range(20):
        assert agreed({}, seed) == Value(flag, (), MEMBERS[:2])


@pytest.mark.parametrize("member", MEMBERS)
def test_all_decide_alike_whenever_one_dies(member: int) -> None:
    for point, seed in itertools.product(range(10), range(40)):
        assert agreed({member: point}, seed).failed <= {member}


@pytest.mark.parametrize("pair", list(itertools.combinations(MEMBERS, 2)))
def test_all_decide_alike_whenever_two_die(pair: tuple[int, int]) -> None:
    for first, second, seed in itertools.product(range(8), range(8), range(6)):
        assert agreed({pair[0]: first, pair[1]: second}, seed).failed <= set(pair)


def test_one_that_is_dead_from_the_start_is_in_what_all_decide() -> None:
    for seed in range(20):
        assert agreed({5: 0}, seed).failed == {5}


def test_the_last_survivor_agrees_with_itself() -> None:
    value = agreed({2: 0, 5: 0, 7: 0}, 1)
    assert value == Value(9, (2, 5, 7), MEMBERS[:2])


def test_a_leader_that_dies_between_two_decisions_leaves_one_who_tells_the_others() -> None:
    members = {one: Agreement(1, one, MEMBERS[:3]) for one in MEMBERS[:3]}
    inbox: deque[tuple[int, int, AgreementMessage]] = deque()

    def send(sender: int, said: list[tuple[int, AgreementMessage]]) -> None:
        inbox.extend((sender, to, message) for to, message in said)

    for one, member in members.items():
        send(one, member.begin(Value(1)))
    while inbox:
        sender, to, message = inbox.popleft()
        if message.kind is not Kind.DECISION or to == 7:
            send(to, members[to].heard(sender, message))
    assert members[7].decision is not None
    assert members[5].decision is None
    send(7, members[7].lost(2))
    assert [(one[0], one[1], one[2].kind) for one in inbox] == [(7, 5, Kind.DECISION)]
    members[5].heard(7, inbox.popleft()[2])
    assert members[5].decision == members[7].decision


def test_agreements_of_one_communicator_do_not_mix_and_old_ones_are_forgotten() -> None:
    inbox: deque[tuple[int, int, bytes]] = deque()

    def member(me: int) -> Agreements:
        return Agreements(me, (0, 1), lambda to, data: inbox.append((me, to, data)))

    both = {me: member(me) for me in (0, 1)}
    for flag in range(1, 50):
        begun = [both[me].begin(Value(flag)) for me in (1, 0)]
        while inbox:
            sender, to, data = inbox.popleft()
            both[to].heard(sender, data)
        assert [one.decision for one in begun] == [Value(flag)] * 2
    assert all(len(one._open) <= 2 for one in both.values())


def test_a_message_that_is_none_is_refused() -> None:
    with pytest.raises(Exception, match="unpack|valid"):
        AgreementMessage.decoded(b"nonsense")
    with pytest.raises(ValueError, match="valid Kind"):
        AgreementMessage.decoded(
            AgreementMessage(1, Kind.DECISION).encoded().replace(b"\x03", b"\x09", 1)
        )
