from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.errors import GcmError
from gcm.interfaces.collective.gathered import Arguments, gather_arguments
from gcm.interfaces.collective.gathering import (
    Effect,
    Expire,
    Fire,
    Refuse,
    Rounds,
    RoundSettings,
    WhenLeft,
    scatter_results,
)
from gcm.interfaces.signature import Operation, signature_of


def shown(effects: list[Effect[str]]) -> list[Any]:
    """Write effects as ('fire', {client: arguments}) and ('expire', clients, missing)."""
    return [_shown(effect) for effect in effects]


def _shown(effect: Effect[str]) -> tuple[Any, ...]:
    match effect:
        case Fire():
            return "fire", [(entry.client, entry.arguments) for entry in effect.entries]
        case Expire():
            return "expire", [entry.client for entry in effect.entries], list(effect.missing)
        case Refuse():
            return "refuse", [entry.client for entry in effect.entries], effect.left


def test_a_round_fires_when_every_client_has_called_in_binding_order() -> None:
    rounds = Rounds(["a", "b", "c"])
    assert rounds.arrive("c", 3, 0.0) == []
    assert rounds.arrive("a", 1, 0.0) == []
    assert rounds.pending == 1
    assert shown(rounds.arrive("b", 2, 0.0)) == [("fire", [("a", 1), ("b", 2), ("c", 3)])]
    assert rounds.pending == 0


def test_each_entry_carries_its_callers_ticket() -> None:
    rounds = Rounds(["a", "b"])
    rounds.arrive("b", 2, 0.0, ticket="for b")
    (fire,) = rounds.arrive("a", 1, 0.0, ticket="for a")
    assert [entry.ticket for entry in fire.entries] == ["for a", "for b"]
    assert [entry.rank for entry in fire.entries] == [0, 1]


def test_a_single_client_fires_at_once() -> None:
    rounds = Rounds(["a"])
    assert shown(rounds.arrive("a", 1, 0.0)) == [("fire", [("a", 1)])]
    assert shown(rounds.arrive("a", 2, 0.0)) == [("fire", [("a", 2)])]


def test_a_repeated_call_opens_the_next_round() -> None:
    rounds = Rounds(["a", "b"])
    assert [rounds.arrive("a", number, 0.0) for number in (1, 2, 3)] == [[], [], []]
    assert rounds.pending == 3
    assert shown(rounds.arrive("b", 10, 0.0)) == [("fire", [("a", 1), ("b", 10)])]
    assert shown(rounds.arrive("b", 20, 0.0)) == [("fire", [("a", 2), ("b", 20)])]
    assert rounds.arrive("b", 30, 0.0) != []
    assert rounds.arrive("b", 40, 0.0) == []


def test_an_unbound_caller_is_refused_by_name_and_changes_nothing() -> None:
    rounds = Rounds(["a", "b"])
    with pytest.raises(GcmError) as caught:
        rounds.arrive("x", 1, 0.0)
    assert str(caught.value) == (
        "'x' called a gathercast interface that it is not bound to. Bound are: a, b"
    )
    assert rounds.pending == 0
    with pytest.raises(GcmError, match="Bound are: none"):
        Rounds[str]().arrive("x", 1, 0.0)


def test_without_waiting_for_all_every_call_fires_alone() -> None:
    rounds = Rounds(["a", "b"], RoundSettings(wait_for_all=False, timeout=1.0))
    assert shown(rounds.arrive("b", 1, 0.0)) == [("fire", [("b", 1)])]
    assert shown(rounds.arrive("b", 2, 0.0)) == [("fire", [("b", 2)])]
    assert rounds.pending == 0
    assert rounds.deadline is None
    with pytest.raises(GcmError):
        rounds.arrive("x", 1, 0.0)


# ------------------------------------------------------------------------------------ timeout


