"""What the skeletons of missing classes say follows from the documents and from known classes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import gcm
from gcm.adl import check_files, port_files
from gcm.adl.port.counterparts import _CONTROLLERS, _KNOWN, counterpart, public_name
from gcm.adl.port.documents import renamed
from gcm.adl.port.modules import names_kept
from gcm.adl.port.wanted import class_names
from gcm.documents import Diagnostics
from gcm.interfaces import signature_of

KNOWN = """
from typing import Protocol
from gcm import provides

class Counter(Protocol):
    def next(self, step: int = 1) -> int: ...

@provides("counter", Counter)
class CounterImpl:
    def next(self, step: int = 1) -> int: return step

class Screen:
    def show(self, text: str) -> None: ...
"""
DOCUMENT = """
<definition name="App">
  <component name="user">
    <interface name="to-count" role="client" signature="java.Counter"/>
    <interface name="screens" role="client" signature="java.Screen" cardinality="collection"
               contingency="optional"/>
    <interface name="all" role="client" signature="java.Everyone" cardinality="multicast"/>
    <interface name="import" role="client" signature="java.Screen" contingency="optional"/>
    <content class="java.User$Impl"/>
    <attributes>
      <attribute name="size" value="3"/><attribute name="rate" value="0.5"/>
      <attribute name="on" value="true"/><attribute name="title" value="a &quot;b&quot;"/>
    </attributes>
  </component>
  <component name="counter"><content class="port_known_{serial}.CounterImpl"/></component>
  <component name="screen">
    <interface name="screen" role="server" signature="java.Screen"/>
    <content class="port_known_{serial}.Screen"/>
  </component>
  <component name="one">
    <interface name="one" role="server" signature="java.One"/>
    <content class="java.One"/>
  </component>
  <binding client="user.to-count" server="counter.counter"/>
  <binding client="user.screens1" server="screen.screen"/>
  <binding client="user.all" server="one.one"/>
