"""Documents as Fractal and GCM projects have them are read, checked, and made where that can be."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gcm import AttributeController, Component, FactoryController, running
from gcm.adl import export, load
from gcm.cli import main
from gcm.errors import AdlError
from runtime.cli import main as deploy
from runtime.cli.line.options import read_options
from runtime.cli.load import load_deployment

FILES = Path(__file__).parent / "files"
REFUSED = {
    "EndlessNesting": "definition-cycle",
    "Membrane": "unknown-controller",
    "MixedTemplate": "template-mixture",
    "NoSuchPart": "unknown-interceptor",
    "OneResult": "illegal-type",
    "Outside": "unknown-component",
    "PlainClass": "illegal-type",
}
DOCUMENTS = sorted(one for one in FILES.rglob("*.fractal") if one.stem not in REFUSED)
HOSTS = FILES / "hosts" / "lists.xml"
MARKET = FILES / "structure" / "org" / "example" / "market"


@pytest.fixture
def abstract(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Component]:
    """Make the assembly of one of the documents whose classes are there."""
    monkeypatch.syspath_prepend(str(FILES / "abstract"))
    return lambda name: load(FILES / "abstract" / f"{name}.fractal")


def echo(component: Component, text: str) -> str:
    stub: Any = component.server("echo").stub
    with running(component):
        return str(stub.echo(text))


def test_the_structure_of_all_files_is_checked_in_one_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [*DOCUMENTS, HOSTS]
    assert {one.relative_to(FILES).parts[0] for one in files} == {
        *("structure", "abstract", "lookup", "membranes"),  # points 1 to 4 of what people bring
        *("semantics", "hosts", "drawing"),
    }
    assert main(["check", "--structure", *map(str, files)]) == 0
    told = capsys.readouterr().out.splitlines()
    (note,) = (line for line in told if line.startswith("note: "))
    assert "37 classes are not there" in note
    assert told[-1].startswith(f"{len(files)} files, no fault")


def test_what_the_specification_forbids_is_refused_with_one_fault_in_each_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [str(FILES / "refused" / f"{name}.fractal") for name in REFUSED]
    path = str(FILES / "semantics")
    assert main(["check", "--path", path, *files]) == 1
    out = capsys.readouterr().out
    told = re.findall(r"(\w+)\.fractal:\d+: error\[(.*?)\]", out)
    assert sorted(told) == sorted(REFUSED.items())
    assert "'voice' is inside 'box': bind an interface of 'box'" in out


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("Survey", "ab/2 ab/2"),
        ("EmptyCollection", "ab 0"),
        ("Watched", "ab started"),
    ],
)
def test_what_bindings_and_collections_mean_is_seen_when_they_run(
    name: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FILES / "semantics"))
    assert echo(load(FILES / "semantics" / f"{name}.fractal"), "ab") == answer


def test_the_parts_of_a_composite_may_be_of_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FILES / "semantics"))
    nested: Any = load(FILES / "semantics" / "Nested.fractal")
    with running(nested):
        assert nested.server("all").stub.echo("ab") == ["ab", "ab"]


def test_the_lists_of_hosts_in_a_file_stand_for_the_hosts_that_are_meant() -> None:
    deployment = load_deployment(read_options([str(HOSTS)]))
    assert deployment is not None
    (process,) = deployment.processes
    assert process.hosts == (
        *("node0", "node2", "node3", "node4", "node5"),
        *("gate", "::1", "fd00::1", "fd00::2"),
    )


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.stem)
def test_every_file_is_drawn_without_its_classes(file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    assert main(["draw", "--structure", str(file), "-o", str(picture)]) == 0
    assert picture.read_text("utf-8").startswith("<svg")


def test_a_long_chain_whose_branches_share_an_end_is_drawn_in_several_rows(tmp_path: Path) -> None:
    client = '<interface name="{}" role="client" contingency="optional" signature="java.In"/>'
    stage = (
        '<component name="s{}"><interface name="in" role="server" signature="java.In"/>'
        f'{client.format("out")}{client.format("end")}<content class="java.S{{}}"/></component>'
    )
    link = '<binding client="s{}.out" server="s{}.in"/><binding client="s{}.end" server="s49.in"/>'
    parts = "".join(stage.format(one, one) for one in range(50))
    links = "".join(link.format(one, one + 1, one) for one in range(49))
    (tmp_path / "Chain.fractal").write_text(f'<definition name="Chain">{parts}{links}</definition>')
    picture = tmp_path / "chain.svg"
    words = ["draw", "--structure", str(tmp_path / "Chain.fractal"), "-o", str(picture)]
    assert main(words) == 0
    width = re.search(r'<svg [^>]*width="(\d+)', picture.read_text())
    assert width is not None
    assert int(width[1]) <= 2600


def test_a_picture_marks_what_is_special_and_folds_what_is_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["draw", "--structure", str(FILES / "drawing" / "Crowd.fractal")]) == 0
    drawn = capsys.readouterr().out
    for marked in ("member0 … member11", "meter", "guard", "multicast", "gathercast"):
        assert marked in drawn, marked


def test_without_that_each_missing_class_is_a_fault_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", str(MARKET / "Exchange.fractal")]) == 1
    assert capsys.readouterr().out.count("error[missing-module]") > 3


@pytest.mark.parametrize("command", ["show", "draw"])
def test_a_structure_is_shown_and_drawn(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    market = str(MARKET / "Market.fractal")
    assert main([command, "--structure", market]) == 0
    told = capsys.readouterr()
    assert all(word in told.out for word in ("exchange", "Bull", "desk"))
    assert "13 classes are not there" in told.err
    assert main([command, market]) == 1
    assert f"gcm check --structure {market}" in capsys.readouterr().err


FAULTY = """
<definition name="App">
  <component name="farm">
    <interface name="work" role="client" cardinality="collection" signature="java.Work"/>
    <interface name="broken" role="client" cardinality="collection" signature="java.Work"
               contingency="maybe"/>
    <content class="java.Farm"/>
  </component>
  <component name="worker">
    <interface name="work" role="server" signature="java.OtherWork"/>
    <content class="java.Worker"/>
  </component>
  <binding client="farm.work1" server="worker.work"/>
  <binding client="farm.broken1" server="worker.work"/>
  <binding client="worker.work" server="farm.work2"/>
  <binding client="farm.work3" server="worker.wrok"/>
