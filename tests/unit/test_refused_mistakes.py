from __future__ import annotations

from typing import Annotated, Any, Protocol

import pytest

from gcm import PRIMITIVE, Controller, InterfaceType, primitive, provides, requires
from gcm.components.declarations import needed_arguments
from gcm.errors import IllegalBindingError, IllegalTypeError, InstantiationError


class Store(Protocol):
    def put(self, value: int) -> None: ...


@provides("store", Store)
class Memory:
    def put(self, value: int) -> None: ...


class User:
    store: Annotated[Store, requires()]


memory = primitive(Memory)


@pytest.mark.parametrize("server", ["memory.store", memory, memory.stub("store", Store)])
def test_what_is_no_server_interface_cannot_be_bound_to(server: Any) -> None:
    with pytest.raises(IllegalBindingError) as caught:
        primitive(User).bind("store", server)
    assert str(caught.value).startswith(
        f"cannot be bound to {server!r}, which is not a server interface "
        "[component /user, interface 'store'"
    )
    assert caught.value.cure == "Pass one of a component, such as component.server('name')"


def test_words_in_place_of_a_role_a_contingency_and_a_cardinality_are_refused() -> None:
    words: dict[str, Any] = {"role": "sever", "contingency": "must", "cardinality": "many"}
    with pytest.raises(IllegalTypeError) as caught:
        InterfaceType("store", Store, **words)
    assert str(caught.value).endswith(
        "'sever' is no Role: use Role.CLIENT, Role.SERVER, Role.INTERNAL_CLIENT, "
        "Role.INTERNAL_SERVER; "
        "'must' is no Contingency: use Contingency.MANDATORY, Contingency.OPTIONAL; "
        "'many' is no Cardinality: use Cardinality.SINGLETON, Cardinality.COLLECTION, "
        "Cardinality.MULTICAST, Cardinality.GATHERCAST"
    )


def test_a_controller_without_a_name_is_refused() -> None:
    class Nameless(Controller):
        def count(self) -> int:
            return 0

    with pytest.raises(IllegalTypeError, match=r"the controller .*Nameless has no name") as caught:
        PRIMITIVE.including(Nameless)
    assert caught.value.cure == 'Give its class one: name = "counter"'


def test_what_is_no_class_of_a_controller_is_refused() -> None:
    with pytest.raises(IllegalTypeError, match="^<class 'object'> "):
        PRIMITIVE.including(object)  # type: ignore[arg-type]  # on purpose


def test_a_controller_that_wraps_a_call_into_nothing_is_named() -> None:
    class Forgetful(Controller):
        name = "forgetful"

        def wrap(self, interface: Any, operation: str, proceed: Any) -> Any:
            del interface, operation, proceed

    component = primitive(Memory, controllers=PRIMITIVE.including(Forgetful))
    component.start()
    with pytest.raises(IllegalTypeError, match=r"'forgetful' returned None .* for store\.put"):
        component.stub("store", Store).put(1)


def test_needed_arguments_are_those_without_a_default() -> None:
    class Disk:
        def __init__(self, path: str, *more: str, mode: str, size: int = 1, **rest: int) -> None:
            del path, more, mode, size, rest

    assert needed_arguments(Disk) == ["path", "mode"]
    assert needed_arguments(Memory) == []
    assert needed_arguments(type("Plain", (), {})) == []
    assert needed_arguments(type) == []


def test_a_content_that_needs_arguments_is_told_so() -> None:
    @provides("store", Store)
    class Disk:
        def __init__(self, path: str) -> None: ...
        def put(self, value: int) -> None: ...

    content: Any = Disk
    with pytest.raises(InstantiationError, match="the content Disk could not be made") as caught:
        primitive(content)
    assert caught.value.cure.startswith("It is constructed without arguments: give its parameters")