def test_the_timeout_counts_from_the_first_call_of_the_round() -> None:
    assert Rounds(["a", "b", "c"], RoundSettings(timeout=2.0)).deadline is None
    rounds = Rounds(["a", "b", "c"], RoundSettings(timeout=2.0))
    rounds.arrive("b", 1, 10.0)
    rounds.arrive("a", 2, 11.0)
    assert rounds.deadline == 12.0
    assert rounds.expire(11.999) == []
    assert shown(rounds.expire(12.0)) == [("expire", ["a", "b"], ["c"])]
    assert rounds.pending == 0
    assert rounds.deadline is None


def test_without_a_timeout_nothing_expires() -> None:
    rounds = Rounds(["a", "b"])
    rounds.arrive("a", 1, 0.0)
    assert rounds.deadline is None
    assert rounds.expire(1e9) == []
    assert rounds.pending == 1


def test_each_round_has_its_own_deadline() -> None:
    rounds = Rounds(["a", "b"], RoundSettings(timeout=2.0))
    rounds.arrive("a", 1, 0.0)
    rounds.arrive("a", 2, 1.5)
    rounds.arrive("a", 3, 1.7)
    assert shown(rounds.expire(2.0)) == [("expire", ["a"], ["b"])]
    assert rounds.deadline == 3.5
    assert shown(rounds.expire(10.0)) == [("expire", ["a"], ["b"]), ("expire", ["a"], ["b"])]


def test_a_call_that_comes_too_late_expires_the_round_and_opens_another() -> None:
    rounds = Rounds(["a", "b"], RoundSettings(timeout=2.0))
    rounds.arrive("a", 1, 0.0)
    assert shown(rounds.arrive("b", 2, 2.0)) == [("expire", ["a"], ["b"])]
    assert rounds.deadline == 4.0
    assert shown(rounds.arrive("a", 3, 3.9)) == [("fire", [("a", 3), ("b", 2)])]


def test_an_expired_round_is_followed_by_the_next_one_of_its_clients() -> None:
    rounds = Rounds(["a", "b"], RoundSettings(timeout=2.0))
    rounds.arrive("a", 1, 0.0)
    rounds.arrive("a", 2, 1.0)
    rounds.expire(2.0)
    assert shown(rounds.arrive("b", 9, 2.5)) == [("fire", [("a", 2), ("b", 9)])]


def test_a_late_call_can_expire_and_fire_at_once() -> None:
    rounds = Rounds(["a"], RoundSettings(timeout=1.0))
    rounds.admit("b")
    rounds.arrive("b", 1, 0.0)
    rounds.arrive("b", 2, 0.5)
    assert shown(rounds.arrive("a", 3, 1.2)) == [
        ("expire", ["b"], ["a"]),
        ("fire", [("a", 3), ("b", 2)]),
    ]


@pytest.mark.parametrize("timeout", [0, -1.0])
def test_a_timeout_is_above_zero(timeout: float) -> None:
    with pytest.raises(ValueError, match=f"has to be above 0 seconds, not {timeout}"):
        RoundSettings(timeout=timeout)


# ----------------------------------------------------------------------------------- bindings


def test_forgetting_the_client_that_was_waited_for_fires_the_rounds() -> None:
    rounds = Rounds(["a", "b", "c"])
    rounds.arrive("a", 1, 0.0)
    rounds.arrive("b", 2, 0.0)
    rounds.arrive("a", 3, 0.0)
    rounds.arrive("b", 4, 0.0)
    rounds.arrive("a", 5, 0.0)
    assert shown(rounds.forget("c")) == [
        ("fire", [("a", 1), ("b", 2)]),
        ("fire", [("a", 3), ("b", 4)]),
    ]
    assert rounds.pending == 1
    assert rounds.clients == ("a", "b")