</definition>
"""


def test_what_needs_no_class_is_checked_and_nothing_follows_from_those_that_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "App.fractal"
    file.write_text(FAULTY.strip(), "utf-8")
    assert main(["check", "--structure", str(file)]) == 1
    told = capsys.readouterr().out
    codes = re.findall(r"error\[(.*?)\]", told)
    assert codes == ["unknown-contingency", "wrong-role", "unknown-interface"]
    assert "did you mean 'work'?" in told


def test_a_part_may_be_left_to_whoever_extends(abstract: Callable[[str], Component]) -> None:
    assert echo(abstract("FilledLine"), "ab") == "abab"
    with pytest.raises(AdlError) as refused:
        abstract("Line")
    (found,) = refused.value.diagnostics
    assert (found.code, found.path, found.location.line) == ("missing-content", "/Line/last", 6)


def test_a_composite_has_attributes_and_its_document_is_written_again(
    abstract: Callable[[str], Component], tmp_path: Path
) -> None:
    tuned = abstract("Tuned")
    attributes = tuned.controller(AttributeController)
    assert (attributes.get("limit"), echo(tuned, "ab")) == (7, "abab")
    again = tmp_path / "Tuned.fractal"
    again.write_text(export(tuned), "utf-8")
    assert export(load(again)) == again.read_text("utf-8")


def test_a_template_makes_components_and_is_written_as_one(
    abstract: Callable[[str], Component], tmp_path: Path
) -> None:
    template = abstract("Template")
    first, second = (template.controller(FactoryController).new_instance() for _ in range(2))
    assert (echo(first, "ab"), echo(second, "c")) == ("ababab", "ccc")
    again = tmp_path / "Template.fractal"
    again.write_text(export(template), "utf-8")
    made = load(again).controller(FactoryController).new_instance()
    assert echo(made, "ab") == "ababab"


def test_templates_and_components_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "Template.fractal"
    text = (FILES / "abstract" / "Template.fractal").read_text("utf-8")
    inside = '    <template-controller desc="parametricPrimitiveTemplate"/>\n'
    file.write_text(text.replace(inside, ""), "utf-8")
    with pytest.raises(AdlError, match="is not a template and is inside 'Template'"):
        load(file, roots=[FILES / "abstract"])


def test_a_shared_component_takes_the_place_of_an_inline_one(
    abstract: Callable[[str], Component],
) -> None:
    shared = abstract("Shared")
    assert shared.find("right/last") is shared.find("left/last")
    assert echo(shared.find("right"), "ab") == "abab"


def test_virtual_nodes_are_composed_of_nested_and_of_local_ones(
    abstract: Callable[[str], Component],
) -> None:
    nodes = abstract("Nodes").notes.exported_nodes
    assert [one.composed_from for one in nodes] == [(("deep", "workers"),), (("box", "null"),)]


def test_a_full_name_is_not_taken_by_a_file_beside_the_one_that_refers_to_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = FILES / "lookup" / "org" / "apps" / "App.fractal"
    assert main(["show", "--structure", str(app)]) == 0
    shown = capsys.readouterr().out
    assert "far  primitive  org.parts.Unit" in shown
    assert "near  primitive  org.parts.Neighbour" in shown


def test_every_file_that_was_looked_at_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lookup = shutil.copytree(FILES / "lookup", tmp_path / "lookup")
    (lookup / "org" / "parts" / "Unit.fractal").unlink()
    assert main(["check", "--structure", str(lookup / "org" / "apps" / "App.fractal")]) == 1
    told = capsys.readouterr().out
    assert "no definition 'org.parts.Unit'" not in told, "the one beside it fits by its short name"
    (lookup / "org" / "apps" / "Unit.fractal").unlink()
    assert main(["check", "--structure", str(lookup / "org" / "apps" / "App.fractal")]) == 1
    told = capsys.readouterr().out
    assert "there is no definition 'org.parts.Unit'" in told
    for place in ("org/parts/Unit", "org/apps/org/parts/Unit", "org/apps/Unit", "Unit"):
        assert str(lookup / f"{place}.fractal") in told


# ------------------------------------------------------------------------------------------ port


@pytest.fixture
def ported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """Port the market; its package is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    assert port(tmp_path) == 0
    assert main(["check", *documents(tmp_path)]) == 0
    forget()
    capsys.readouterr()
    return tmp_path


