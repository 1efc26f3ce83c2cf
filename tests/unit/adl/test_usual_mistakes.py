from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Protocol

import pytest

from gcm import Component, Runnable, provides, requires
from gcm.adl import Assembly, ComponentPlan
from gcm.adl.assembling import make_component
from gcm.adl.loading import check_files
from gcm.errors import AdlError, IllegalLifeCycleError

PARTS = """
from typing import Annotated, Protocol
from gcm import LifeCycleController, Runnable, attribute, provides, requires

class Store(Protocol):
    def put(self, value: int) -> None: ...

@provides("store", Store)
class Memory:
    size: Annotated[int, attribute()] = 1
    def put(self, value: int) -> None: ...

@provides("store", Store)
class Disk:
    def __init__(self, path: str, mode: str = "r", *more: str) -> None: ...
    def put(self, value: int) -> None: ...

@provides("run", Runnable)
class App:
    store: Annotated[Store, requires()]
    def run(self) -> None: ...

@provides("run", Runnable)
class Operator:
    stopper: Annotated[LifeCycleController, requires()]
    def run(self) -> None: ...
"""


class Store(Protocol):
    def put(self, value: int) -> None: ...


@provides("store", Store)
class Memory:
    def put(self, value: int) -> None: ...


@provides("run", Runnable)
class Operator:
    stopper: Annotated[Store, requires()]

    def run(self) -> None: ...


class Bound:
    store: Annotated[Store, requires(optional=True)]


def told(folder: Path, module: str, body: str, arguments: str) -> list[tuple[str, int]]:
    """Return the code and the line of everything that is found in one document."""
    (folder / f"{module}.py").write_text(PARTS, "utf-8")
    file = folder / "app.fractal"
    text = f'<definition name="app" arguments="{arguments}">\n{body}</definition>'
    file.write_text(text.replace("parts.", f"{module}."), "utf-8")
    return [(one.code, one.location.line) for one in check_files([file])]


def test_what_does_not_hang_on_missing_arguments_is_checked(tmp_path: Path) -> None:
    body = (
        '<component name="app"><content class="parts.Ap"/></component>\n'
        '<component name="a"><content class="parts.Memory"/>\n'
        '<attributes><attribute name="size" value="${n}"/>\n'
        '<attribute name="sise" value="1"/></attributes></component>\n'
        '<component name="lone"><content class="parts.App"/></component>\n'
    )
    assert told(tmp_path, "gcm_probe_needy", body, "n") == [
        ("not-checked-alone", 1),
        ("missing-class", 2),
        ("unknown-attribute", 5),
        ("unbound-interface", 6),
    ]


def test_what_a_missing_argument_may_mend_is_no_fault(tmp_path: Path) -> None:
    body = (
        '<component name="app"><content class="parts.App"/></component>\n'
        '<component name="${n}"><content class="parts.Memory"/></component>\n'
        '<component name="b" definition="${d}"/>\n'
        '<binding client="app.store" server="memory.store"/>\n'
        '<component name="c"><content class="parts.Ap"/></component>\n'
    )
    assert told(tmp_path, "gcm_probe_open", body, "n,d") == [
        ("not-checked-alone", 1),
        ("missing-class", 6),
    ]


def test_a_binding_of_a_missing_argument_excuses_unbound_interfaces(tmp_path: Path) -> None:
    body = (
        '<component name="app"><content class="parts.App"/></component>\n'
        '<component name="a"><content class="parts.Memory"/></component>\n'
        '<binding client="${n}" server="a.store"/>\n'
    )
    assert told(tmp_path, "gcm_probe_bound", body, "n") == [("not-checked-alone", 1)]


def test_a_content_that_needs_arguments_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "gcm_probe_disk.py").write_text(PARTS, "utf-8")
    file = tmp_path / "app.fractal"
    file.write_text(
        '<definition name="app">\n<content class="gcm_probe_disk.Disk"/></definition>', "utf-8"
    )
    (found,) = check_files([file])
    assert (found.severity, found.code, found.message, found.location.line) == (
        "warning",
        "content-arguments",
        "the class 'Disk' cannot be made without path",
        2,
    )
    assert found.hint.startswith("give its parameters defaults")


def test_two_components_of_one_name_are_told_also_from_python() -> None:
    app = Assembly("app")
    inner = app.composite("inner")
    first = inspect.currentframe()
    assert first is not None
    inner.primitive("memory", Memory)
    inner.primitive("memory", Memory)
    line = first.f_lineno
    with pytest.raises(AdlError) as caught:
        app.plan()
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.path, found.location.line) == (
        "duplicate-name",
        "two components are named 'memory'",
        "/app/inner",
        line - 1,
    )
    assert found.hint == f"the first one is in {__file__}:{line - 2}; rename one"


@pytest.mark.parametrize("content", ["parts.Memory", Memory()])
def test_a_name_or_an_object_in_place_of_a_class_is_refused(content: Any) -> None:
    with pytest.raises(AdlError) as caught:
        Assembly("app").primitive("memory", content)
    assert caught.value.what.endswith(f": {content!r} is not a class")
    assert caught.value.what.startswith(f"{__file__}:")


def test_a_control_interface_of_another_type_is_told_with_its_line() -> None:
    app = Assembly("app")
    app.primitive("operator", Operator)
    app.primitive("memory", Memory)
    first = inspect.currentframe()
    assert first is not None
    app.bind("operator.stopper", "memory.lifecycle-controller")
    line = first.f_lineno - 1
    with pytest.raises(AdlError) as caught:
        app.assemble()
    (found,) = caught.value.diagnostics
    assert (found.code, found.location.line) == ("incompatible-binding", line)


def test_a_binding_that_cannot_be_made_is_told_with_its_line() -> None:
    def running(plan: ComponentPlan) -> Component:
        made = make_component(plan)
        if plan.name == "memory":
            made.start()
        return made

    app = Assembly("app")
    app.primitive("memory", Bound)
    app.primitive("other", Memory)
    first = inspect.currentframe()
    assert first is not None
    app.bind("memory.store", "other.store")
    line = first.f_lineno - 1
    with pytest.raises(IllegalLifeCycleError) as caught:
        app.assemble(make=running)
    assert caught.value.what.startswith(f"{__file__}:{line}: bindings change only while")


def test_a_module_that_hides_another_of_its_name_is_told(tmp_path: Path) -> None:
    files = []
    for folder, line in (("first", ""), ("second", "raise OSError")):
        home = tmp_path / folder
        home.mkdir()
        (home / "gcm_probe_twin.py").write_text(f"{PARTS}\n{line}\n", "utf-8")
        files.append(home / "app.fractal")
        files[-1].write_text(
            '<definition name="app"><content class="gcm_probe_twin.Memory"/></definition>', "utf-8"
        )
    (found,) = check_files([*files, files[0]])
    twin = "gcm_probe_twin"
    assert (found.code, found.location.file) == ("hidden-module", str(files[1]))
    assert found.message == (
        f"the module '{twin}' is {tmp_path}/second/{twin}.py here, "
        f"but {tmp_path}/first/{twin}.py was imported before"
    )