def test_a_forgotten_clients_call_stays_in_its_round() -> None:
    rounds = Rounds(["a", "b", "c"])
    rounds.arrive("a", 1, 0.0)
    assert rounds.forget("a") == []
    rounds.arrive("c", 3, 0.0)
    assert shown(rounds.arrive("b", 2, 0.0)) == [("fire", [("a", 1), ("b", 2), ("c", 3)])]
    with pytest.raises(GcmError):
        rounds.arrive("a", 4, 0.0)


def test_the_last_client_forgotten_leaves_nothing_pending() -> None:
    rounds = Rounds(["a", "b"])
    rounds.arrive("a", 1, 0.0)
    rounds.arrive("a", 2, 0.0)
    assert rounds.forget("a") == []
    assert shown(rounds.forget("b")) == [("fire", [("a", 1)]), ("fire", [("a", 2)])]
    assert rounds.pending == 0


def test_an_admitted_client_is_last_and_is_waited_for() -> None:
    rounds = Rounds(["b"])
    rounds.admit("a")
    rounds.arrive("a", 1, 0.0)
    rounds.admit("c")
    assert rounds.clients == ("b", "a", "c")
    assert rounds.arrive("b", 2, 0.0) == []
    assert shown(rounds.arrive("c", 3, 0.0)) == [("fire", [("b", 2), ("a", 1), ("c", 3)])]


def test_a_client_bound_again_is_last_and_calls_in_the_next_round() -> None:
    rounds = Rounds(["a", "b"])
    rounds.arrive("a", 1, 0.0)
    rounds.forget("a")
    rounds.admit("a")
    assert rounds.clients == ("b", "a")
    assert rounds.arrive("a", 2, 0.0) == []
    assert rounds.pending == 2
    assert shown(rounds.arrive("b", 3, 0.0)) == [("fire", [("a", 1), ("b", 3)])]
    assert shown(rounds.arrive("b", 4, 0.0)) == [("fire", [("b", 4), ("a", 2)])]


def test_bindings_are_made_and_unmade_once() -> None:
    rounds = Rounds(["a"])
    with pytest.raises(ValueError, match=r"^a is bound already$"):
        rounds.admit("a")
    with pytest.raises(ValueError, match=r"^b is not bound$"):
        rounds.forget("b")


def test_missing_clients_are_named_in_binding_order() -> None:
    rounds = Rounds(["c", "b", "a"], RoundSettings(timeout=1.0))
    rounds.arrive("b", 1, 0.0)
    (expire,) = rounds.expire(1.0)
    assert isinstance(expire, Expire)
    assert expire.missing == ("c", "a")


# ----------------------------------------------------------------------- when a client leaves


def test_rounds_without_the_call_of_one_that_leaves_are_refused_where_they_are_to_be() -> None:
    rounds = Rounds(["a", "b", "c"], RoundSettings(when_left=WhenLeft.REFUSE))
    rounds.arrive("a", 1, 0.0)
    rounds.arrive("c", 1, 0.0)
    rounds.arrive("a", 2, 0.0)
    rounds.arrive("b", 2, 0.0)
    assert shown(rounds.forget("c")) == [("refuse", ["a"], "c")]
    assert rounds.pending == 0
    rounds.arrive("a", 3, 0.0)
    assert shown(rounds.arrive("b", 3, 0.0)) == [("fire", [("a", 3), ("b", 3)])]


def test_a_round_in_which_the_one_that_leaves_has_called_goes_on() -> None:
    rounds = Rounds(["a", "b", "c"], RoundSettings(when_left=WhenLeft.REFUSE))
    rounds.arrive("c", 1, 0.0)
    rounds.arrive("a", 1, 0.0)
    assert rounds.forget("c") == []
    assert shown(rounds.arrive("b", 1, 0.0)) == [("fire", [("a", 1), ("b", 1), ("c", 1)])]