def port(output: Path) -> int:
    return main(["port", str(MARKET / "Market.fractal"), "--package", "market", "-o", str(output)])


def documents(output: Path) -> list[str]:
    return [str(one) for one in sorted(output.rglob("*.fractal"))]


def forget() -> None:
    for name in [one for one in sys.modules if one.partition(".")[0] == "market"]:
        del sys.modules[name]


INTERFACES = {
    "Quotes(Protocol)": "def price(self) -> int: ...",
    "Time(Protocol)": "def now(self) -> int: ...",
    "Log(Protocol)": "def note(self, text: str) -> None: ...",
    "Store(Protocol)": "def keep(self, text: str) -> None: ...",
}
COMPONENTS = {
    "Book": "def price(self) -> int: return 100 + self.time.now()",
    "WallClock": "def now(self) -> int: return 7",
    "Journal": "def note(self, text: str) -> None: self.store.keep(text.upper())",
    "Archive": "def keep(self, text: str) -> None: print('kept', text)",
}


def fill(file: Path, methods: dict[str, str], **lines: str) -> None:
    text = file.read_text("utf-8")
    for name, method in methods.items():
        text = re.sub(
            rf"^class {re.escape(name)}:.*$", rf"\g<0>\n    {method}", text, flags=re.MULTILINE
        )
    for old, new in lines.items():
        text = text.replace(f'raise NotImplementedError("org.example.market.lib.{old}: run")', new)
    file.write_text(text, "utf-8")