</definition>
"""


@pytest.fixture
def ported(tmp_path: Path) -> dict[str, str]:
    """Port the document into a package; return the text of each file by its name."""
    serial = abs(hash(tmp_path))
    (tmp_path / f"port_known_{serial}.py").write_text(KNOWN, "utf-8")
    file = tmp_path / "App.fractal"
    file.write_text(DOCUMENT.replace("{serial}", str(serial)).strip(), "utf-8")
    found = Diagnostics()
    made = port_files([file], package="my.app", output=tmp_path / "out", diagnostics=found)
    assert [str(one) for one in found] == []
    return {str(one.file.relative_to(tmp_path / "out")): one.text for one in made}


def test_a_package_has_a_module_for_interfaces_and_one_for_components(
    ported: dict[str, str],
) -> None:
    assert sorted(ported) == [
        "App.fractal",
        "my/__init__.py",
        "my/app/__init__.py",
        "my/app/components.py",
        "my/app/interfaces.py",
    ]


def test_operations_are_those_of_known_classes_at_the_other_end(ported: dict[str, str]) -> None:
    interfaces = ported["my/app/interfaces.py"]
    assert "def next(self, step: int = 1) -> int: ..." in interfaces
    assert "def show(self, text: str) -> None: ..." in interfaces
    assert interfaces.count("    def ") == 2


def test_a_class_declares_what_its_components_have(ported: dict[str, str]) -> None:
    lines = [line.strip() for line in ported["my/app/components.py"].splitlines()]
    for line in (
        "class UserImpl:  # java.User$Impl",
        'to_count: Annotated[interfaces.Counter, requires(name="to-count")]',
        "screens: Annotated[Mapping[str, interfaces.Screen],"
        " requires(cardinality=Cardinality.COLLECTION, optional=True)]",
        "all: Annotated[interfaces.Everyone, requires(cardinality=Cardinality.MULTICAST)]",
        'import_: Annotated[interfaces.Screen, requires(optional=True, name="import")]',
        "size: Annotated[int, attribute()] = 3",
        "rate: Annotated[float, attribute()] = 0.5",
        "on: Annotated[bool, attribute()] = True",
        "title: Annotated[str, attribute()] = 'a \"b\"'",
    ):
        assert line in lines


def test_a_document_with_faults_is_not_ported(tmp_path: Path) -> None:
    file = tmp_path / "App.fractal"
    file.write_text(
        '<definition name="App"><component name="a" definition="B"/></definition>', "utf-8"
    )
    found = Diagnostics()
    assert port_files([file], package="app", output=tmp_path, diagnostics=found) == []
    assert [one.code for one in found] == ["missing-definition"]


def test_classes_of_one_name_are_told_apart_by_their_packages() -> None:
    assert class_names(["b.Work", "a.Work", "a.Outer$Inner", "x.a.Work"]) == {
        "a.Outer$Inner": "OuterInner",
        "a.Work": "Work",
        "b.Work": "BWork",
        "x.a.Work": "AWork",
    }


def test_only_the_names_of_classes_change_in_a_document() -> None:
    text = (
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
        '<definition name="a.Work" extends="a.Work(a.Work, 1)" arguments="impl=a.Work">'
        '<content class=\'a.Work\' /><interface signature = "a.Work" name="a.Work"/>'
        '<content class="a.Worker"/></definition>'
    )
    assert renamed(text, {"a.Work": "s.Work"}, {"a.Work": "c.Work"}) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<definition name="a.Work" extends="a.Work(c.Work, 1)" arguments="impl=c.Work">'
        '<content class=\'c.Work\' /><interface signature = "s.Work" name="a.Work"/>'
        '<content class="a.Worker"/></definition>'
    )


def port(folder: Path, *documents: str) -> tuple[dict[str, str], Diagnostics]:
    """Port documents, write the result below `out`, and return its texts and what was reported."""
    names = []
    for number, text in enumerate(documents):
        names.append(folder / f"D{number}.fractal")
        names[-1].write_text(f'<definition name="D{number}">{text}</definition>', "utf-8")
    found = Diagnostics()
    made = port_files(names, package="app", output=folder / "out", diagnostics=found)
    for one in made:
        one.file.parent.mkdir(parents=True, exist_ok=True)
        if one.news:
            one.file.write_text(one.text, "utf-8")
    return {one.file.name: one.file.read_text("utf-8") for one in made}, found


def part(name: str, *inside: str, content: str = "") -> str:
    """Return a component of a document."""
    written = f'<content class="{content or "j." + name.capitalize()}"/>'
    interfaces = [one for one in inside if one.startswith("<interface")]
    others = [one for one in inside if not one.startswith("<interface")]
    return f'<component name="{name}">{"".join([*interfaces, written, *others])}</component>'


def end(role: str, signature: str, name: str = "i", more: str = "") -> str:
    """Return an interface of a component of a document."""
    return f'<interface name="{name}" role="{role}" signature="{signature}" {more}/>'


def test_a_class_keeps_its_name_when_a_document_with_a_namesake_is_ported(tmp_path: Path) -> None:
    first = part("w", end("server", "org.b.S"), content="org.b.Worker")
    second = part("w", end("server", "org.a.S", "t"), content="org.a.Worker")
    port(tmp_path, first)
    files, found = port(tmp_path, first, second)
    assert [str(one) for one in found] == []
    assert 'class="app.components.Worker"' in files["D0.fractal"]
    assert 'signature="app.interfaces.S"' in files["D0.fractal"]
    assert 'class="app.components.AWorker"' in files["D1.fractal"]
    assert 'signature="app.interfaces.AS"' in files["D1.fractal"]
    assert '@provides("t", interfaces.AS)\nclass AWorker:' in files["components.py"]


def interfaces_of(text: str) -> dict[str, object]:
    """Return what a ported module of interfaces defines."""
    defined: dict[str, object] = {}
    exec(compile(text, "interfaces.py", "exec"), defined)
    return defined


def test_a_signature_that_two_clients_are_bound_to_has_each_supertype_once(tmp_path: Path) -> None:
    files, _ = port(
        tmp_path,
        part("a", end("client", "j.Base"))
        + part("b", end("client", "j.Base"))
        + part("s", end("server", "j.Sub"))
        + '<binding client="a.i" server="s.i"/><binding client="b.i" server="s.i"/>',
    )
    assert "class Sub(Base, Protocol):" in files["interfaces.py"]
    assert "Sub" in interfaces_of(files["interfaces.py"])


def test_supertypes_of_supertypes_are_left_out(tmp_path: Path) -> None:
    files, _ = port(
        tmp_path,
        part("a", end("client", "j.A"))
        + part("b", end("client", "j.B"), end("server", "j.B", "s"))
        + part("x", end("server", "j.X"))
        + '<binding client="a.i" server="x.i"/><binding client="b.i" server="x.i"/>'
        + part("c", end("client", "j.A"))
        + '<binding client="c.i" server="b.s"/>',
    )
    assert "class X(B, Protocol):" in files["interfaces.py"]
    assert "class B(A, Protocol):" in files["interfaces.py"]
    assert "X" in interfaces_of(files["interfaces.py"])


def test_all_signatures_have_their_supertypes_in_one_order(tmp_path: Path) -> None:
    bound = ("A P", "B P", "B Q", "A Q", "P R", "Q R")
    wires = [pair.split() for pair in bound]
    files, _ = port(
        tmp_path,
        "".join(
            part(f"c{number}", end("client", f"j.{below}"))
            + part(f"s{number}", end("server", f"j.{above}"))
            + f'<binding client="c{number}.i" server="s{number}.i"/>'
            for number, (below, above) in enumerate(wires)
        ),
    )
    assert "R" in interfaces_of(files["interfaces.py"])


def test_names_that_python_does_not_allow_or_skeletons_use_are_changed(tmp_path: Path) -> None:
    names = class_names(["y.None", "y.class", "x.Protocol", "9", "List<String>", "y.List<String>"])
    assert list(names.values()) == [
        "_9",
        "List_String_",
        "XProtocol",
        "YList_String_",
        "YNone",
        "Yclass",
    ]
    files, found = port(
        tmp_path, part("a", end("server", "x.Protocol"), content="y.List&lt;String&gt;")
    )
    assert [str(one) for one in found] == []
    assert 'class="app.components.List_String_"' in files["D0.fractal"]
    assert "class XProtocol(Protocol):" in files["interfaces.py"]
    assert "class List_String_:" in files["components.py"]


def test_attributes_that_python_cannot_name_are_reported_where_they_are(tmp_path: Path) -> None:
    wrong = ("class", "max-size", "_own", "attribute")
    written = "\n".join(f'<attribute name="{name}" value="1"/>' for name in (*wrong, "size"))
    files, found = port(tmp_path, part("a", f"<attributes>\n{written}</attributes>"))
    assert files == {}
    assert [one.location.line for one in found] == [2, 3, 4, 5]
    for name, one in zip(wrong, found, strict=True):
        assert f"'{name}' cannot be the name of an attribute" in str(one)


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e999"])
def test_only_a_finite_number_is_a_number(tmp_path: Path, value: str) -> None:
    given = f'<attributes><attribute name="limit" value="{value}"/></attributes>'
    files, _ = port(tmp_path, part("a", given))
    assert f"limit: Annotated[str, attribute()] = {value!r}" in files["components.py"]


COPIED = """
import datetime, enum
from collections.abc import Callable, Sequence
from typing import Any, Optional, Protocol, TypeVar

