"""What goes wrong with components on nodes: one message that helps, bounded time, nothing left."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tools.on_grids import ROOT

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

PARTS = """
import os, sys, time
from typing import Annotated, Any, Protocol
from gcm import provides, requires

{first}

class Run(Protocol):
    def run(self) -> object: ...

class Work(Protocol):
    def slowly(self) -> None: ...

@provides("work", Work)
class Worker:
    def on_start(self):
        print("the worker starts", flush=True)
    def on_stop(self):
        print("the worker stops at", time.monotonic(), flush=True)
    def slowly(self):
        print("pid", os.getpid(), flush=True)
        time.sleep({seconds})

@provides("run", Run)
class Chief:
    work: Annotated[Work, requires()]
    def on_start(self):
        print("the chief starts", flush=True)
    def on_stop(self):
        print("the chief stops at", time.monotonic(), flush=True)
    def run(self):
        {run}
"""
ADL = """
{run}
<component name="chief"><content class="parts.Chief"/><virtual-node name="head"/></component>
<component name="worker"><content class="parts.Worker"/><virtual-node name="hands"/></component>
<binding client="chief.work" server="worker.work"/>
"""
RUN = (
    '<interface name="run" role="server" signature="parts.Run"/>'
    '<binding client="this.run" server="chief.run"/>'
)
MAPPING = (
    '<virtual-node name="head" nodes="office/desk/node0"/>'
    '<virtual-node name="hands" nodes="lab/rack/blade1"/>'
)
SOON = 30.0


def prepare(
    work: Field,
    *,
    first: str = "",
    run: str = "self.work.slowly()",
    adl_run: str = RUN,
    seconds: float = 1000,
    **options: str,
) -> None:
    module = PARTS.format(first=first, run=run, seconds=seconds)
    # The root's `run` interface stands before the components, its binding behind them.
    declared, _, binding = adl_run.partition("/>")
    adl = ADL.format(run=declared and f"{declared}/>") + binding
    work.write(module, adl, MAPPING, **options)


@pytest.mark.parametrize("reachability", ["direct", "front-end"])
def test_a_killed_node_is_named_with_its_components(
    field_of_work: Field, reachability: str
) -> None:
    prepare(field_of_work, reachability=reachability)
    running = field_of_work.deploy()
    victim = int(running.until("pid").split()[1])
    began = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    code, _, errors = running.end()
    assert time.monotonic() - began < SOON
    assert code == 204
    message = (
        "gcm-deploy: lab/rack/blade1: the process of this node has ended, and with it /app/worker."
    )
    assert message in errors
    assert "killed by SIGKILL" in errors
    assert "the assembly failed" not in errors
    assert field_of_work.wait_until_gone() == []


def test_a_node_that_kills_itself_with_words_shows_them(field_of_work: Field) -> None:
    run = "print('out of luck', file=sys.stderr, flush=True) or os._exit(9)"
    prepare(field_of_work, run=run)
    code, _, errors = field_of_work.deploy("--quiet", "app.xml").end()
    assert code == 204
    assert "office/desk/node0: the process of this node has ended, and with it /app/chief" in errors
    assert "    exit code 9\n    out of luck\n" in errors


def test_ctrl_c_ends_a_run_between_its_calls(field_of_work: Field) -> None:
    prepare(field_of_work, seconds=0.5, run="[self.work.slowly() for _ in range(1000)]")
    running = field_of_work.deploy("--quiet", "app.xml")
    running.until("pid")
    began = time.monotonic()
    running.interrupt()
    code, _, errors = running.end()
    assert time.monotonic() - began < SOON
    assert code == 130
    assert [line.partition(";")[0] for line in errors.splitlines()] == ["gcm-deploy: stopping"]
    assert field_of_work.wait_until_gone() == []


def test_ctrl_c_ends_calls_that_never_return(field_of_work: Field) -> None:
    prepare(field_of_work)
    running = field_of_work.deploy("--quiet", "app.xml")
    running.until("pid")
    began = time.monotonic()
    running.interrupt()
    code, _, errors = running.end()
    assert time.monotonic() - began < SOON
    assert (code, errors.count("gcm-deploy:")) == (130, 1)
    assert field_of_work.wait_until_gone() == []


def test_a_killed_launcher_leaves_no_node(field_of_work: Field) -> None:
    prepare(field_of_work)
    running = field_of_work.deploy("--quiet", "app.xml")
    running.until("pid")
    running.process.kill()
    running.end()
    assert field_of_work.wait_until_gone() == []


def test_an_assembly_without_run_serves_until_ctrl_c_stops_it(field_of_work: Field) -> None:
    prepare(field_of_work, adl_run="")
    running = field_of_work.deploy("--quiet", "app.xml")
    for _ in ("chief", "worker"):  # in any order
        running.until("starts")
    running.interrupt()
    code, output, errors = running.end()
    assert (code, errors.count("gcm-deploy:")) == (130, 1)
    # The client first: its server still answers it then. The lines may come in any order.
    times = {name: float(at) for name, at in re.findall(r"the (\w+) stops at (\S+)", output)}
    assert times["chief"] < times["worker"]
    assert field_of_work.wait_until_gone() == []


def test_a_class_that_cannot_be_imported_on_its_node_is_named(field_of_work: Field) -> None:
    first = "if 'GCM_NODE' in os.environ:\n    raise OSError('the licence server is away')"
    prepare(field_of_work, first=first)
    code, output, errors = field_of_work.deploy("--quiet", "app.xml").end()
    assert (code, output) == (203, "")
    assert "the assembly cannot be made" in errors
    assert "the module of the content 'parts:Chief' cannot be imported there" in errors
    assert "/app/chief" in errors
    assert f'File "{field_of_work.folder}/parts.py", line 7, in <module>' in errors
    assert "OSError: the licence server is away" in errors
    assert "/nodes/office/desk/node0" in errors


def test_a_constructor_that_fails_on_its_node_shows_its_lines(field_of_work: Field) -> None:
    module = PARTS.format(first="", run="pass", seconds=1).replace(
        "    def slowly",
        "    def __init__(self):\n        raise KeyError('no key')\n    def slowly",
    )
    prepare(field_of_work)
    (field_of_work.folder / "parts.py").write_text(module)
    code, _, errors = field_of_work.deploy("--quiet", "app.xml").end()
    assert code == 203
    assert "the content parts:Worker could not be made: KeyError: 'no key'" in errors
    assert "raise KeyError('no key')" in errors


def test_a_python_that_ends_at_once_shows_its_words(field_of_work: Field) -> None:
    prepare(field_of_work)
    fake = field_of_work.folder / "python"
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *runtime.node*) echo no memory >&2; exit 5;; esac\n'
        f'exec {sys.executable} "$@"\n'
    )
    fake.chmod(0o755)
    path = field_of_work.folder / "app.xml"
    front_end = f'<front-end python="{fake}"/>'
    path.write_text(path.read_text().replace("<nodes", f"{front_end}<nodes"))
    code, _, errors = field_of_work.deploy("--quiet", "app.xml").end()
    assert code == 203
    assert "the process for the components of this node ended before it was ready" in errors
    assert "    exit code 5\n    no memory\n" in errors


ROUND = """
import os, time
from typing import Annotated, Protocol
from gcm import Cardinality, provides, requires, submit

