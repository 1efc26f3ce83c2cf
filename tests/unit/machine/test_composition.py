"""The controllers and interceptors that a descriptor names: who comes before whom, and faults."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from runtime.machine.composition import Composition, CompositionError
from runtime.machine.named_classes import NotFound, fault_of, load

CLASSES = """
class Before:
    def __init__(self, usual):
        self.usual = usual
    def choose(self, operation, size, sites, plans):
        return [type(self).__name__, *self.usual.choose(operation, size, sites, plans)]

class Nearest(Before):
    pass

class Chain:
    def __init__(self, usual): pass
    def choose(self, operation, size, sites, plans): return "chain"

class Odd(Chain):
    def choose(self, operation, size, sites, plans): return "ring"

class Breaks(Chain):
    def choose(self, operation, size, sites, plans): return {}[operation]

class Silent:
    def __init__(self, usual): pass

class Short(Chain):
    def choose(self, operation): return "tree"

class Lonely(Chain):
    def __init__(self): pass

class Count:
    looks_at = "envelopes"
    def sending(self, envelope): pass

class Half:
    looks_at = "payloads"
    def sending(self, envelope, payload): return payload

class Vague:
    def sending(self, envelope): pass

class Idle:
    looks_at = "envelopes"

class Needy(Count):
    def __init__(self, more): pass

thing = 5
"""


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "classes_of_a_test.py").write_text(CLASSES)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "classes_of_a_test", raising=False)


def named(name: str, scope: tuple[int, ...] = (), role: str = "plan-choice") -> Any:
    return role, f"classes_of_a_test.{name}", scope, "", "grid.xml:7"


class Last:
    def choose(self, *_: Any) -> list[str]:
        return ["last"]


@pytest.mark.usefixtures("names")
def test_each_controller_precedes_the_next_and_the_nearest_one_is_first() -> None:
    told = [named("Before"), named("Nearest", (1,)), named("Nearest", (2,))]
    made = Composition(told, "south/a/wrapper0")
    asked = ("Bcast", 8, (), ())
    assert made.controller("plan-choice", Last(), (1,)).choose(*asked) == [
        "Nearest", "Before", "last",
    ]  # fmt: skip
    assert made.controller("plan-choice", Last()).choose(*asked) == ["Before", "last"]
    assert made.controller("tensioning", Last()).choose(*asked) == ["last"]


@pytest.mark.usefixtures("names")
def test_a_controller_that_takes_the_place_of_others_is_asked_alone() -> None:
    made = Composition([named("Chain"), named("Before")], "south/a/wrapper0")
    assert made.chosen_plan((), "Bcast", 8, (), ("tree", "chain")).plan == "chain"


@pytest.mark.usefixtures("names")
def test_an_answer_that_is_no_plan_is_an_error_that_names_it() -> None:
    made = Composition([named("Odd")], "south/a/wrapper0")
    with pytest.raises(CompositionError) as caught:
        made.chosen_plan((), "Bcast", 8, (), ("tree", "chain"))
    assert str(caught.value) == (
        "south/a/wrapper0: plan-choice classes_of_a_test.Odd (grid.xml:7) answers 'ring' for "
        "Bcast, which is not a plan. There are: tree, chain"
    )


@pytest.mark.usefixtures("names")
def test_what_a_controller_raises_is_the_cause_of_an_error_with_the_path_of_its_component() -> None:
    made = Composition([named("Breaks")], "south/a/wrapper0")
    told = r"south/a/wrapper0: .*Breaks.* raised KeyError"
    with pytest.raises(CompositionError, match=told) as it:
        made.chosen_plan((), "Bcast", 8, (), ("tree",))
    assert isinstance(it.value.__cause__, KeyError)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    ("role", "name", "fault"),
    [
        ("plan-choice", "Chain", ""),
        ("plan-choice", "Silent", "a plan-choice has a method 'choose'"),
        ("plan-choice", "Short", "'choose' of a plan-choice is called as choose(operation, size"),
        (
            "plan-choice",
            "Lonely",
            "a plan-choice is constructed with the controller that it precedes",
        ),
        ("plan-choice", "thing", "it is not a class, but 5"),
        ("interceptor", "Count", ""),
        ("interceptor", "Half", "an interceptor has a method 'received'"),
        ("interceptor", "Vague", "looks_at of an interceptor is 'envelopes' or 'payloads'"),
        ("interceptor", "Idle", "an interceptor has a method 'sending', 'received' or both"),
        ("interceptor", "Needy", "an interceptor is constructed without arguments"),
    ],
)
def test_a_class_is_compared_with_the_contract_of_its_role(
    role: str, name: str, fault: str
) -> None:
    found = fault_of(role, load(f"classes_of_a_test.{name}"))
    assert found.startswith(fault)
    assert bool(found) == bool(fault)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Chain", "'Chain' has no module; write module.Class"),
        ("no_such_module.Chain", "there is no module 'no_such_module'"),
        ("classes_of_a_test.Chian", "has no class 'Chian'; did you mean 'Chain'?"),
    ],
)
def test_a_class_that_does_not_exist_is_told_by_what_is_missing(name: str, why: str) -> None:
    with pytest.raises(NotFound, match=why.replace("?", r"\?")):
        load(name)


@pytest.mark.parametrize(
    ("scope", "between", "stands"),
    [
        ((), "clusters", {"near", "far"}),
        ((), "sites", {"far"}),
        ((0,), "clusters", {"near", "far"}),
        ((1,), "clusters", {"far"}),
        ((1, 0), "sites", {"far"}),
        ((1, 1), "clusters", set()),
    ],
)
def test_an_interceptor_stands_where_an_end_of_a_pair_is_in_its_part_of_the_machine(
    scope: tuple[int, ...], between: str, stands: set[str]
) -> None:
    made = Composition([("interceptor", "a.B", scope, between, "grid.xml:7")], "")
    pairs = {"same": ((0, 0), (0, 0)), "near": ((0, 0), (0, 1)), "far": ((0, 0), (1, 0))}
    for one in (False, True):
        ordered = {name: ends[::-1] if one else ends for name, ends in pairs.items()}
        found = {name for name, ends in ordered.items() if made.interceptors(*ends)}
        assert found == stands
