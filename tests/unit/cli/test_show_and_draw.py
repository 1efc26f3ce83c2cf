"""`gcm show` and `gcm draw` tell what an assembly is made of."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gcm.cli.output import Paint, counted

Gcm = Callable[..., tuple[int, str, str]]
RICH = str(Path(__file__).parents[1] / "adl" / "assemblies" / "Rich.fractal")

TREE = """\
Rich  composite
├─ server run: Runnable → main.run
├─ virtual node all = main.front
├─ main  active  rich_parts.Main  on front (multiple)
│  ├─ server run: Runnable
│  ├─ client workers: Spread (multicast) → w2.work, left.work
│  ├─ client spare: Work (collection) → sparez w2.work, sparea left.work
│  └─ logger rich.main
├─ left  composite
│  ├─ server work: Work (intercepted by CallLog) → w1.work
│  ├─ client sum: Adding → sum.add
│  ├─ w1  primitive  rich_parts.Worker
│  │  ├─ server work: Work (intercepted by watch.watching)
│  │  ├─ client sum: Adding → this.sum
│  │  ├─ client store: Store (optional) → cache.store
│  │  ├─ attribute size = 9
│  │  ├─ attribute name = ' ${x}, <"\\n'
│  │  ├─ attribute ratios = 1.5, 2.0
│  │  ├─ attribute colour = BLUE
│  │  └─ membrane
│  │     ├─ server stats: Work → watch.stats
│  │     └─ watch  primitive  rich_parts.Watch
│  │        ├─ server watching: Interceptor
│  │        ├─ server stats: Work
│  │        └─ client target: LifeCycleController → this.lifecycle-controller
│  └─ cache  counted  rich_parts.Cache
│     └─ server store: Store
├─ w2  active  rich_parts.Worker  on back (single)
│  ├─ server work: Work
│  ├─ client sum: Adding → sum.add
│  └─ client store: Store (optional)
├─ sum  parametric  rich_parts.Adder
│  ├─ server add: Adding (gathercast)
│  └─ client store: Store → cache.store
└─ cache  shared: /Rich/left/cache
8 components
"""


def test_the_tree_shows_everything(gcm: Gcm) -> None:
    code, out, err = gcm("show", RICH)
    assert (code, err) == (0, "")
    assert out == TREE


def test_arguments_are_set(gcm: Gcm, hello: str) -> None:
    assert "attribute name = world" in gcm("show", hello)[1]
    assert "attribute name = moon" in gcm("show", hello, "--set", "who=moon")[1]


def test_an_unknown_argument_is_told_with_the_nearest_name(gcm: Gcm, hello: str) -> None:
    code, out, err = gcm("show", hello, "--set", "whom=moon")
    assert (code, out) == (1, "")
    assert err == (
        f"{hello}:1: error[unknown-argument]: 'hello' has no argument 'whom'. "
        "did you mean 'who'?\n1 fault\n"
    )


def test_how_to_give_a_missing_argument_is_told(gcm: Gcm, tmp_path: Path) -> None:
    file = tmp_path / "needy.fractal"
    file.write_text('<definition name="needy" arguments="a"><component name="x"/></definition>')
    _, _, err = gcm("show", str(file))
    assert "error[missing-argument]" in err
    assert err.endswith("\nArguments of this definition are given with --set NAME=VALUE\n")


def test_programs_get_the_tree_as_json(gcm: Gcm, hello: str) -> None:
    code, out, _ = gcm("show", "--format", "json", hello)
    told = json.loads(out)
    module = told["components"][0]["content"].partition(":")[0]
    assert code == 0
    assert told["name"] == "hello"
    assert told["interfaces"] == [
        {
            "name": "run",
            "role": "server",
            "signature": f"{module}:Runnable",
            "contingency": "mandatory",
            "cardinality": "singleton",
        }
    ]
    assert told["bindings"] == [
        {"client": "this.run", "server": "client.run"},
        {"client": "client.greeter", "server": "server.greeter"},
    ]
    client = told["components"][0]
    assert (client["path"], client["kind"]) == ("/hello/client", "primitive")
    assert client["attributes"] == {"name": "world"}
    assert client["virtual_node"] == {"name": "front", "cardinality": "single"}
    assert (client["file"], client["line"]) == (hello, 3)
    assert "components" not in client


def test_an_exported_virtual_node_of_null_is_shown_as_local(gcm: Gcm, tmp_path: Path) -> None:
    nodes = "".join(
        f'<exportedVirtualNode name="{name}"><composedFrom><composingVirtualNode {of}/>'
        "</composedFrom></exportedVirtualNode>"
        for name, of in [
            ("here", 'component="null" name="VN2"'),
            ("all", 'component="this" name="own"'),
        ]
    )
    file = tmp_path / "Local.fractal"
    file.write_text(
        f'<definition name="Local"><exportedVirtualNodes>{nodes}</exportedVirtualNodes>'
        '<content class="java.Main"/><virtual-node name="own"/></definition>'
    )
    told = gcm("show", "--structure", str(file))[1]
    assert "virtual node here = local\n" in told
    assert "virtual node all = this.own\n" in told
    shown = json.loads(gcm("show", "--structure", "--format", "json", str(file))[1])
    assert shown["exported_virtual_nodes"] == {"here": ["local"], "all": ["this.own"]}


def test_the_json_of_a_rich_assembly_has_all_its_parts(gcm: Gcm) -> None:
    told = json.loads(gcm("show", "--format", "json", RICH)[1])
    w1 = told["components"][1]["components"][0]
    assert told["exported_virtual_nodes"] == {"all": ["main.front"]}
    assert told["shared"] == {"cache": "/Rich/left/cache"}
    assert told["components"][0]["logger"] == "rich.main"
    assert told["components"][1]["interfaces"][0]["interceptors"] == ["CallLog"]
    assert told["components"][1]["components"][1]["membrane"] == "counted"
    assert w1["interfaces"][0]["interceptors"] == ["watch.watching"]
    assert w1["attributes"] == {
        "size": 9,
        "name": ' ${x}, <"\n',
        "ratios": [1.5, 2.0],
        "colour": "BLUE",
    }
    assert [one["name"] for one in w1["controller"]["components"]] == ["watch"]
    assert w1["controller"]["bindings"] == [
        {"client": "watch.target", "server": "this.lifecycle-controller"},
        {"client": "this.stats", "server": "watch.stats"},
    ]


def test_a_terminal_gets_colours_and_a_file_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Paint.on(sys.stdout)("x", "bold", "red") == "\033[1;31mx\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Paint.on(sys.stdout)("x", "bold") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not Paint.on(sys.stdout).enabled


def test_numbers_have_the_right_form_of_the_word() -> None:
    assert [counted(number, "fault") for number in (0, 1, 2)] == ["0 faults", "1 fault", "2 faults"]


def test_a_picture_is_written_to_a_file(gcm: Gcm, hello: str, tmp_path: Path) -> None:
    picture = tmp_path / "hello.svg"
    assert gcm("draw", hello, "-o", str(picture)) == (0, "", "")
    texts = {element.text for element in ElementTree.parse(picture).iter() if element.text}
    assert {"hello", "client", "server", "greeter"} <= texts


def test_a_picture_goes_to_standard_output_otherwise(gcm: Gcm, hello: str) -> None:
    code, out, _ = gcm("draw", hello)
    assert code == 0
    assert out.startswith("<svg")


def test_a_picture_that_cannot_be_written_is_told(gcm: Gcm, hello: str, tmp_path: Path) -> None:
    target = str(tmp_path / "none" / "x.svg")
    assert gcm("draw", hello, "-o", target) == (
        1,
        "",
        f"gcm draw: cannot write '{target}': No such file or directory\n",
    )


def test_a_document_with_faults_is_not_drawn(gcm: Gcm, tmp_path: Path) -> None:
    code, out, err = gcm("draw", str(tmp_path / "none.fractal"))
    assert (code, out) == (1, "")
    assert "error[missing-file]" in err


def test_an_ending_that_is_no_picture_is_refused_before_anything_is_read(
    gcm: Gcm, tmp_path: Path
) -> None:
    code, out, err = gcm("draw", str(tmp_path / "none.fractal"), "-o", "a.pdf")
    assert (code, out) == (1, "")
    assert err.startswith("gcm draw: ")
    assert "'a.pdf': '.pdf'" in err


def test_colours_and_folding_are_chosen_on_the_command_line(gcm: Gcm, tmp_path: Path) -> None:
    members = "".join(f'<component name="p{n}" definition="Part"/>' for n in range(5))
    (tmp_path / "Part.fractal").write_text(
        '<definition name="Part"><content class="builtins.object"/></definition>'
    )
    file = tmp_path / "All.fractal"
    file.write_text(f'<definition name="All">{members}</definition>')
    _, folded, err = gcm("draw", str(file), "--colours", "light")
    assert "5 × p0 … p4" in folded, err
    assert "prefers-color-scheme" not in folded
    _, unfolded, _ = gcm("draw", str(file), "--unfold")
    assert ">p3</text>" in unfolded
    assert "prefers-color-scheme" in unfolded


@pytest.mark.parametrize("command", ["check", "show", "draw"])
def test_a_document_of_others_is_looked_at_without_running_the_code_beside_it(
    tmp_path: Path, gcm: Gcm, command: str
) -> None:
    module = f"code_of_others_to_{command}"
    (tmp_path / f"{module}.py").write_text("class A: pass\n")
    document = tmp_path / "a.fractal"
    document.write_text(
        f'<definition name="a"><component name="x"><content class="{module}.A"/></component>'
        "</definition>"
    )
    code, _, err = gcm(command, "--no-imports", str(document))
    assert (code, module in sys.modules) == (0, False), err
    gcm(command, "--structure", str(document))
    assert sys.modules.pop(module, None) is not None