def test_a_kept_place_is_taken_by_the_client_that_is_bound_next() -> None:
    rounds = Rounds(["a", "b", "c"], RoundSettings(when_left=WhenLeft.REPLACE))
    rounds.arrive("a", 1, 0.0)
    rounds.arrive("c", 1, 0.0)
    assert rounds.forget("b") == []
    assert rounds.missing == ("b",)
    rounds.admit("new")
    assert rounds.clients == ("a", "new", "c")
    assert shown(rounds.arrive("new", 9, 0.0)) == [("fire", [("a", 1), ("new", 9), ("c", 1)])]


def test_a_replacement_is_not_asked_for_what_was_called_from_its_place() -> None:
    rounds = Rounds(["a", "b"], RoundSettings(when_left=WhenLeft.REPLACE))
    rounds.arrive("a", 1, 0.0)
    rounds.forget("a")
    rounds.admit("new")
    assert shown(rounds.arrive("b", 1, 0.0)) == [("fire", [("a", 1), ("b", 1)])]
    rounds.arrive("new", 2, 0.0)
    assert shown(rounds.arrive("b", 2, 0.0)) == [("fire", [("new", 2), ("b", 2)])]


def test_first_places_are_taken_first_and_then_new_ones_are_made() -> None:
    rounds = Rounds(["a", "b", "c"], RoundSettings(when_left=WhenLeft.REPLACE))
    for client in ("c", "a"):
        rounds.forget(client)
    for client in ("x", "y", "z"):
        rounds.admit(client)
    assert rounds.clients == ("x", "b", "y", "z")


def test_empty_rounds_keep_places_and_settings() -> None:
    rounds = Rounds(["a", "b"], RoundSettings(timeout=1.0, when_left=WhenLeft.REPLACE))
    rounds.arrive("b", 1, 0.0)
    rounds.forget("a")
    others = rounds.empty()
    assert (others.pending, others.clients) == (0, ("b",))
    others.arrive("b", 2, 5.0)
    assert (others.missing, others.deadline) == (("a",), 6.0)
    rounds.admit("c")
    assert others.clients == ("b",)


def test_who_has_called_and_who_has_not_is_known() -> None:
    rounds = Rounds(["a", "b", "c"])
    assert (rounds.called, rounds.missing) == ((), ())
    rounds.arrive("c", 1, 0.0)
    rounds.arrive("c", 2, 0.0)
    rounds.arrive("a", 1, 0.0)
    assert (rounds.called, rounds.missing) == (("a", "c"), ("b",))


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["call"] * 8 + ["bind", "expire"])),
        max_size=60,
    ),
    st.booleans(),
    st.sampled_from(WhenLeft),
)
def test_every_accepted_call_is_answered_exactly_once_and_in_its_clients_order(
    events: list[tuple[str, str]], limited: bool, when_left: WhenLeft
) -> None:
    rounds = Rounds("ab", RoundSettings(timeout=10.0 if limited else None, when_left=when_left))
    accepted: list[tuple[str, int]] = []
    answered: list[tuple[str, int]] = []
    effects: list[Effect[str]] = []
    for now, (client, event) in enumerate(events):
        bound = client in rounds.clients
        if event == "bind" and bound:
            effects += rounds.forget(client)
        elif event == "bind":
            rounds.admit(client)
        elif event == "expire":
            effects += rounds.expire(now)
        elif bound:
            accepted.append((client, now))
            effects += rounds.arrive(client, now, now, ticket=(client, now))
    for client in rounds.clients:
        effects += rounds.forget(client)
    waiting = rounds.pending  # kept places are still waited for, and may be for ever
    assert not waiting or when_left is WhenLeft.REPLACE
    for effect in effects:
        ranks = [entry.rank for entry in effect.entries]
        assert ranks == sorted(set(ranks))
        answered += [entry.ticket for entry in effect.entries]
    assert not Counter(answered) - Counter(accepted)
    assert waiting or len(answered) == len(accepted)
    refused = {
        entry.ticket for one in effects if isinstance(one, Refuse) for entry in one.entries
    }  # which may come before the answers to earlier calls
    for client in "abcd":
        own = [one for one in answered if one[0] == client and one not in refused]
        all_own = [one for one in accepted if one[0] == client and one not in refused]
        assert own == all_own[: len(own)]


