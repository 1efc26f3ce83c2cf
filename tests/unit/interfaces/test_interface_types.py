from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, Protocol

import pytest

from gcm import LifeCycleController, redistribute, total
from gcm.errors import IllegalTypeError
from gcm.interfaces.types import (
    Cardinality,
    ComponentType,
    Contingency,
    InterfaceType,
    Role,
    is_interface_name,
)


class Greeter(Protocol):
    def greet(self, name: str) -> list[str]: ...


def named(name: str, cardinality: Cardinality = Cardinality.SINGLETON) -> InterfaceType:
    return InterfaceType(name, Greeter, Role.CLIENT, cardinality=cardinality)


@pytest.mark.parametrize(
    ("role", "client", "server", "internal"),
    [
        (Role.CLIENT, True, False, False),
        (Role.SERVER, False, True, False),
        (Role.INTERNAL_CLIENT, True, False, True),
        (Role.INTERNAL_SERVER, False, True, True),
    ],
)
def test_a_role_says_who_calls_and_on_which_face(
    role: Role, client: bool, server: bool, internal: bool
) -> None:
    assert (role.is_client, role.is_server, role.is_internal) == (client, server, internal)
    interface = InterfaceType("a", Greeter, role)
    assert (interface.is_client, interface.is_server, interface.is_internal) == (
        client,
        server,
        internal,
    )


def test_the_words_are_those_of_the_adl() -> None:
    assert [role.value for role in Role] == [
        "client",
        "server",
        "internal-client",
        "internal-server",
    ]
    assert [one.value for one in Contingency] == ["mandatory", "optional"]
    assert [one.value for one in Cardinality] == [
        "singleton",
        "collection",
        "multicast",
        "gathercast",
    ]


def test_an_interface_is_a_mandatory_singleton_server_unless_said_otherwise() -> None:
    interface = InterfaceType("greeter", Greeter)
    assert interface.role is Role.SERVER
    assert interface.is_mandatory
    assert interface.cardinality is Cardinality.SINGLETON
    optional = InterfaceType("greeter", Greeter, contingency=Contingency.OPTIONAL)
    assert not optional.is_mandatory


@pytest.mark.parametrize("cardinality", list(Cardinality))
def test_a_type_knows_its_cardinality(cardinality: Cardinality) -> None:
    interface = InterfaceType("a", Greeter, cardinality=cardinality)
    assert interface.is_collection is (cardinality is Cardinality.COLLECTION)
    assert interface.is_multicast is (cardinality is Cardinality.MULTICAST)
    assert interface.is_gathercast is (cardinality is Cardinality.GATHERCAST)


@pytest.mark.parametrize("name", ["a", "_a", "lifecycle-controller", "a.b", "a-0", "größe", "a1"])
def test_names_are_identifiers_with_hyphens_and_dots_inside(name: str) -> None:
    assert is_interface_name(name)
    assert InterfaceType(name, Greeter).name == name


@pytest.mark.parametrize("name", ["", "1a", "-a", "a-", ".a", "a.", "a..b", "a b", "a/b", "a\n"])
def test_other_names_are_refused(name: str) -> None:
    assert not is_interface_name(name)
    with pytest.raises(IllegalTypeError, match="is not an interface name"):
        InterfaceType(name, Greeter)


@pytest.mark.parametrize(
    ("role", "cardinality", "why"),
    [
        (Role.INTERNAL_SERVER, Cardinality.MULTICAST, "cannot be multicast"),
        (Role.INTERNAL_CLIENT, Cardinality.GATHERCAST, "cannot be gathercast"),
    ],
)
def test_a_cardinality_that_the_role_cannot_have_is_refused(
    role: Role, cardinality: Cardinality, why: str
) -> None:
    with pytest.raises(IllegalTypeError, match=why):
        InterfaceType("a", Greeter, role, cardinality=cardinality)


@pytest.mark.parametrize(
    ("role", "cardinality"),
    [
        (role, cardinality)
        for role in Role
        for cardinality in Cardinality
        if (role, cardinality)
        not in {
            (Role.INTERNAL_SERVER, Cardinality.MULTICAST),
            (Role.INTERNAL_CLIENT, Cardinality.GATHERCAST),
        }
    ],
)
def test_every_other_cardinality_is_allowed(role: Role, cardinality: Cardinality) -> None:
    assert InterfaceType("a", Greeter, role, cardinality=cardinality).cardinality is cardinality


def test_all_faults_of_an_interface_are_listed_in_one_error() -> None:
    signature: Any = "Greeter"
    with pytest.raises(IllegalTypeError) as caught:
        InterfaceType("1", signature, Role.INTERNAL_SERVER, cardinality=Cardinality.MULTICAST)
    assert str(caught.value) == (
        "the type of interface '1' is illegal: "
        "'1' is not an interface name: use an identifier, '-' and '.' inside; "
        "its signature 'Greeter' is not a class; "
        "an internal server interface receives calls and cannot be multicast"
    )


def test_a_renamed_type_differs_in_its_name_only() -> None:
    workers = InterfaceType(
        "workers", Greeter, Role.CLIENT, Contingency.OPTIONAL, Cardinality.COLLECTION
    )
    assert workers.with_name("workers0") == InterfaceType(
        "workers0", Greeter, Role.CLIENT, Contingency.OPTIONAL, Cardinality.COLLECTION
    )


