"""Membranes as documents describe them: interceptors, controller files, and the same in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gcm import PRIMITIVE, Component, Controller, MonitorController, running
from gcm.adl import Assembly, MissingClasses, assemble, check_files, export, plan_document
from gcm.documents import Diagnostics
from gcm.errors import AdlError, NoSuchControllerError
from tests.unit.parts import Speaker

from .conftest import Check

FILES = Path(__file__).parents[2] / "fractal" / "files" / "membranes"


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Component]:
    """Assemble one of the sample files."""
    monkeypatch.syspath_prepend(str(FILES))

    def made(name: str) -> Component:
        found = Diagnostics()
        plan = plan_document(FILES / f"{name}.fractal", diagnostics=found)
        assert plan is not None, [str(one) for one in found]
        return assemble(plan)

    return made


def parts() -> object:
    return sys.modules["membrane_parts"]


# ------------------------------------------------------------------------------- interceptors


def test_interceptors_of_the_membrane_and_controllers_act_in_the_order_written(
    sample: Callable[[str], Component],
) -> None:
    root = sample("Intercepted")
    with running(root):
        assert root.server("ask").stub.say("x") == "x"  # type: ignore[attr-defined]
        log = root.find("asker").server("report-controller").stub
        assert log.pages() == ["before say"] * 2 + ["after say"] * 2  # type: ignore[attr-defined]
        counter = root.find("speaker").server("counter-controller").stub
        assert counter.operations_seen() == ["say", "/say"]  # type: ignore[attr-defined]


def test_interceptors_of_a_live_assembly_are_written_as_they_were_read(
    sample: Callable[[str], Component],
) -> None:
    asker = sample("Intercepted").find("asker")
    assert 'interceptors="log.notes, log.alarm"' in export(asker)


def test_an_interface_that_the_membrane_offers_intercepts(
    sample: Callable[[str], Component],
) -> None:
    guarded = sample("Guarded")
    with running(guarded):
        assert guarded.server("echo").stub.say("x") == "x"  # type: ignore[attr-defined]
        pages = guarded.server("report").stub.pages()  # type: ignore[attr-defined]
    assert pages == ["before say", "after say"]


IN_MEMBRANE = """
<definition name="app">
  <interface name="greeter" role="server" signature="lib.Greeter" interceptors="{}"/>
  <content class="lib.Server"/>
  <controller>
    <component name="sentry"><content class="lib.Sentry"/></component>
    <component name="client">
      <interface name="greeter" role="client" contingency="optional"/>
      <content class="lib.Client"/>
    </component>
  </controller>