T = TypeVar("T")
INF = float("inf")

class Mode(enum.Enum):
    FAST = 1

class Outer:
    class inner: pass

class Real(Protocol):
    def a(self, when: datetime.datetime, mode: Mode = Mode.FAST) -> list[Outer.inner]: ...
    def b(self, *xs: int, k: str = "x", **kw: Any) -> None: ...
    def c(self, f: Callable[[int], str], z: "Sequence[Mode] | None" = None) -> dict[str, Mode]: ...
    def d(self, x: T, until: float = INF, y: Optional[Any] = object()) -> T: ...
    def e(self, x: tuple[int, ...] = (1, 2), /) -> Callable[..., None]: ...
"""


def test_copied_operations_are_python_with_all_that_they_import(tmp_path: Path) -> None:
    module = f"port_copied_{abs(hash(tmp_path))}"
    (tmp_path / f"{module}.py").write_text(COPIED, "utf-8")
    files, found = port(
        tmp_path,
        part("a", end("client", f"{module}.Real"))
        + part("b", end("server", "j.S"))
        + '<binding client="a.i" server="b.i"/>',
    )
    assert [str(one) for one in found] == []
    skeleton = interfaces_of(files["interfaces.py"])["S"]
    assert isinstance(skeleton, type)
    copied = signature_of(skeleton).operations
    real = vars(sys.modules[module])["Real"]
    known = signature_of(real).operations
    for name in ("a", "b", "c", "d", "e"):
        assert get_type_hints(vars(skeleton)[name]) == get_type_hints(vars(real)[name])
    assert {name: one.parameters for name, one in copied.items()} == {
        name: one.parameters for name, one in known.items()
    }
    written = "def b(self, *xs: int, k: str = 'x', **kw: typing.Any) -> None: ..."
    assert written in files["interfaces.py"]
    compile(files["components.py"], "components.py", "exec")


def test_what_not_every_component_of_a_class_declares_is_optional(tmp_path: Path) -> None:
    text = (
        part("a", end("client", "j.S", "all"), end("client", "j.S", "some"), content="j.C")
        + part("b", end("client", "j.S", "all"), end("client", "j.S", "free"), content="j.C")
        + part("s", end("server", "j.S"))
        + "".join(
            f'<binding client="{client}" server="s.i"/>'
            for client in ("a.all", "a.some", "b.all", "b.free")
        )
    )
    files, _ = port(tmp_path, text.replace('name="free"', 'name="free" contingency="optional"'))
    lines = [line.strip() for line in files["components.py"].splitlines()]
    assert "all: Annotated[interfaces.S, requires()]" in lines
    assert "some: Annotated[interfaces.S, requires(optional=True)]" in lines
    assert "free: Annotated[interfaces.S, requires(optional=True)]" in lines


@pytest.mark.parametrize(
    ("values", "written"),
    [
        (("1", "high"), "str, attribute()] = '1'"),
        (("1", "0.5"), "float, attribute()] = 1.0"),
        (("1", "2"), "int, attribute()] = 1"),
        (("true", "0"), "str, attribute()] = 'true'"),
    ],
)
def test_an_attribute_has_the_type_of_all_its_values(
    tmp_path: Path, values: tuple[str, str], written: str
) -> None:
    given = [
        f'<attributes signature="j.A"><attribute name="v" value="{one}"/></attributes>'
        for one in values
    ]
    files, _ = port(
        tmp_path, part("a", given[0], content="j.C") + part("b", given[1], content="j.C")
    )
    assert f"v: Annotated[{written}" in files["components.py"]
    assert f"v: {written.partition(',')[0]}\n" in files["interfaces.py"]


AROUND = """
<definition name="Around">
  <interface name="r" role="server" signature="java.lang.Runnable"
             interceptors="org.a.Timer, this.counter-controller"/>
  <component name="main">
    <interface name="r" role="server" signature="java.lang.Runnable" interceptors="log.calls"/>
    <content class="org.a.Main"/>
    <controller>
      <component name="log">
        <interface name="calls" role="server"
                   signature="org.objectweb.proactive.core.component.interception.Interceptor"/>
        <interface name="life" role="client"
                   signature="org.etsi.uri.gcm.api.control.GCMLifeCycleController"/>
        <content class="org.a.Log"/>
      </component>
      <binding client="log.life" server="this.lifecycle-controller"/>
    </controller>
  </component>
  <binding client="this.r" server="main.r"/>
  <controller desc="/config/counted-config.xml"/>