@pytest.mark.parametrize(
    ("role", "cardinality", "inner_role", "inner_cardinality"),
    [
        (Role.SERVER, "singleton", Role.INTERNAL_CLIENT, "singleton"),
        (Role.SERVER, "collection", Role.INTERNAL_CLIENT, "collection"),
        (Role.SERVER, "multicast", Role.INTERNAL_CLIENT, "multicast"),
        (Role.SERVER, "gathercast", Role.INTERNAL_CLIENT, "singleton"),
        (Role.CLIENT, "singleton", Role.INTERNAL_SERVER, "singleton"),
        (Role.CLIENT, "collection", Role.INTERNAL_SERVER, "collection"),
        (Role.CLIENT, "gathercast", Role.INTERNAL_SERVER, "gathercast"),
        (Role.CLIENT, "multicast", Role.INTERNAL_SERVER, "singleton"),
    ],
)
def test_the_inner_face_mirrors_the_role_and_keeps_the_work_that_is_done_inside(
    role: Role, cardinality: str, inner_role: Role, inner_cardinality: str
) -> None:
    outer = InterfaceType("a", Greeter, role, Contingency.OPTIONAL, Cardinality(cardinality))
    assert outer.inner() == InterfaceType(
        "a", Greeter, inner_role, Contingency.OPTIONAL, Cardinality(inner_cardinality)
    )


def test_an_internal_interface_has_no_inner_face() -> None:
    with pytest.raises(IllegalTypeError, match="'a' is already internal") as caught:
        InterfaceType("a", Greeter, Role.INTERNAL_CLIENT).inner()
    assert caught.value.interface == "a"


def test_names_used_twice_and_names_with_a_collections_prefix_are_refused_together() -> None:
    with pytest.raises(IllegalTypeError) as caught:
        ComponentType(
            (
                named("run"),
                named("workers", Cardinality.COLLECTION),
                named("run"),
                named("run"),
                named("workers-log"),
                named("work"),
                named("workersx", Cardinality.COLLECTION),
            )
        )
    assert str(caught.value) == (
        "the component type is illegal: 3 interfaces are named 'run'; "
        "the name 'workers-log' begins with the name of the collection 'workers'; "
        "the name 'workersx' begins with the name of the collection 'workers'"
    )


def test_a_collection_of_the_same_name_twice_is_one_fault() -> None:
    with pytest.raises(IllegalTypeError) as caught:
        ComponentType((named("w", Cardinality.COLLECTION), named("w", Cardinality.COLLECTION)))
    assert caught.value.what == "the component type is illegal: 2 interfaces are named 'w'"


def test_interfaces_are_found_by_name_and_members_by_their_collection() -> None:
    run, workers, work = named("run"), named("workers", Cardinality.COLLECTION), named("work")
    component = ComponentType((run, workers, work))
    assert component.find("run") is run
    assert component.find("work") is work
    assert component.find("workers0") is workers
    assert component.find("workers-log.a") is workers
    assert component.find("workers") is None
    assert component.find("workers ") is None
    assert component.find("ru") is None
    assert component.find("runs") is None


def test_a_component_may_have_no_interface() -> None:
    assert ComponentType().interfaces == ()
    assert ComponentType().find("a") is None


class Plain:
    def greet(self, name: str) -> str:
        return name


class Implementation(Greeter):
    def greet(self, name: str) -> list[str]:
        return [name]


@pytest.mark.parametrize("signature", [Plain, Implementation, int])
def test_a_class_that_works_itself_is_no_signature(signature: type[Any]) -> None:
    with pytest.raises(IllegalTypeError) as caught:
        InterfaceType("greeter", signature)
    assert str(caught.value) == (
        f"the type of interface 'greeter' is illegal: its signature {signature.__name__} is a "
        "plain class, which says how its objects work: use a Protocol or an abstract class, which "
        "says what can be called"
    )


class Marker(ABC):  # noqa: B024 - the point of the test
    """An abstract class without operations, as marker interfaces are."""


class Abstract(ABC):
    @abstractmethod
    def greet(self, name: str) -> str: ...


class Specific(Abstract):
    @abstractmethod
    def shout(self, name: str) -> str: ...


@pytest.mark.parametrize("signature", [Greeter, Marker, Abstract, Specific, LifeCycleController])
def test_protocols_abstract_classes_and_controllers_are_signatures(signature: type[Any]) -> None:
    assert InterfaceType("greeter", signature).signature is signature


class Many(Protocol):
    def one(self) -> str: ...
    def unsaid(self): ...  # type: ignore[no-untyped-def]  # the point of the test
    def nothing(self) -> None: ...
    def all(self) -> list[str]: ...
    def series(self) -> Sequence[str]: ...
    def sum(self) -> Annotated[int, total]: ...
    def pair(self) -> tuple[str, str]: ...


@pytest.mark.parametrize("role", [Role.CLIENT, Role.SERVER, Role.INTERNAL_CLIENT])
def test_a_multicast_signature_returns_lists_nothing_or_a_reduction(role: Role) -> None:
    with pytest.raises(IllegalTypeError) as caught:
        InterfaceType("many", Many, role, cardinality=Cardinality.MULTICAST)
    assert str(caught.value) == (
        "the type of interface 'many' is illegal: a multicast call of 'one' gives a list of "
        "results, and it returns str: return list[str] or None, or declare a reduction; a "
        "multicast call of 'pair' gives a list of results, and it returns tuple[str, str]: return "
        "list[tuple[str, str]] or None, or declare a reduction"
    )


class Exchange(Protocol):
    def put(self, block: Annotated[Any, redistribute]) -> float: ...


def test_members_that_exchange_blocks_have_a_result_each() -> None:
    multicast = InterfaceType("out", Exchange, Role.CLIENT, cardinality=Cardinality.MULTICAST)
    assert multicast.signature is Exchange
