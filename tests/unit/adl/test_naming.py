"""Python objects have names by which a document finds them again."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from gcm.adl.writing.naming import NamelessError, class_name, object_name

THING = object()


class Outer:
    class Inner:
        pass


class Replaced:
    pass


Original = Replaced


def test_a_class_is_named_by_its_module_and_its_place_there() -> None:
    assert class_name(Outer) == f"{__name__}:Outer"
    assert class_name(Outer.Inner) == f"{__name__}:Outer.Inner"


def test_a_local_class_has_no_name() -> None:
    class Local:
        pass

    with pytest.raises(NamelessError, match="Local cannot be found .*top"):
        class_name(Local)


def test_a_class_whose_name_means_another_one_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "Replaced", Outer)
    with pytest.raises(NamelessError, match="the class Replaced cannot be found by name"):
        class_name(Original)


def test_a_class_of_a_module_that_is_gone_has_no_name() -> None:
    made = type("Made", (), {"__module__": "no_such_module"})
    with pytest.raises(NamelessError, match="in the module 'no_such_module'"):
        class_name(made)


@pytest.fixture
def main_class(monkeypatch: pytest.MonkeyPatch) -> type:
    """Return a class of a program that runs as `/some/where/hello.py`."""
    main = ModuleType("__main__")
    main.__file__ = "/some/where/hello.py"
    made = type("Greeter", (), {"__module__": "__main__"})
    main.__dict__["Greeter"] = made
    monkeypatch.setitem(sys.modules, "__main__", main)
    return made


def test_the_running_program_is_named_as_others_import_it(main_class: type) -> None:
    assert class_name(main_class) == "hello:Greeter"


def test_a_program_run_as_a_module_keeps_its_package(main_class: type) -> None:
    sys.modules["__main__"].__spec__ = ModuleSpec("package.hello", None)
    assert class_name(main_class) == "package.hello:Greeter"


def test_an_object_is_named_by_the_module_that_holds_it() -> None:
    assert object_name(THING, "the thing") == f"{__name__}:THING"


def test_an_object_is_first_looked_for_where_it_probably_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("aaa_user_of_thing", "zzz_home_of_thing"):
        module = ModuleType(name)
        module.__dict__["THE_ONE"] = THING
        monkeypatch.setitem(sys.modules, name, module)
    assert object_name(THING, "the thing", ["zzz_home_of_thing"]) == "zzz_home_of_thing:THE_ONE"
    assert object_name(THING, "the thing") == "aaa_user_of_thing:THE_ONE"


def test_an_object_that_no_module_holds_has_no_name() -> None:
    with pytest.raises(
        NamelessError, match="^the thing has no name in any module; give it one at the top"
    ):
        object_name(object(), "the thing")