class Run(Protocol):
    def run(self) -> str: ...

class Member(Protocol):
    def take_part(self, seconds: float) -> str: ...

class Join(Protocol):
    def join(self, name: str) -> str: ...

@provides("member", Member)
class Part:
    all: Annotated[Join, requires()]
    def take_part(self, seconds):
        if seconds:
            print("pid", os.getpid(), flush=True)
            time.sleep(seconds)
        return self.all.join(os.environ["GCM_NODE"])

@provides("join", Join, cardinality=Cardinality.GATHERCAST)
class Meeting:
    def join(self, name):
        return [f"with {', '.join(name)}"] * len(name)

@provides("run", Run)
class Chief:
    first: Annotated[Member, requires()]
    second: Annotated[Member, requires()]
    def run(self):
        lost = submit(self.second.take_part, 1000.0)
        for _ in range(2):
            try:
                print(self.first.take_part(0.0), flush=True)
            except Exception as error:
                print(type(error).__name__, error.what, flush=True)
        return type(lost.exception(10.0)).__name__
"""
ADL_OF_ROUND = """
<interface name="run" role="server" signature="parts.Run"/>
<component name="chief"><content class="parts.Chief"/></component>
<component name="one"><content class="parts.Part"/><virtual-node name="head"/></component>
<component name="two"><content class="parts.Part"/><virtual-node name="hands"/></component>
<component name="meeting">
  <interface name="join" role="server" signature="parts.Join" cardinality="gathercast"
             when-left="{policy}"/>
  <content class="parts.Meeting"/>{place}
