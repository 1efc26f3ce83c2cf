from __future__ import annotations

import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

import pytest

from gcm.errors import IllegalTypeError
from gcm.interfaces.policies.reduction import first, reduce_with, total
from gcm.interfaces.policies.spreading import (
    broadcast,
    distribute,
    one_to_one,
    random,
    round_robin,
    unicast,
)
from gcm.interfaces.signature import Parameter, SignatureError, signature_of

if TYPE_CHECKING:
    from decimal import Decimal

KIND = inspect.Parameter


class Named(Protocol):
    def name(self) -> str: ...

    def overridden(self, a: int) -> int: ...


class Shape(Named, Protocol):
    limit: int
    unit: str = "m"

    def overridden(self, a: int, b: str = "x") -> int: ...

    def scale(self, factor: float, /, *others: int, exact: bool = True, **rest: str) -> None: ...

    def bare(self, thing): ...  # type: ignore[no-untyped-def]  # a missing annotation is the point

    def _private(self) -> None: ...

    class Inner:
        pass


class Abstract(ABC):
    @abstractmethod
    def go(self, far: bool) -> Abstract: ...


class Unresolvable(Protocol):
    def pay(self, amount: Decimal) -> list[Decimal]: ...

    def broken(self, x: int.nothing) -> None: ...  # type: ignore[name-defined]  # on purpose


class Unreachable(Protocol):
    @property
    def size(self) -> int: ...

    @classmethod
    def make(cls) -> int: ...

    @staticmethod
    def help() -> str: ...

    def selfless() -> None: ...  # type: ignore[misc]  # on purpose

    def nameless(*, a: int) -> None: ...  # type: ignore[misc]  # on purpose


@distribute(round_robin)
@reduce_with(first)
class Levels(Protocol):
    def interface_level(self, a: list[int], b: list[int]) -> int: ...

    @distribute(one_to_one, b=broadcast)
    @reduce_with(total)
    def operation_level(self, a: list[int], b: int) -> int: ...

    @distribute(b=unicast)
    def by_name(self, a: list[int], b: int) -> int: ...

    @distribute(one_to_one, a=one_to_one)
    @reduce_with(first)
    def parameter_level(self, a: Annotated[int, "a note", random]) -> Annotated[int, total]: ...


class Inheriting(Levels, Protocol):
    pass


class Wrong(Protocol):
    @distribute(c=one_to_one)
    def unknown(self, a: int) -> None: ...

    def twice(self, a: Annotated[int, random, unicast]) -> Annotated[int, first, total]: ...

    def swapped(self, a: Annotated[int, total]) -> Annotated[int, random]: ...


def test_operations_are_the_public_methods_of_a_protocol_and_of_its_bases() -> None:
    assert list(signature_of(Shape).operations) == ["name", "overridden", "scale", "bare"]
    assert signature_of(Shape).interface is Shape


def test_a_redefined_operation_replaces_the_inherited_one() -> None:
    assert [one.name for one in signature_of(Shape).operations["overridden"].parameters] == [
        "a",
        "b",
    ]
    assert [one.name for one in signature_of(Named).operations["overridden"].parameters] == ["a"]


def test_parameters_keep_kind_type_and_whether_they_have_a_default() -> None:
    scale = signature_of(Shape).operations["scale"]
    assert scale.parameters == (
        Parameter("factor", KIND.POSITIONAL_ONLY, float, False, broadcast),
        Parameter("others", KIND.VAR_POSITIONAL, int, False, broadcast),
        Parameter("exact", KIND.KEYWORD_ONLY, bool, True, broadcast),
        Parameter("rest", KIND.VAR_KEYWORD, str, False, broadcast),
    )
    assert scale.returns_nothing


def test_the_python_signature_has_no_self_but_defaults_and_types() -> None:
    operations = signature_of(Shape).operations
    assert str(operations["overridden"]) == "overridden(a: int, b: str = 'x') -> int"
    assert str(operations["bare"]) == "bare(thing)"
    assert operations["overridden"].python.parameters["b"].default == "x"
    assert str(signature_of(Levels).operations["parameter_level"].python) == "(a: int) -> int"


def test_what_is_not_annotated_is_any() -> None:
    bare = signature_of(Shape).operations["bare"]
    assert bare.parameters[0].annotation is Any
    assert bare.result is Any
    assert not bare.returns_nothing


def test_abstract_classes_are_signatures_too_and_may_name_themselves() -> None:
    go = signature_of(Abstract).operations["go"]
    assert go.parameters == (Parameter("far", KIND.POSITIONAL_OR_KEYWORD, bool),)
    assert go.result is Abstract


def test_a_signature_is_read_once() -> None:
    assert signature_of(Shape) is signature_of(Shape)


def test_the_operations_of_a_signature_cannot_be_changed() -> None:
    operations: Any = signature_of(Shape).operations
    with pytest.raises(TypeError):
        operations["new"] = None


def test_names_that_cannot_be_resolved_are_all_listed_with_their_place() -> None:
    with pytest.raises(SignatureError) as caught:
        signature_of(Unresolvable)
    why = "which its module does not define at run time (is it imported only for the type checker?)"
    assert caught.value.faults == (
        f"'pay': the annotation 'Decimal' of parameter 'amount' uses 'Decimal', {why}",
        f"'pay': the annotation 'list[Decimal]' of the result uses 'Decimal', {why}",
        "'broken': the annotation 'int.nothing' of parameter 'x' cannot be read: "
        "type object 'int' has no attribute 'nothing'",
    )
    assert str(caught.value) == (
        "Unresolvable cannot be the signature of an interface: " + "; ".join(caught.value.faults)
    )
    assert isinstance(caught.value, IllegalTypeError)