def test_the_skeletons_of_ten_components_are_filled_in_and_run(
    ported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trade = "self.log.note(f'bull {self.quotes.price()} {self.budget} {self.greedy}')"
    fill(ported / "market" / "interfaces.py", INTERFACES)
    fill(ported / "market" / "components.py", COMPONENTS, Bull=trade)
    market = str(ported / "org" / "example" / "market" / "Market.fractal")
    assert main(["run", market, "--interface", "r"]) == 0
    assert capsys.readouterr().out == "kept BULL 107 500 TRUE\n"


def test_what_is_there_stays_and_gets_what_it_lacks(
    ported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    components = ported / "market" / "components.py"
    text = components.read_text("utf-8")
    own = text.replace('"org.example.market.lib.Bull: run"', '"mine"')
    begin = own.index('@provides("r", Runnable)\nclass Bear')
    end = own.index('@provides("quotes"')
    components.write_text(own[:begin] + own[end:], "utf-8")
    assert port(ported) == 0
    assert "components.py: Bear\n" in capsys.readouterr().out
    again = components.read_text("utf-8")
    assert '"mine"' in again
    assert again.count("class Bear:") == 1
    assert port(ported) == 0
    assert "components.py: kept as it is\n" in capsys.readouterr().out
    assert components.read_text("utf-8") == again


@pytest.mark.parametrize(
    ("file", "kind", "todo"),
    [
        ("foreign/application.xml", "a GCM application descriptor", "<virtual-node name="),
        ("foreign/deployment.xml", "a GCM deployment descriptor", "as the <grid>"),
        (
            "membranes/controllers/counted-config.xml",
            "a file that lists controllers of a membrane",
            '<controller desc="...">',
        ),
    ],
)
def test_other_files_of_gcm_projects_are_told_what_they_are(
    file: str, kind: str, todo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FILES / file)
    assert main(["check", path]) == 1
    checked = capsys.readouterr().out
    assert f"the document is {kind}, and no ADL document. " in checked
    assert deploy([path]) != 0
    deployed = capsys.readouterr().err
    assert f"the document is {kind}, and no descriptor of gcm-deploy. " in deployed
    assert todo in checked
    assert todo in deployed


def test_a_part_that_others_supply_may_be_missing_unless_it_is_misspelled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    supplied = FILES / "abstract" / "Supplied.fractal"
    assert main(["check", "--structure", str(supplied)]) == 0
    told = capsys.readouterr().out
    assert "warning[unknown-component]: the server end 'worker.echo' names no component" in told
    assert "supply it in a definition that extends this one" in told
    wrong = tmp_path / "Supplied.fractal"
    wrong.write_text(supplied.read_text().replace("worker.echo", "bakc.echo"))
    assert main(["check", "--structure", str(wrong)]) == 1
    assert "did you mean 'back'" in capsys.readouterr().out


def test_a_part_of_a_membrane_that_is_missing_is_no_missing_class(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "--structure", str(FILES / "refused" / "NoSuchPart.fractal")]) == 1
    told = capsys.readouterr().out
    assert "error[unknown-interceptor]: " in told
    assert "'nothere'" in told
    assert "nothere.services" not in told.partition("note: ")[2]


def test_classes_that_an_heir_replaces_get_skeletons_as_their_documents_are_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heir = str(FILES / "abstract" / "Heir.fractal")
    assert main(["port", heir, "--package", "heirs_app", "--output", str(tmp_path)]) == 0
    (line,) = (one for one in capsys.readouterr().out.splitlines() if one.startswith("Next: "))
    assert "Supplied.fractal" in line
    components = (tmp_path / "heirs_app" / "components.py").read_text()
    assert {"Back", "Better"} <= set(re.findall(r"^class (\w+):", components, re.MULTILINE))
    command = line.removeprefix("Next: gcm ").split()
    assert main([*command[:1], "--structure", *command[1:]]) == 0
    told = capsys.readouterr().out
    assert "are not there" not in told
    assert "is not there" not in told