</definition>"""


@pytest.mark.parametrize(
    ("written", "code", "message", "hint"),
    [
        (
            "sentry.hok",
            "not-an-interceptor",
            "the interceptor 'sentry.hok' is not an interface of the component in the membrane",
            "did you mean 'hook'?",
        ),
        (
            "sentry.greeter",
            "not-an-interceptor",
            "'sentry.greeter' is not an interceptor",
            "offer a server interface with the signature gcm.Interceptor: before(call) and "
            "after(call, error)",
        ),
        (
            "client.greeter",
            "not-an-interceptor",
            "the interceptor 'client.greeter' is a client interface",
            "name a server interface",
        ),
        (
            "client",
            "not-an-interceptor",
            "component 'client' of the membrane offers no interceptor",
            "offer a server interface with the signature gcm.Interceptor: before(call) and "
            "after(call, error)",
        ),
        (
            "this.monitor-controler",
            "not-an-interceptor",
            "the interceptor 'this.monitor-controler' is not a controller of the component",
            "did you mean 'monitor-controller'?",
        ),
        (
            "this.monitor-controller",
            "not-an-interceptor",
            "the controller 'this.monitor-controller' is not an interceptor",
            "give the controller before(call) and after(call, error), or name another one",
        ),
        (
            "lib.Loud",
            "not-an-interceptor",
            "'lib.Loud' makes no interceptor",
            "name a class with before(call) and after(call, error)",
        ),
        (
            "sentri",
            "unknown-interceptor",
            "there is no interceptor 'sentri'",
            "did you mean 'sentry'?",
        ),
    ],
)
def test_what_cannot_intercept_is_told_with_its_reason(
    check: Check, written: str, code: str, message: str, hint: str
) -> None:
    found = check(IN_MEMBRANE.format(written)).only
    assert (found.code, found.message, found.hint) == (code, message, hint)
    assert found.location.line == 2


def test_every_wrong_interceptor_of_an_interface_is_told_in_one_run(check: Check) -> None:
    done = check(IN_MEMBRANE.format("sentry.hok, nobody, sentry.hook, this.x-controller"))
    assert done.codes == ["2 unknown-interceptor", "2 not-an-interceptor", "2 not-an-interceptor"]


def test_a_component_of_the_content_is_no_interceptor(check: Check) -> None:
    done = check("""
        <definition name="app">
          <interface name="greeter" role="server" signature="lib.Greeter" interceptors="s.hook"/>
          <component name="s"><content class="lib.Sentry"/></component>
          <binding client="this.greeter" server="s.greeter"/>
        </definition>""")
    assert str(done.only).endswith(
        "error[unknown-interceptor]: the interceptor 's.hook' is in the content, not in the "
        "membrane (component /app). move the component 's' into <controller>"
    )


# ---------------------------------------------------------------------------- controller files


def test_a_controller_file_says_which_controllers_there_are(
    sample: Callable[[str], Component],
) -> None:
    root = sample("Intercepted")
    speaker = root.find("speaker")
    assert {"lifecycle", "binding", "monitor", "counter"} <= set(speaker.membrane)
    for missing in ("migration", "multicast", "gathercast"):
        with pytest.raises(NoSuchControllerError):
            speaker.membrane[missing]
    assert "migration" in root.find("asker").membrane


def test_the_default_files_are_the_membranes_that_are_there_anyway(
    sample: Callable[[str], Component],
) -> None:
    root = sample("DefaultControllers")
    assert root.membrane.description.name == "composite"
    assert root.find("speaker").membrane.description is PRIMITIVE


JAVA = "org.objectweb.proactive.core.component.control"


def listed(*implementations: str) -> str:
    entries = [
        f"<controller><interface>{one}</interface>"
        f"<implementation>{one}</implementation></controller>"
        for one in implementations
    ]
    head, tail = '<componentConfiguration name="c"><controllers>', "</controllers>"
    return "\n".join([head, *entries, f"{tail}</componentConfiguration>"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            listed(f"{JAVA}.PABindingController", f"{JAVA}.PATeleportController"),
            [
                f"c-config.xml:3: warning[no-counterpart]: the controller "
                f"{JAVA}.PATeleportController has no counterpart here, and is left out "
                "(component /app). write a controller class, and name it in <implementation>"
            ],
        ),
        (
            listed("lib.Nowhere", "lib.Server", "lib.five"),
            [
                "c-config.xml:2: error[missing-class]: no 'lib.Nowhere' (component /app). add it",
                "c-config.xml:3: error[not-a-controller]: 'lib.Server' is not a controller class "
                "(component /app). make it a subclass of gcm.Controller with a name: "
                'name = "counter"',
                "c-config.xml:4: error[not-a-controller]: 'lib.five' is not a controller class "
                "(component /app). make it a subclass of gcm.Controller with a name: "
                'name = "counter"',
            ],
        ),
        (
            '<componentConfiguration name="c">\n<include file="other-config.xml"/>\n<controllers>'
            "\n<controler/>\n<controller><interface>x.Y</interface></controller>\nloose"
            "</controllers></componentConfiguration>",
            [
                "c-config.xml:2: error[unknown-element]: <include> cannot stand in "
                "<componentConfiguration>. a controller file lists all its controllers itself; it "
                "includes no other file",
                "c-config.xml:3: error[unexpected-text]: <controllers> holds the text 'loose'. "
                "only elements can stand here",
                "c-config.xml:4: error[unknown-element]: <controler> cannot stand in "
                "<controllers>. did you mean 'controller'?",
                "c-config.xml:5: error[missing-element]: <controller> lacks <implementation>. "
                "write the name of a class in <implementation>",
            ],
        ),
        (
            '<componentConfiguration name="c"/>',
            [
                "c-config.xml:1: error[missing-element]: it lists no controller. add <controllers> "
                "with a <controller> for each"
            ],
        ),
        (
            '<definition name="c"/>',
            [
                "c-config.xml:1: error[unexpected-element]: the controller file is a <definition>, "
                "not a <componentConfiguration>. a controller file begins with "
                '<componentConfiguration name="...">'
            ],
        ),
    ],
)
def test_the_faults_of_a_controller_file_have_its_own_lines(
    check: Check, tmp_path: Path, text: str, expected: list[str]
) -> None:
    (tmp_path / "c-config.xml").write_text(text)
    done = check(
        '<definition name="app"><content class="lib.Server"/>'
        '<controller desc="/some/package/c-config.xml"/></definition>'
    )
    assert [str(one).removeprefix(f"{tmp_path}/") for one in done.found] == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<componentConfiguration><controllers>", "malformed-xml"),
        (
            '<!DOCTYPE c [<!ENTITY o SYSTEM "o.xml">]><componentConfiguration>&o;'
            "</componentConfiguration>",
            "entity-refused",
        ),
    ],
)
def test_a_controller_file_is_read_as_safely_as_any_document(
    check: Check, tmp_path: Path, text: str, code: str
) -> None:
    (tmp_path / "c-config.xml").write_text(text)
    done = check(
        '<definition name="app"><content class="lib.Server"/>'
        '<controller desc="c-config.xml"/></definition>'
    )
    assert done.only.code == code


def test_a_controller_file_that_is_not_there_is_told_with_the_places(
    check: Check, tmp_path: Path
) -> None:
    found = check(
        '<definition name="app"><content class="lib.Server"/>'
        '<controller desc="/a/b-config.xml"/></definition>'
    ).only
    assert (found.code, found.message) == (
        "missing-controller-file",
        "there is no controller file '/a/b-config.xml'",
    )
    assert f"{tmp_path}/a/b-config.xml" in found.hint
    assert f"{tmp_path}/b-config.xml" in found.hint


# ---------------------------------------------------------------------------- the same in Python


class Tally(Controller):
    name = "tally"


TALLIED = PRIMITIVE.including(Tally)


def test_an_assembly_in_python_names_the_membrane_of_a_primitive() -> None:
    described = Assembly("app")
    described.primitive("here", Speaker, controllers=PRIMITIVE.including(Tally))
    described.primitive("there", Speaker, controllers="active")
    root = described.assemble()
    assert root.find("here").controller(Tally).component is root.find("here")
    assert root.find("there").membrane.queues_calls
    with pytest.raises(AdlError, match="no module holds the membranes 'primitive'"):
        described.to_xml()


def test_a_membrane_with_a_name_is_written_by_it() -> None:
    described = Assembly("app").primitive("here", Speaker, controllers=TALLIED)
    assert f'desc="{__name__}:TALLIED"' in described.to_xml()


def test_what_describes_no_membrane_is_refused_where_it_is_written() -> None:
    with pytest.raises(AdlError, match=r"test_membranes_in_documents\.py:\d+: .*Tally.* does not"):
        Assembly("app").primitive("here", Speaker, controllers=Tally)  # type: ignore[arg-type]
    with pytest.raises(AdlError) as caught:
        Assembly("app").primitive("here", Speaker, controllers="activ").plan()
    assert "did you mean 'active'?" in str(caught.value)


def test_an_assembly_in_python_may_name_a_controller_file(tmp_path: Path) -> None:
    file = tmp_path / "watched-config.xml"
    file.write_text(listed("org.etsi.uri.gcm.api.control.MonitorController"))
    root = Assembly("app").primitive("here", Speaker, controllers=str(file)).assemble()
    assert root.find("here").controller(MonitorController) is not None
    assert "migration" not in root.find("here").membrane


# ---------------------------------------------------------------------- without the classes


def test_the_structure_of_a_membrane_is_checked_without_its_classes(tmp_path: Path) -> None:
    (tmp_path / "c-config.xml").write_text(listed(f"{JAVA}.PABindingController", "a.b.Dummy"))
    (tmp_path / "app.fractal").write_text("""
        <definition name="app">
          <interface name="foo" role="server" signature="a.b.Foo"
                     interceptors="this.dummy-controller, part.services, part.gone, a.b.Other"/>
          <content class="a.b.A"/>
          <controller desc="c-config.xml">
            <component name="part">
              <interface name="services" role="server" signature="a.b.Hook"/>
              <content class="a.b.Part"/>
            </component>
          </controller>
        </definition>""")
    found = check_files([tmp_path / "app.fractal"], missing=MissingClasses())
    assert [one.message for one in found.errors] == [
        "the interceptor 'part.gone' is not an interface of the component in the membrane"
    ]