def test_members_that_no_call_can_reach_are_refused_with_the_reason() -> None:
    with pytest.raises(SignatureError) as caught:
        signature_of(Unreachable)
    assert caught.value.faults == (
        "'size' is a property: an interface carries calls, not attributes; make it an operation",
        "'make' is a classmethod: calls go to a component, not to a class",
        "'help' is a staticmethod: calls go to a component; give it 'self'",
        "'selfless' takes no 'self'",
        "'nameless' takes no 'self'",
    )


def test_a_signature_error_survives_pickling_with_its_faults() -> None:
    with pytest.raises(SignatureError) as caught:
        signature_of(Unreachable)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.faults == caught.value.faults
    assert str(again) == str(caught.value)


@pytest.mark.parametrize("thing", ["Greeter", 3, list[int], None])
def test_only_a_class_is_a_signature(thing: Any) -> None:
    with pytest.raises(SignatureError, match="is not a class") as caught:
        signature_of(thing)
    assert caught.value.faults == ()
    assert caught.value.cure == "Use a typing.Protocol or an abstract class"


def test_in_a_protocol_made_inside_a_function_only_local_names_stay_text() -> None:
    class Item:
        pass

    class Local(Protocol):
        def put(self, item: Item, count: int) -> list[Item]: ...

        def next(self) -> Local: ...

    put = signature_of(Local).operations["put"]
    assert [one.annotation for one in put.parameters] == ["Item", int]
    assert put.result == "list[Item]"
    assert signature_of(Local).operations["next"].result is Local


def test_a_distribution_is_not_lost_with_an_annotation_that_stays_text() -> None:
    class Item:
        pass

    class Local(Protocol):
        def put(self, items: Annotated[list[Item], one_to_one]) -> Item: ...

    with pytest.raises(SignatureError) as caught:
        signature_of(Local)
    (fault,) = caught.value.faults
    assert fault.startswith(
        "'put': the annotation 'Annotated[list[Item], one_to_one]' of parameter 'items' uses 'Item'"
    )


def test_self_may_hide_in_variadic_arguments() -> None:
    class Loose(Protocol):
        def any(*args: int) -> None: ...

    (args,) = signature_of(Loose).operations["any"].parameters
    assert args.kind is KIND.VAR_POSITIONAL


def test_the_result_of_an_async_operation_is_its_coroutine() -> None:
    class Slow(Protocol):
        async def load(self) -> int: ...

        async def wait(self) -> None: ...

    load, wait = signature_of(Slow).operations.values()
    assert load.result == Coroutine[Any, Any, int]
    assert not wait.returns_nothing


def test_the_parameter_beats_the_operation_which_beats_the_interface() -> None:
    found = {
        name: [parameter.distribution for parameter in operation.parameters]
        for name, operation in signature_of(Levels).operations.items()
    }
    assert found == {
        "interface_level": [round_robin, round_robin],
        "operation_level": [one_to_one, broadcast],
        "by_name": [round_robin, unicast],
        "parameter_level": [random],
    }
    assert [one.distribution for one in signature_of(Levels).operations.values()] == [
        round_robin,
        one_to_one,
        round_robin,
        one_to_one,
    ]
    assert [one.reduction for one in signature_of(Levels).operations.values()] == [
        first,
        total,
        first,
        total,
    ]


def test_marks_of_an_interface_hold_for_the_interfaces_derived_from_it() -> None:
    operation = signature_of(Inheriting).operations["interface_level"]
    assert operation.distribution is round_robin
    assert operation.reduction is first


def test_nothing_said_means_broadcast_and_a_list() -> None:
    overridden = signature_of(Named).operations["overridden"]
    assert overridden.distribution is broadcast
    assert overridden.reduction is None


def test_marks_that_contradict_each_other_or_name_nothing_are_refused() -> None:
    with pytest.raises(SignatureError) as caught:
        signature_of(Wrong)
    assert caught.value.faults == (
        "'unknown' has no parameter 'c', which @distribute names",
        "parameter 'a' of 'twice' has more than one distribution: random, unicast",
        "the result of 'twice' has more than one reduction: first, total",
        "parameter 'a' of 'swapped' is annotated with the reduction 'total', which is for results",
        "the result of 'swapped' is annotated with the distribution 'random', "
        "which is for parameters",
    )


def test_marking_a_protocol_adds_no_member_that_an_implementation_would_need() -> None:
    @distribute(one_to_one)
    @reduce_with(total)
    @runtime_checkable
    class Marked(Protocol):
        def op(self) -> int: ...

    class Plain:
        def op(self) -> int:
            return 1

    assert isinstance(Plain(), Marked)


@pytest.mark.parametrize(
    ("decorator", "name"), [(distribute(random), "distribute"), (reduce_with(first), "reduce_with")]
)
def test_marks_go_on_functions_and_classes_only(decorator: Any, name: str) -> None:
    with pytest.raises(IllegalTypeError, match=f"^@{name} marks an operation") as caught:
        decorator(property(lambda _: 1))
    assert caught.value.cure == "Put it directly above 'def' or 'class'"


def test_an_interface_takes_no_distribution_by_name() -> None:
    with pytest.raises(IllegalTypeError, match=r"names parameters \(a, b\)") as caught:

        @distribute(a=one_to_one, b=random)
        class Bad(Protocol):
            def op(self, a: int) -> int: ...

    assert (
        caught.value.cure
        == "Give an interface one mode, and put modes by name above its operations"
    )


def test_distributions_are_named_as_one_writes_them() -> None:
    modes = (broadcast, one_to_one, round_robin, random, unicast)
    assert [str(mode) for mode in modes] == [
        "broadcast",
        "one_to_one",
        "round_robin",
        "random",
        "unicast",
    ]
