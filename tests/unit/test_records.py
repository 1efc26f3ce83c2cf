from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A place."""

    x: int
    y: int = 0
    names: tuple[str, ...] = field(default=(), repr=False)
    seen: int = field(default=0, compare=False)


@dataclass(slots=True)
class Basket:
    """A thing that changes."""

    owner: str
    things: list[str] = field(default_factory=list)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = len(self.things)


@dataclass(frozen=True, slots=True)
class Only:
    """One value."""

    value: object


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value."""


@dataclass(slots=True, eq=False)
class Itself:
    """Equal to nothing else."""

    name: str


@dataclass(frozen=True, slots=True)
class Loose:
    """Says itself what is equal."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loose) and other.name.lower() == self.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())

    def __repr__(self) -> str:
        return f"<{self.name}>"


def test_values_come_by_place_by_name_and_by_default() -> None:
    assert [Point(1).y, Point(1, 2).y, Point(y=3, x=1).y, Point(1, 2, ("a",), 4).seen] == [
        0,
        2,
        3,
        4,
    ]


def test_a_factory_makes_a_default_for_each_instance() -> None:
    one, other = Basket("a"), Basket("b")
    one.things.append("apple")
    assert (other.things, other.size, Basket("c", ["x", "y"]).size) == ([], 0, 2)


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((), {}, "Point() needs a value for 'x'"),
        ((), {"y": 1}, "Point() needs a value for 'x'"),
        ((1, 2, (), 4, 5), {}, "Point() takes 4 values, but 5 were given"),
        ((1,), {"x": 2}, "Point() got several values for 'x'"),
        ((1,), {"z": 2}, "Point() got an unexpected value for 'z'"),
    ],
)
def test_wrong_arguments_are_refused(
    given: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        Point(*given, **named)
    assert str(caught.value) == message


def test_equal_values_are_equal_and_have_one_hash() -> None:
    assert Point(1) == Point(1, 0)
    assert Point(1) != Point(2)
    assert Point(1, seen=1) == Point(1, seen=2)
    assert len({Point(1), Point(1), Point(2), Nothing(), Nothing()}) == 3
    other: object = Point(1)
    assert Only(1) != other
    assert hash(Point(1)) == hash((1, 0, ()))


def test_one_value_is_equal_to_itself_even_if_it_says_it_is_not() -> None:
    not_a_number = float("nan")
    assert Only(not_a_number) == Only(not_a_number)


def test_what_changes_has_no_hash() -> None:
    assert Basket("a") == Basket("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Basket("a"))


def test_without_eq_everything_is_only_equal_to_itself() -> None:
    one = Itself("a")
    assert one == one  # noqa: PLR0124 - it is what is tested
    assert one != Itself("a")
    assert len({one, Itself("a")}) == 2


def test_methods_of_the_class_itself_stay() -> None:
    assert Loose("A") == Loose("a")
    assert len({Loose("A"), Loose("a")}) == 1
    assert repr(Loose("A")) == "<A>"


def test_a_value_shows_its_fields() -> None:
    assert repr(Point(1, 2, ("hidden",))) == "Point(x=1, y=2, seen=0)"
    assert repr(Nothing()) == "Nothing()"


def test_what_holds_itself_can_be_shown() -> None:
    basket: Any = Basket("a")
    basket.things.append(basket)
    assert repr(basket) == "Basket(owner='a', things=[...], size=0)"


def test_a_frozen_value_cannot_be_changed() -> None:
    point: Any = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert point.x == 1


def test_slots_leave_no_room_for_anything_else() -> None:
    basket: Any = Basket("a")
    with pytest.raises(AttributeError):
        basket.colour = "red"


def test_the_tools_of_dataclasses_work() -> None:
    point = Point(1, 2)
    assert replace(point, x=5) == Point(5, 2)
    assert asdict(point) == {"x": 1, "y": 2, "names": (), "seen": 0}
    assert [one.name for one in fields(Point)] == ["x", "y", "names", "seen"]
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)


@pytest.mark.parametrize("one", [Point(1, 2, ("a",), 3), Basket("a", ["b"]), Nothing()])
def test_copies_are_equal(one: object) -> None:
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one
    assert copy.copy(one) == one


def test_a_copy_from_a_file_has_all_fields() -> None:
    assert pickle.loads(pickle.dumps(Point(1, seen=7))).seen == 7


def test_a_value_keeps_its_name_and_its_words() -> None:
    assert (Point.__name__, Point.__doc__, Point.__module__) == ("Point", "A place.", __name__)


def test_records_have_slots() -> None:
    unchecked: Any = dataclass
    with pytest.raises(TypeError, match="records have slots"):
        unchecked(slots=False)


@dataclass(frozen=True, slots=True)
class Plain:
    """A value for which nobody needs `dataclasses`."""

    x: int
    y: int = 0


@dataclass(frozen=True, slots=True)
class Deeper(Plain):
    """One more field than another one."""

    z: int = 1


@dataclass(slots=True)
class Counted:
    """What all have in common is no field."""

    name: str
    seen: ClassVar[int] = 7


def test_the_tools_of_dataclasses_work_with_a_plain_one() -> None:
    assert is_dataclass(Plain)
    told = fields(Plain)
    assert [(one.name, one.type, one.init) for one in told] == [
        ("x", "int", True),
        ("y", "int", True),
    ]
    assert [one.default for one in told] == [dataclasses.MISSING, 0]
    assert fields(Plain(1)) == told
    assert (asdict(Plain(1)), replace(Plain(1), y=2)) == ({"x": 1, "y": 0}, Plain(1, 2))
    assert Plain.__match_args__ == ("x", "y")
    replaced: Any = Plain(1)
    assert replaced.__replace__(x=3) == Plain(3)


def test_a_record_can_have_the_fields_of_another_one() -> None:
    assert (Deeper(1, 2), Deeper(1).z) == (Deeper(1, 2, 1), 1)
    assert [one.name for one in fields(Deeper)] == ["x", "y", "z"]
    assert Deeper(1) != Plain(1)


def test_what_belongs_to_the_class_is_no_field() -> None:
    assert (Counted("a").seen, [one.name for one in fields(Counted)]) == (7, ["name"])


def test_defaults_that_all_instances_would_share_are_refused() -> None:
    body = {"__annotations__": {"things": "list"}, "things": []}
    with pytest.raises(ValueError, match="mutable default"):
        dataclass(slots=True)(type("Shared", (), body))


def test_records_do_without_dataclasses() -> None:
    program = f"""
from __future__ import annotations
import sys
sys.path[:0] = {sys.path!r}
from gcm.records import dataclass
@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0
assert Point(1) == Point(1, 0) and hash(Point(1)) == hash((1, 0)) and Point(y=2, x=1).y == 2
assert repr(Point(1)) == "Point(x=1, y=0)"
assert not {{"dataclasses", "inspect"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-S", "-c", program], check=True)