</definition>
"""
CONTROLLERS = """
<componentConfiguration name="counted">
  <controllers>
    <controller>
      <interface>org.a.CounterController</interface>
      <implementation> org.a.CounterControllerImpl </implementation>
    </controller>
  </controllers>
</componentConfiguration>
"""


def test_what_stands_around_contents_is_written_as_well_and_can_be_checked(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "counted-config.xml").write_text(CONTROLLERS.strip(), "utf-8")
    file = tmp_path / "Around.fractal"
    file.write_text(AROUND.strip(), "utf-8")
    found = Diagnostics()
    output, package = tmp_path / "out", f"around_{abs(hash(tmp_path))}"
    for one in port_files([file], package=package, output=output, diagnostics=found):
        one.file.parent.mkdir(parents=True, exist_ok=True)
        one.file.write_text(one.text, "utf-8")
    assert (output / "config" / "counted-config.xml").exists()
    membranes = (output / package / "membranes.py").read_text("utf-8")
    for line in ("class CounterControllerImpl(Controller):", 'name = "counter"', "class Timer:"):
        assert line in membranes
    assert "org." not in (output / "Around.fractal").read_text("utf-8")
    assert [str(one) for one in check_files([output / "Around.fractal"])] == []


OWN_MEMBRANES = """
<definition name="Own">
  <component name="part">
    <interface name="run" role="server" signature="java.lang.Runnable"/>
    <content class="org.foo.Part"/>
    <controller desc="org.foo.Guarded"/>
  </component>
  <controller desc="org.foo.Outer"/>
