"""Stubs: generated classes that hand a call on exactly as it was made."""

from __future__ import annotations

import copy
import inspect
import pickle
import traceback
from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import pytest

from gcm import ComponentType, InterfaceType, primitive, provides
from gcm.errors import GcmError
from gcm.interfaces.signature import SignatureError
from gcm.interfaces.stub import Stub, stub_class


class Talk(Protocol):
    def plain(self, a: int, b: str) -> str:
        """Say it plainly."""
        ...

    def default(self, a: int, b: str = "interface") -> str: ...
    def only(self, a: int, *, key: str) -> str: ...
    def positional(self, a: int, /, b: str) -> str: ...
    def variadic(self, *args: int, **kwargs: str) -> str: ...
    def nothing(self) -> None: ...


class Recorder:
    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append((args, kwargs))
        return "answer"


def recorded(operation: str) -> tuple[Any, Recorder]:
    stub, recorder = stub_class(Talk)("end"), Recorder()
    stub._set_port(operation, recorder)
    return stub, recorder


def test_a_stub_hands_on_what_it_is_given_and_returns_the_answer() -> None:
    stub, recorder = recorded("plain")
    assert stub.plain(1, "x") == "answer"
    assert stub.plain(b="y", a=2) == "answer"
    assert recorder.calls == [((1, "x"), {}), ((2, "y"), {})]


def test_what_the_caller_leaves_out_stays_left_out() -> None:
    stub, recorder = recorded("default")
    stub.default(1)
    stub.default(1, "x")
    stub.default(1, b="y")
    assert recorder.calls == [((1,), {}), ((1, "x"), {}), ((1,), {"b": "y"})]


def test_the_default_of_the_server_applies() -> None:
    class Default(Protocol):
        def default(self, b: str = "interface") -> str: ...

    class Content:
        def default(self, b: str = "content") -> str:
            return b

    component = primitive(Content, type=ComponentType((InterfaceType("d", Default),)))
    component.start()
    assert component.stub("d", Default).default() == "content"


def test_keyword_only_positional_only_and_variadic_parameters_keep_their_kind() -> None:
    stub, recorder = recorded("only")
    stub.only(1, key="k")
    with pytest.raises(TypeError, match="positional"):
        stub.only(1, "k")
    assert recorder.calls == [((1,), {"key": "k"})]
    stub, recorder = recorded("positional")
    stub.positional(1, "b")
    assert recorder.calls == [((1, "b"), {})]
    stub, recorder = recorded("variadic")
    stub.variadic(1, 2, x="3")
    stub.variadic()
    assert recorder.calls == [((1, 2), {"x": "3"}), ((), {})]


def test_wrong_arguments_are_refused_at_the_call() -> None:
    stub, recorder = recorded("plain")
    for args, kwargs in (((1,), {}), ((1, "x", 3), {}), ((1,), {"c": 2})):
        with pytest.raises(TypeError, match="plain"):
            stub.plain(*args, **kwargs)
    assert recorder.calls == []


def test_an_editor_sees_the_signature_and_the_documentation() -> None:
    made = stub_class(Talk)
    for name in ("plain", "default", "only", "positional", "variadic", "nothing"):
        method = getattr(made, name)
        assert inspect.signature(method) == inspect.signature(getattr(Talk, name))
        assert method.__qualname__ == f"Talk.{name}"
    assert vars(made)["plain"].__doc__ == "Say it plainly."
    assert list(inspect.signature(recorded("plain")[0].plain).parameters) == ["a", "b"]
    assert made.__name__ == "TalkStub"
    assert made.__module__ == __name__
    assert made.__doc__ == "Calls Talk through a binding."


def test_a_stub_class_is_made_once_per_signature() -> None:
    assert stub_class(Talk) is stub_class(Talk)

    class Talk2(Talk, Protocol): ...

    assert stub_class(Talk2) is not stub_class(Talk)


def test_a_stub_has_no_dictionary_and_no_other_attributes() -> None:
    stub: Any = stub_class(Talk)("end")
    assert not hasattr(stub, "__dict__")
    with pytest.raises(AttributeError):
        stub.other = 1


class Awkward(Protocol):
    """Operations with the names that a stub could want for itself."""

    def end(self) -> str: ...
    def port(self, number: int) -> str: ...
    def set_port(self, number: int) -> str: ...
    def operations(self) -> str: ...
    def submit(self) -> str: ...


@provides("awkward", Awkward)
class Harbour:
    def end(self) -> str:
        return "end"

    def port(self, number: int) -> str:
        return f"port {number}"

    def set_port(self, number: int) -> str:
        return f"set {number}"

    def operations(self) -> str:
        return "operations"

    def submit(self) -> str:
        return "submit"


def test_operations_may_have_any_public_name() -> None:
    component = primitive(Harbour)
    component.start()
    stub = component.stub("awkward", Awkward)
    assert (stub.end(), stub.port(1), stub.set_port(2), stub.operations(), stub.submit()) == (
        "end",
        "port 1",
        "set 2",
        "operations",
        "submit",
    )


class Abstract(ABC):
    @abstractmethod
    def do(self) -> int: ...


@runtime_checkable
class Doing(Protocol):
    def do(self) -> int: ...


def test_a_stub_is_an_instance_of_its_abstract_class_and_of_its_protocol() -> None:
    assert isinstance(stub_class(Abstract)("end"), Abstract)
    assert issubclass(stub_class(Abstract), Abstract)
    assert isinstance(stub_class(Doing)("end"), Doing)
    assert not isinstance(stub_class(Talk)("end"), Abstract)


def test_a_stub_has_no_copies() -> None:
    stub = stub_class(Talk)("end")
    assert copy.copy(stub) is stub
    assert copy.deepcopy(stub) is stub
    assert copy.deepcopy([stub])[0] is stub


def test_a_stub_says_clearly_that_it_cannot_be_pickled() -> None:
    component = primitive(Harbour)
    with pytest.raises(GcmError) as caught:
        pickle.dumps(component.server("awkward").stub)
    assert str(caught.value) == (
        "the stub of /harbour.awkward cannot be pickled: it stands for a component of this "
        "process. Pass it in a call to another component; its transport carries the reference"
    )


def test_a_stub_says_what_it_stands_for() -> None:
    component = primitive(Harbour)
    assert repr(component.server("awkward").stub) == "<stub of /harbour.awkward>"


@provides("doing", Doing)
class Failing:
    def do(self) -> int:
        raise ValueError("no")


def test_a_traceback_shows_the_line_of_the_stub() -> None:
    component = primitive(Failing)
    component.start()
    with pytest.raises(ValueError, match="no") as caught:
        component.stub("doing", Doing).do()
    frames = traceback.extract_tb(caught.value.__traceback__)
    (line,) = [frame.line for frame in frames if frame.filename.startswith("<stub of ")]
    assert line == "return port()"


def test_two_classes_of_one_name_have_two_sources() -> None:
    def make(operation: str) -> Any:
        source = {operation: lambda self: None}
        return type("Same", (), source)

    first, second = stub_class(make("one")), stub_class(make("two"))
    assert first._operations == ("one",)
    assert second._operations == ("two",)


def test_a_class_that_is_no_signature_has_no_stub() -> None:
    class Bad:
        @property
        def value(self) -> int:
            return 1

    with pytest.raises(SignatureError, match="'value' is a property"):
        stub_class(Bad)


def test_a_control_interface_has_a_stub_like_any_other() -> None:
    stub = primitive(Harbour).server("name-controller").stub
    assert isinstance(stub, Stub)
    assert stub._operations == ("get", "set")
