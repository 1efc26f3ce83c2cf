"""The states of a communicator and its modes, row by row."""

from __future__ import annotations

import functools
import itertools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.collectives.recovery_modes import (
    TRANSITIONS,
    CommunicatorEvent,
    CommunicatorLife,
    CommunicatorState,
    IllegalTransition,
    MessageMode,
    Modes,
    RecoveryMode,
    agreed_newcomers,
    flag_of_newcomers,
)

ROWS = """
    FT_OK         LOSS          FT_DETECTED
    FT_OK         RECOVERY      FT_RECOVER
    FT_DETECTED   LOSS          FT_DETECTED
    FT_DETECTED   RECOVERY      FT_RECOVER
    FT_RECOVER    LOSS          FT_RECOVER
    FT_RECOVER    NOTHING_LOST  FT_OK
    FT_RECOVER    RECOVERED     FT_RECOVERED
    FT_RECOVER    NOT_RECOVERED FT_FAILED
    FT_RECOVERED  LOSS          FT_RECOVERED
    FT_RECOVERED  RECOVERY      FT_RECOVER
    FT_FAILED     LOSS          FT_FAILED
    FT_FAILED     RECOVERY      FT_RECOVER
"""
TABLE = {
    (CommunicatorState(state), CommunicatorEvent[event]): CommunicatorState(after)
    for state, event, after in map(str.split, ROWS.strip().splitlines())
}


@pytest.mark.parametrize(
    ("state", "event"), list(itertools.product(CommunicatorState, CommunicatorEvent))
)
def test_each_event_in_each_state_leads_where_the_table_says_or_is_refused(
    state: CommunicatorState, event: CommunicatorEvent
) -> None:
    life = CommunicatorLife()
    life.state = state
    if (state, event) in TABLE:
        life.happens(event)
        assert life.state is TABLE[state, event]
    else:
        with pytest.raises(IllegalTransition, match=f"cannot happen in {state}"):
            life.happens(event)
        assert life.state is state


def test_every_state_can_be_reached_and_left() -> None:
    assert {after for (state, _), after in TRANSITIONS.items() if after is not state} == {
        *CommunicatorState
    }
    assert {state for (state, _), after in TRANSITIONS.items() if after is not state} == {
        *CommunicatorState
    }


@pytest.mark.parametrize("state", CommunicatorState)
@pytest.mark.parametrize("messages", MessageMode)
def test_with_nop_nothing_is_admitted_after_a_loss_and_with_cont_what_does_not_need_the_lost(
    state: CommunicatorState, messages: MessageMode
) -> None:
    life = CommunicatorLife(Modes(RecoveryMode.BLANK, messages))
    life.state = state
    is_admitted = state is CommunicatorState.OK or messages is MessageMode.CONT
    assert life.admits_messages is is_admitted


@pytest.mark.parametrize("recovery", RecoveryMode)
def test_without_a_message_mode_nothing_is_admitted_where_there_is_a_recovery(
    recovery: RecoveryMode,
) -> None:
    usual = MessageMode.CONT if recovery is RecoveryMode.NONE else MessageMode.NOP
    assert Modes(recovery).messages is usual
    assert Modes.of({"gcm_recovery": str(recovery)}).messages is usual


def test_an_info_changes_what_it_says_and_leaves_the_rest() -> None:
    before = Modes.of({"gcm_recovery": "blank", "gcm_recovery_messages": "cont"})
    strict = Modes.of({"gcm_strict": "true", "other": "words"}, before)
    assert str(strict) == "blank, cont, strict"
    assert str(Modes.of({"gcm_recovery": "rebuild"}, strict)) == "rebuild, nop, strict"
    assert Modes.of(strict.as_hints()).as_hints() == strict.as_hints()


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"gcm_recovery": "heal"}, "gcm_recovery is 'heal', and not one of none, shrink"),
        ({"gcm_recovery_messages": "x"}, "gcm_recovery_messages is 'x', and not one of nop, cont"),
        ({"gcm_strict": "maybe"}, "gcm_strict is 'maybe', and not one of true"),
    ],
)
def test_a_mode_that_does_not_exist_is_refused_with_those_that_do(
    info: dict[str, str], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        Modes.of(info)


@given(st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=3), st.booleans()), min_size=1))
def test_members_proceed_only_if_all_mean_the_same_processes_and_all_have_come(
    members: list[tuple[list[int], bool]],
) -> None:
    flags = [flag_of_newcomers(newest, have_come=come) for newest, come in members]
    assert all(0 <= flag < 1 << 63 for flag in flags)  # what an agreement can carry
    have_come, same = agreed_newcomers(functools.reduce(operator.and_, flags))
    assert have_come == all(come for _, come in members)
    assert same == (len({tuple(sorted(newest)) for newest, _ in members}) == 1)