</definition>
"""


def test_descriptions_of_membranes_are_written_by_what_they_are_around(tmp_path: Path) -> None:
    file = tmp_path / "Own.fractal"
    file.write_text(OWN_MEMBRANES.strip(), "utf-8")
    output, package = tmp_path / "out", f"own_{abs(hash(tmp_path))}"

    def ported() -> list[str]:
        made = port_files([file], package=package, output=output, diagnostics=Diagnostics())
        for one in made:
            one.file.parent.mkdir(parents=True, exist_ok=True)
            one.file.write_text(one.text, "utf-8")
        return [one.news for one in made]

    assert "Guarded, Outer" in ported()
    membranes = (output / package / "membranes.py").read_text("utf-8")
    assert 'Guarded = PRIMITIVE.including(name="Guarded")  # org.foo.Guarded' in membranes
    assert 'Outer = COMPOSITE.including(name="Outer")  # org.foo.Outer' in membranes
    assert names_kept(membranes) == {"org.foo.Guarded": "Guarded", "org.foo.Outer": "Outer"}
    assert f'desc="{package}.membranes.Outer"' in (output / "Own.fractal").read_text("utf-8")
    assert [str(one) for one in check_files([output / "Own.fractal"])] == []
    assert set(ported()) == {""}  # nothing is written a second time


def test_every_counterpart_of_a_signature_of_java_is_a_public_name() -> None:
    words = [name.title() for name in _CONTROLLERS if "-" not in name]
    known = [*_KNOWN, *(f"org.objectweb.{word}Controller" for word in words)]
    assert [one for one in known if counterpart(one) is None] == []
    names = {public_name(counterpart(one) or object).removeprefix("gcm.") for one in known}
    assert names <= set(dir(gcm))


def test_a_class_keeps_its_name_when_its_docstring_was_written_anew() -> None:
    text = 'class AWorker(Base):  # org.a.Worker\n    """Works hard."""\n'
    assert names_kept(text) == {"org.a.Worker": "AWorker"}
    assert class_names(["org.a.Worker", "org.b.Worker"], names_kept(text)) == {
        "org.a.Worker": "AWorker",
        "org.b.Worker": "Worker",
    }


def test_a_server_that_one_component_of_a_class_needs_is_mandatory(tmp_path: Path) -> None:
    needed = part("s", end("server", "java.S"), content="java.Impl")
    optional = part(
        "o", end("server", "java.S", more='contingency="optional"'), content="java.Impl"
    )
    files, found = port(tmp_path, optional + needed)
    assert [str(one) for one in found] == []
    assert '@provides("i", interfaces.S)\nclass Impl:' in files["components.py"]


def test_a_document_that_is_given_and_referred_to_is_ported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Part.fractal").write_text(
        '<definition name="Part"><content class="java.Part"/></definition>', "utf-8"
    )
    (tmp_path / "App.fractal").write_text(
        '<definition name="App"><component name="a" definition="Part"/></definition>', "utf-8"
    )
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    files = ["../App.fractal", str(tmp_path / "Part.fractal")]
    made = port_files(files, package="app", output=tmp_path / "out", diagnostics=Diagnostics())
    documents = [one.file.name for one in made if one.file.suffix == ".fractal"]
    assert documents == ["App.fractal", "Part.fractal"]
