"""Documents become live components: membranes, interceptors and exports included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Protocol

import pytest

from gcm import Component, Controller, Interceptor, Invocation, provides, requires
from gcm.adl import assemble, plan_document
from gcm.documents import Diagnostics
from gcm.errors import InstantiationError
from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.membrane_controller import MembraneController
from tests.unit.parts import Echo, Speaker


class Life(Protocol):
    def is_started(self) -> bool: ...


class Watch(Protocol):
    def alive(self) -> bool: ...


@provides("watch", Watch)
class Watchdog:
    target: Annotated[Life, requires()]

    def alive(self) -> bool:
        return self.target.is_started()


@provides("hook", Interceptor)
class Recorder:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def before(self, call: Invocation) -> None:
        self.calls.append(f"before {call}")

    def after(self, call: Invocation, error: BaseException | None) -> None:
        self.calls.append(f"after {error}")


class Moody:
    def __init__(self) -> None:
        raise ValueError("no mood")

    def before(self, call: Invocation) -> None: ...

    def after(self, call: Invocation, error: BaseException | None) -> None: ...


class Counting(Controller):
    name = "counting"


COUNTED = PRIMITIVE.including(Counting)

CLASSES: dict[str, object] = {
    "t.Echo": Echo,
    "t.Watch": Watch,
    "t.Life": Life,
    "t.Speaker": Speaker,
    "t.Watchdog": Watchdog,
    "t.Recorder": Recorder,
    "t.Moody": Moody,
    "t.COUNTED": COUNTED,
    "t.Interceptor": Interceptor,
}

Assemble = Callable[[str], Component]


@pytest.fixture
def assembled(tmp_path: Path) -> Assemble:
    def make(body: str) -> Component:
        path = tmp_path / "root.fractal"
        path.write_text(f'<definition name="root">{body}</definition>')
        diagnostics = Diagnostics()
        plan = plan_document(path, diagnostics=diagnostics, load_class=CLASSES.__getitem__)
        assert plan is not None, [str(found) for found in diagnostics]
        return assemble(plan)

    return make


SPEAKER = """
<component name="speaker">
  <interface name="echo" role="server" signature="t.Echo" {more}/>
  <content class="t.Speaker"/>
  {inside}
</component>"""


def test_a_controller_description_can_be_ones_own(assembled: Assemble) -> None:
    root = assembled(SPEAKER.format(more="", inside='<controller desc="t.COUNTED"/>'))
    speaker = root.find("speaker")
    assert speaker.membrane.description is COUNTED
    assert speaker.controller(Counting).component is speaker


def test_an_interceptor_can_be_a_python_class(assembled: Assemble) -> None:
    root = assembled(SPEAKER.format(more='interceptors="t.Recorder"', inside=""))
    root.start()
    speaker = root.find("speaker")
    (recorder,) = speaker.controller(InterceptorController).placed("echo")
    assert isinstance(recorder, Recorder)
    assert speaker.stub("echo", Echo).say("x") == "x"
    assert recorder.calls == ["before /root/speaker.echo.say", "after None"]


def test_an_interceptor_that_cannot_be_made_shows_its_own_exception(assembled: Assemble) -> None:
    with pytest.raises(InstantiationError) as caught:
        assembled(SPEAKER.format(more='interceptors="t.Moody"', inside=""))
    assert "the interceptor Moody could not be made: ValueError: no mood" in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


MEMBRANE = """
<controller desc="primitive">
  <component name="dog">
    <interface name="watch" role="server" signature="t.Watch"/>
    <interface name="target" role="client" signature="t.Life"/>
    <content class="t.Watchdog"/>
  </component>
  <binding client="dog.target" server="this.lifecycle-controller"/>
</controller>"""


def test_a_membrane_of_a_document_is_filled_bound_and_started(assembled: Assemble) -> None:
    root = assembled(SPEAKER.format(more="", inside=MEMBRANE))
    speaker = root.find("speaker")
    membrane = speaker.controller(MembraneController)
    assert membrane.names() == ["dog"]
    dog = membrane.part("dog")
    assert dog.state == "started"
    assert speaker.state == "stopped"
    assert dog.stub("watch", Watch).alive() is False
    root.start()
    assert dog.stub("watch", Watch).alive() is True
    assert speaker.controller(LifeCycleController).is_started()


def test_an_interceptor_can_be_a_component_of_the_membrane(assembled: Assemble) -> None:
    inside = """
    <controller desc="primitive">
      <component name="rec">
        <interface name="hook" role="server" signature="t.Interceptor"/>
        <content class="t.Recorder"/>
      </component>
    </controller>"""
    root = assembled(SPEAKER.format(more='interceptors="rec"', inside=inside))
    root.start()
    speaker = root.find("speaker")
    speaker.stub("echo", Echo).say("x")
    recorder = speaker.controller(MembraneController).part("rec").content
    assert recorder.calls == ["before /root/speaker.echo.say", "after None"]


def test_a_shared_component_of_a_document_is_made_once(assembled: Assemble) -> None:
    root = assembled(
        f"""<component name="left">{SPEAKER.format(more="", inside="")}</component>
        <component name="right"><component name="speaker" definition="./left/speaker"/></component>
        """
    )
    shared = root.find("left/speaker")
    assert root.find("right/speaker") is shared
    assert [parent.path for parent in shared.parents] == ["/root/left", "/root/right"]