# ------------------------------------------------------------------------ results by index


@pytest.mark.parametrize("result", [[1, 2], (1, 2), range(1, 3), np.array([1, 2])])
def test_results_go_back_by_index(result: Any) -> None:
    assert list(scatter_results("op", result, 2)) == [1, 2]


def test_nothing_returned_is_nothing_for_everybody() -> None:
    assert scatter_results("op", None, 3) == [None, None, None]


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_results_as_callers_are_needed(count: int) -> None:
    with pytest.raises(GcmError) as caught:
        scatter_results("op", [1, 2], count)
    assert "'op'" in str(caught.value)
    assert f": {count} called, and it returned 2. " in str(caught.value)


@pytest.mark.parametrize("result", [7, "ab", b"ab", {0: 1, 1: 2}, {1, 2}, np.array(1)])
def test_what_is_no_list_of_results_is_refused(result: Any) -> None:
    with pytest.raises(GcmError) as caught:
        scatter_results("op", result, 2)
    kind = type(result).__name__
    assert f"one result per caller, not a {kind}. Return the results" in str(caught.value)


# --------------------------------------------------------------------------- argument lists


class Sink:
    def put(self, a: int, b: int = 5, *, c: str = "c") -> None: ...

    def only(self, a: int = 1, /, b: int = 2) -> None: ...

    def any(self, *rest: int, **others: int) -> None: ...


def operation(name: str) -> Operation:
    return signature_of(Sink).operations[name]


def test_each_parameter_becomes_the_list_of_what_was_given() -> None:
    calls: list[Arguments] = [((1, 2), {"c": "x"}), ((), {"b": 4, "a": 3, "c": "y"})]
    assert gather_arguments(operation("put"), calls) == (([1, 3], [2, 4]), {"c": ["x", "y"]})


def test_a_parameter_that_nobody_gives_stays_out() -> None:
    assert gather_arguments(operation("put"), [((1,), {}), ((2,), {})]) == (([1, 2],), {})
    assert gather_arguments(operation("only"), [((), {"b": 3}), ((), {})]) == ((), {"b": [3, 2]})
    assert gather_arguments(operation("only"), [((), {}), ((), {})]) == ((), {})


def test_a_parameter_that_some_give_has_its_default_for_the_others() -> None:
    calls: list[Arguments] = [((1, 9), {}), ((2,), {"c": "x"})]
    assert gather_arguments(operation("put"), calls) == (([1, 2], [9, 5]), {"c": ["c", "x"]})


def test_variadic_arguments_are_gathered_one_by_one() -> None:
    calls: list[Arguments] = [((1, 2), {"x": 5, "y": 6}), ((3, 4), {"y": 8, "x": 7})]
    gathered = gather_arguments(operation("any"), calls)
    assert gathered == (([1, 3], [2, 4]), {"x": [5, 7], "y": [6, 8]})


def test_callers_must_agree_on_their_variadic_arguments() -> None:
    with pytest.raises(GcmError) as caught:
        gather_arguments(operation("any"), [((1, 2), {}), ((3,), {}), ((), {})])
    assert str(caught.value) == (
        "the callers of 'any' gave different numbers of arguments for '*rest': [2, 1, 0]"
    )
    with pytest.raises(GcmError) as caught:
        gather_arguments(operation("any"), [((), {"x": 1}), ((), {"y": 1})])
    assert str(caught.value) == (
        "the callers of 'any' gave different keywords for '**others': [['x'], ['y']]"
    )


def test_arguments_that_do_not_fit_the_operation_are_a_type_error() -> None:
    with pytest.raises(TypeError):
        gather_arguments(operation("put"), [((), {})])
