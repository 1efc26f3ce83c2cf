"""ReplicationLimits, decisions and mistakes of the replication core."""

import pytest

from runtime.replicas import (
    UNKNOWN,
    Decided,
    DecisionsSettled,
    Drop,
    Keep,
    Lead,
    Replication,
    ReplicationError,
    ReplicationLimits,
    Tell,
    Transmit,
)

TWO_AND_ONE = ((0, 1), (2,))
STREAM = ("world", 0, 1, 0)


def test_a_message_before_an_earlier_one_of_its_stream_is_an_error() -> None:
    core = Replication(2, TWO_AND_ONE)
    with pytest.raises(ReplicationError, match="message 1 of .* from process 0 before 0"):
        core.is_new(0, STREAM, 1)


def test_a_replica_waits_when_its_copies_would_take_too_much_memory() -> None:
    core = Replication(1, TWO_AND_ONE, ReplicationLimits(kept_bytes=2000))
    assert core.send(STREAM, "a", 1000)[1] == [Keep("a")]
    assert core.send(STREAM, "b", 1000)[1] == []
    assert core.kept_bytes <= 2000
    assert core.hear(0, ("committed", ((STREAM, 2),))) == [Drop("a"), Drop("b")]
    assert core.kept_bytes == 0
    assert core.send(STREAM, "c", 1000)[1] == [Keep("c")]


def test_who_has_messages_that_are_not_sent_may_not_leave() -> None:
    master, replica = (Replication(me, TWO_AND_ONE) for me in (0, 1))
    replica.send(STREAM, "a", 1)
    master.decide("test", master.ask("test")[0], True)
    master.send(STREAM, "a", 1)
    assert [replica.owes, master.owes] == [True, True]
    replica.hear(0, ("committed", ((STREAM, 1),)))
    master.hear(1, ("known", 1, 0))
    assert [replica.owes, master.owes] == [False, False]


def test_a_replica_that_is_behind_skips_what_is_committed() -> None:
    core = Replication(1, TWO_AND_ONE)
    core.hear(0, ("committed", ((STREAM, 1),)))
    assert core.send(STREAM, "a", 1)[1] == [Drop("a")]
    assert core.send(STREAM, "b", 1)[1] == [Keep("b")]
    assert core.lost(0)[-2:] == [Transmit((2,), STREAM, 1, "b"), Lead()]


def test_nothing_leaves_the_master_before_all_replicas_know_what_it_depends_on() -> None:
    core = Replication(0, TWO_AND_ONE)
    number, value = core.ask("test")
    assert value is UNKNOWN
    effects = core.decide("test", number, True)
    assert effects == [Tell(1, ("decision", 0, 0, "test", 0, True)), Decided("test", 0, True)]
    assert core.send(STREAM, "depends", 1)[1] == [Keep("depends")]
    assert core.hear(1, ("known", 1, 0)) == [
        DecisionsSettled(1),
        Transmit((2,), STREAM, 0, "depends"),
    ]


def test_later_decisions_do_not_hold_up_what_does_not_depend_on_them() -> None:
    core = Replication(0, TWO_AND_ONE)
    core.decide("test", core.ask("test")[0], False)
    core.send(STREAM, "depends on the first", 1)
    core.decide("test", core.ask("test")[0], False)
    effects = core.hear(1, ("known", 1, 0))
    assert Transmit((2,), STREAM, 0, "depends on the first") in effects
    assert core.made == 2
    assert core.settled == 1


def test_the_master_waits_for_a_replica_that_is_too_many_decisions_behind() -> None:
    core = Replication(0, TWO_AND_ONE, ReplicationLimits(decisions=2))
    for _ in range(2):
        assert Decided("any", _, 7) in core.decide("any", core.ask("any")[0], 7)
    number, _ = core.ask("any")
    assert core.decide("any", number, 7) == []
    assert Decided("any", 2, 7) in core.hear(1, ("known", 2, 1))


def test_a_decision_is_known_to_a_replica_that_comes_to_it_later_and_one_that_waits() -> None:
    core = Replication(1, TWO_AND_ONE)
    core.hear(0, ("decision", 0, 0, "any", 0, 2))
    assert core.ask("any") == (0, 2)
    assert core.ask("any") == (1, UNKNOWN)
    assert core.hear(0, ("decision", 1, 0, "any", 1, 3)) == [Decided("any", 1, 3)]


def test_a_replica_may_not_decide_nor_a_master_twice() -> None:
    replica, master = (Replication(me, TWO_AND_ONE) for me in (1, 0))
    for core in (replica, master):
        core.ask("any")
    with pytest.raises(ReplicationError, match="decision 0 of any is not for process 1"):
        replica.decide("any", 0, 2)
    master.decide("any", 0, 2)
    with pytest.raises(ReplicationError, match="decision 0 of any is not for process 0"):
        master.decide("any", 0, 2)


def test_acknowledgements_are_collected_and_what_they_commit_is_told_at_once() -> None:
    master, receiver = (Replication(me, TWO_AND_ONE, ReplicationLimits(batch=8)) for me in (0, 2))
    for number in range(7):
        master.send(STREAM, number, 1)
        assert receiver.arrived(0) == []
    assert receiver.arrived(0) == [Tell(0, ("arrived", 8))]
    assert receiver.acknowledge() == []
    for number in range(8, 11):
        master.send(STREAM, number, 1)
    assert master.hear(2, ("arrived", 3)) == [Tell(1, ("committed", ((STREAM, 3),)))]


def test_few_large_messages_are_acknowledged_before_their_copies_fill_the_memory() -> None:
    receiver = Replication(2, TWO_AND_ONE, ReplicationLimits(batch=8, batch_bytes=1000))
    assert receiver.arrived(0, 600) == []
    assert receiver.has_to_acknowledge
    assert receiver.arrived(0, 600) == [Tell(0, ("arrived", 2))]
    assert not receiver.has_to_acknowledge


def test_the_other_replicas_keep_nothing_for_a_rank_that_is_lost() -> None:
    master = Replication(0, TWO_AND_ONE)
    master.lost(2)
    _, effects = master.send(STREAM, "late", 1)
    assert effects == [Drop("late"), Tell(1, ("committed", ((STREAM, 1),)))]


def test_the_lost_rank_is_known_by_having_no_processes() -> None:
    core = Replication(2, TWO_AND_ONE)
    core.lost(0)
    assert core.processes_of(0) == (1,)
    core.lost(1)
    assert core.processes_of(0) == ()
    assert core.send(("world", 1, 0, 0), "late", 1)[1] == [Drop("late")]