</component>
<binding client="this.run" server="chief.run"/>
<binding client="chief.first" server="one.member"/>
<binding client="chief.second" server="two.member"/>
<binding client="one.all" server="meeting.join"/>
<binding client="two.all" server="meeting.join"/>
"""


@pytest.mark.parametrize("place", ["", '<virtual-node name="head"/>'], ids=["here", "on a node"])
@pytest.mark.parametrize(("policy", "told"), [("go-on", "with"), ("refuse", "GathercastMember")])
def test_a_round_ends_at_once_where_the_node_of_a_member_is_killed(
    field_of_work: Field, place: str, policy: str, told: str
) -> None:
    adl = ADL_OF_ROUND.format(policy=policy, place=place)
    field_of_work.write(ROUND, adl, MAPPING)
    descriptor = field_of_work.folder / "app.xml"
    document = descriptor.read_text()
    descriptor.write_text(document.replace("<assembly ", '<assembly on-loss="go-on" '))
    running = field_of_work.deploy()
    os.kill(int(running.until("pid").split()[1]), signal.SIGKILL)
    code, output, errors = running.end()
    first, second, result = [line for line in output.splitlines() if "pid" not in line][:3]
    assert first.startswith(told)
    assert second == "with office/desk/node0"
    assert result == "ChannelClosed"
    assert code == 0, errors
    words = "lab/rack/blade1: the process of this node has ended, and with it /app/two: "
    assert words in errors
    assert field_of_work.wait_until_gone() == []


def test_what_fails_at_the_end_is_told_though_what_a_lost_node_causes_is_not(
    field_of_work: Field,
) -> None:
    hooks = """
    def on_stop(self):
        from runtime.transport.errors import ChannelClosed
        raise ChannelClosed("the node has gone")
@provides("join", """
    module = ROUND.replace('\n@provides("join", ', hooks)
    module += "    def on_terminate(self):\n        raise ValueError('the chief cannot end')\n"
    field_of_work.write(module, ADL_OF_ROUND.format(policy="go-on", place=""), MAPPING)
    descriptor = field_of_work.folder / "app.xml"
    document = descriptor.read_text()
    descriptor.write_text(document.replace("<assembly ", '<assembly on-loss="go-on" '))
    running = field_of_work.deploy()
    os.kill(int(running.until("pid").split()[1]), signal.SIGKILL)
    code, _, errors = running.end()
    assert code == 1
    assert "the assembly could not be ended: " in errors
    assert "ValueError: the chief cannot end" in errors
    assert "the node has gone" not in errors
    assert field_of_work.wait_until_gone() == []


CIRCLE = """
from typing import Annotated, Protocol
from gcm import provides, requires

class Run(Protocol):
    def run(self) -> str: ...

class Work(Protocol):
    def say(self, text: str) -> str: ...

class Told:
    def say(self, text):
        print(type(self).__name__, "hears", text, flush=True)
        return "well"
    def on_stop(self):
        print(type(self).__name__, "stops", flush=True)
    def on_terminate(self):
        print(type(self).__name__, "ends", flush=True)

@provides("run", Run)
@provides("work", Work)
class A(Told):
    one: Annotated[Work, requires()]
    two: Annotated[Work, requires()]
    def on_start(self):
        print("A starts", self.one.say("A"), self.two.say("A"), flush=True)
    def run(self):
        return "ran"

@provides("work", Work)
class B(Told):
    back: Annotated[Work, requires()]
    def on_start(self):
        print("B starts", self.back.say("B"), flush=True)
        if {fails}:
            raise ValueError("B cannot start")

@provides("work", Work)
class D(Told):
    back: Annotated[Work, requires()]
    def on_start(self):
        print("D starts", self.back.say("D"), flush=True)
"""
ADL_OF_CIRCLE = """
<interface name="run" role="server" signature="parts.Run"/>
<component name="a"><content class="parts.A"/><virtual-node name="head"/></component>
<component name="b"><content class="parts.B"/><virtual-node name="hands"/></component>
<component name="d"><content class="parts.D"/><virtual-node name="head"/></component>
<binding client="this.run" server="a.run"/>
<binding client="a.one" server="b.work"/>
<binding client="a.two" server="d.work"/>
<binding client="b.back" server="a.work"/>
<binding client="d.back" server="a.work"/>
"""


@pytest.mark.parametrize("fails", [False, True])
def test_hooks_that_call_each_other_in_a_circle_are_told_as_in_one_process(
    field_of_work: Field, fails: bool
) -> None:
    field_of_work.write(CIRCLE.replace("{fails}", str(fails)), ADL_OF_CIRCLE, MAPPING)
    _, here, _ = field_of_work.run()
    code, there, errors = field_of_work.deploy().end()
    assert bool(code) is fails, errors
    assert sorted(there.splitlines()) == sorted(here.splitlines())
    assert ("ValueError: B cannot start" in errors) is fails
    assert f"{ROOT}/runtime/" not in errors  # nor any other frame but those of the program
    assert field_of_work.wait_until_gone() == []
