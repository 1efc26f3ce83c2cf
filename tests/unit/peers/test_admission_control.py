"""Who gets places at a peer, for how long, and which keys are refused."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from runtime.peers.booking import AdmissionControl, AdmissionRules, PlacesRequest, admission_control
from runtime.peers.errors import Refused
from runtime.peers.model import Key, PlacesAnswer, Principal, Reason, Share

ALICE, BOB = Principal.parse("user:alice"), Principal.parse("user:bob")
KEYS = [Key(f"{number:032x}") for number in range(9)]


def gate(j: int = 1, p: int = 4, **rules: object) -> AdmissionControl:
    return AdmissionControl(replace(AdmissionRules(Share(j, p)), **rules))  # type: ignore[arg-type]


def ask(
    keeper: AdmissionControl,
    key: Key = KEYS[0],
    *,
    who: Principal = ALICE,
    application: str = "run",
    processes: int = 8,
    lease: float = 30.0,
    now: float = 0.0,
    address: str = "10.0.0.1",
) -> PlacesAnswer:
    request = PlacesRequest(key, application, processes, lease)
    return keeper.reserve(who, address, request, now)


def test_a_peer_grants_what_is_asked_for_up_to_its_processes() -> None:
    assert ask(gate(p=4), processes=8) == PlacesAnswer(4, 30.0)
    assert ask(gate(p=4), processes=3) == PlacesAnswer(3, 30.0)


def test_a_lease_is_no_longer_than_the_peer_allows() -> None:
    assert ask(gate(lease=20.0), lease=3600.0).lease == 20.0


def test_no_more_applications_than_allowed_have_places_at_once() -> None:
    keeper = gate(j=2)
    for number in range(2):
        assert ask(keeper, KEYS[number], application=f"run{number}").is_granted
    refused = ask(keeper, KEYS[2], application="run2")
    assert (refused.reason, refused.detail) == (Reason.BUSY, "2 of 2 applications run")
    keeper.release(ALICE, KEYS[0])
    assert ask(keeper, KEYS[2], application="run2").is_granted


def test_no_number_of_applications_means_any_number_within_memory() -> None:
    keeper = gate(j=0)
    for number in range(admission_control.MOST_HELD):
        assert ask(keeper, Key(f"{number:032x}"), application=f"run{number}").is_granted
    assert ask(keeper, Key("f" * 32), application="more").reason is Reason.BUSY


def test_an_application_has_one_reservation_at_a_peer() -> None:
    keeper = gate(j=0)
    ask(keeper, KEYS[0])
    assert ask(keeper, KEYS[1]).detail == "the application has its places here already"


@pytest.mark.parametrize(
    ("who", "address", "reason"),
    [
        ("user:alice", "10.0.0.1", None),
        ("user:alice", "10.9.0.1", Reason.DENIED),
        ("user:alice", "::ffff:10.9.0.1", Reason.DENIED),
        ("user:alice", "2001:db8::1", None),
        ("user:alice", "not an address", Reason.DENIED),
        ("user:mallory", "10.0.0.1", Reason.NOT_TRUSTED),
        ("peer:alice", "10.0.0.1", Reason.NOT_TRUSTED),
    ],
)
def test_only_trusted_users_from_addresses_that_are_not_denied_get_places(
    who: str, address: str, reason: Reason | None
) -> None:
    keeper = gate(deny=(ip_network("10.9.0.0/16"),), users=frozenset({"alice"}))
    assert ask(keeper, who=Principal.parse(who), address=address).reason is reason


def test_the_owner_may_lend_less_from_now_on_and_what_is_reserved_stays() -> None:
    keeper = gate(j=2)
    ask(keeper)
    keeper.rules = replace(keeper.rules, share=Share(2, 0))
    assert ask(keeper, KEYS[1], application="other").detail == "its owner lends no processes now"
    assert keeper.confirm(ALICE, KEYS[0], "run", 1.0).processes == 4


def test_a_run_holds_only_the_places_that_it_uses() -> None:
    keeper = gate(p=4)
    ask(keeper)
    assert keeper.confirm(ALICE, KEYS[0], "run", 1.0, used=1).processes == 1
    assert [one.processes for one in keeper.holds] == [1]


@pytest.mark.parametrize(
    ("processes", "lease", "application"),
    [(0, 30.0, "run"), (1, 0.0, "run"), (1, float("nan"), "run"), (1, 30.0, "")],
)
def test_a_request_for_nothing_is_refused(processes: int, lease: float, application: str) -> None:
    answer = ask(gate(), processes=processes, lease=lease, application=application)
    assert answer.reason is Reason.BAD_REQUEST


def test_a_lease_that_outlives_its_client_ends() -> None:
    keeper = gate()
    ask(keeper, lease=30.0, now=100.0)
    assert keeper.next_time == 130.0
    assert keeper.advance(129.9) == []
    assert [one.key for one in keeper.advance(130.0)] == [KEYS[0]]
    assert keeper.next_time == float("inf")
    assert ask(keeper, KEYS[1], now=131.0).is_granted


def test_a_renewed_lease_goes_on_and_never_becomes_shorter() -> None:
    keeper = gate()
    ask(keeper, lease=30.0, now=0.0)
    assert keeper.renew(ALICE, KEYS[0], 30.0, 20.0)
    assert keeper.next_time == 50.0
    assert keeper.renew(ALICE, KEYS[0], 1.0, 21.0)
    assert keeper.next_time == 50.0


def test_a_confirmed_reservation_has_no_lease() -> None:
    keeper = gate()
    ask(keeper)
    keeper.confirm(ALICE, KEYS[0], "run", 29.0)
    assert keeper.advance(1e9) == []
    assert not ask(keeper, KEYS[1], application="other").is_granted
    keeper.ended(KEYS[0])
    assert ask(keeper, KEYS[1], application="other").is_granted


def spent_keys() -> dict[str, AdmissionControl]:
    """Return peers at which the first key has had its time, by how that ended."""
    released, expired, confirmed, ended, early = (gate(j=9) for _ in range(5))
    for keeper in (released, expired, confirmed, ended):
        ask(keeper)
    released.release(ALICE, KEYS[0])
    expired.advance(30.0)
    confirmed.confirm(ALICE, KEYS[0], "run", 1.0)
    ended.confirm(ALICE, KEYS[0], "run", 1.0)
    ended.ended(KEYS[0])
    early.release(ALICE, KEYS[0])
    return {
        "released": released,
        "expired": expired,
        "confirmed": confirmed,
        "ended": ended,
        "released before it was reserved": early,
    }


@pytest.mark.parametrize("how", list(spent_keys()))
def test_a_key_is_used_once(how: str) -> None:
    keeper = spent_keys()[how]
    with pytest.raises(Refused) as caught:
        keeper.confirm(ALICE, KEYS[0], "run", 40.0)
    assert caught.value.reason is Reason.WRONG_KEY
    assert ask(keeper, application="again").reason is Reason.WRONG_KEY


def test_a_stolen_key_is_worth_nothing_and_its_owner_keeps_it() -> None:
    keeper = gate()
    ask(keeper, who=ALICE)
    with pytest.raises(Refused) as caught:
        keeper.confirm(BOB, KEYS[0], "run", 1.0)
    assert caught.value.reason is Reason.WRONG_KEY
    assert not keeper.renew(BOB, KEYS[0], 60.0, 1.0)
    assert not keeper.release(BOB, KEYS[0])
    assert keeper.confirm(ALICE, KEYS[0], "run", 1.0).application == "run"


def test_a_key_is_bound_to_its_application() -> None:
    keeper = gate()
    ask(keeper)
    with pytest.raises(Refused, match="another application"):
        keeper.confirm(ALICE, KEYS[0], "other", 1.0)


def test_a_key_that_nobody_reserved_with_is_unknown() -> None:
    with pytest.raises(Refused) as caught:
        gate().confirm(ALICE, KEYS[0], "run", 0.0)
    assert caught.value.reason is Reason.UNKNOWN_KEY


def test_a_lease_that_is_over_confirms_nothing_although_nobody_has_looked_yet() -> None:
    keeper = gate()
    ask(keeper, lease=5.0)
    with pytest.raises(Refused):
        keeper.confirm(ALICE, KEYS[0], "run", 5.0)
    assert ask(keeper, KEYS[1], now=5.0).is_granted


class AnyOrder(RuleBasedStateMachine):
    """Whatever two users do in whatever order: no place is given twice, no key taken twice."""

    def __init__(self) -> None:
        super().__init__()
        self.keeper = gate(j=2, p=3, lease=20.0)
        self.now = 0.0
        self.serial = count()
        self.keys: list[tuple[Principal, Key, str]] = []
        self.confirmed: set[Key] = set()

    @rule(who=st.sampled_from([ALICE, BOB]), processes=st.integers(1, 5))
    def reserve(self, who: Principal, processes: int) -> None:
        number = next(self.serial)
        key, application = Key(f"{number:032x}"), f"run{number}"
        before = len(self.keeper.holds)
        granted = ask(
            self.keeper, key, who=who, application=application, processes=processes, now=self.now
        )
        assert granted.is_granted == (before < 2)
        assert granted.processes <= min(3, processes)
        self.keys.append((who, key, application))

    @precondition(lambda self: self.keys)
    @rule(data=st.data(), thief=st.booleans())
    def confirm(self, data: st.DataObject, thief: bool) -> None:
        who, key, application = data.draw(st.sampled_from(self.keys))
        try:
            self.keeper.confirm(BOB if thief else who, key, application, self.now)
        except Refused:
            return
        assert not thief or who == BOB
        assert key not in self.confirmed
        self.confirmed.add(key)

    @precondition(lambda self: self.keys)
    @rule(data=st.data(), does=st.sampled_from(["release", "ended", "renew"]))
    def end(self, data: st.DataObject, does: str) -> None:
        who, key, _ = data.draw(st.sampled_from(self.keys))
        if does == "release":
            assert not (self.keeper.release(who, key) and key in self.confirmed)
        elif does == "renew":
            self.keeper.renew(who, key, 15.0, self.now)
        else:
            self.keeper.ended(key)

    @rule(seconds=st.floats(0.1, 40.0))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.keeper.advance(self.now)
        assert self.keeper.next_time > self.now

    @invariant()
    def no_more_is_given_than_there_is(self) -> None:
        assert len(self.keeper.holds) <= 2
        assert all(one.processes <= 3 for one in self.keeper.holds)


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_no_order_of_events_gives_a_place_or_takes_a_key_twice = AnyOrder.TestCase
