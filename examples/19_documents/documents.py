"""Documents as data: checked, planned, assembled, exported, ported from Java, and drawn.

    python examples/19_documents/documents.py

`gcm check`, `show`, `draw`, `port` and `run` are these functions with a command line around them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Protocol

from gcm import Runnable, attribute, provides, requires, running
from gcm.adl import (
    AssemblyPlan,
    ComponentPlan,
    MissingClasses,
    Outline,
    Ported,
    assemble,
    check_files,
    describe,
    export,
    has_run,
    load,
    outline_of,
    outline_of_plan,
    plan_document,
    port_files,
    result_of,
    run_operation,
    scene_of,
    scene_of_plan,
)
from gcm.documents import Diagnostic, Diagnostics, Location, Severity
from gcm.drawing import (
    Box,
    Colours,
    OutputError,
    Scene,
    SceneError,
    SceneLink,
    ScenePort,
    check_ending,
    draw,
    write_picture,
)

FOLDER = Path(__file__).parent
MILL, FROM_JAVA = FOLDER / "mill.fractal", FOLDER / "from_java.fractal"


class Grind(Protocol):
    def grind(self, grain: str) -> str: ...


@provides("grind", Grind)
class Stone:
    def grind(self, grain: str) -> str:
        return f"{grain} flour"


@provides("run", Runnable)
class Miller:
    stone: Annotated[Grind, requires()]
    grain: Annotated[str, attribute()] = ""

    def run(self) -> str:
        return self.stone.grind(self.grain)


def planned() -> AssemblyPlan:
    """Check the mill and show its contents, before any component is created."""
    found = Diagnostics()
    plan = plan_document(MILL, arguments={"grain": "oat"}, diagnostics=found)
    assert plan is not None, "the document has no fault"
    parts: tuple[ComponentPlan, ...] = plan.root.components
    print("planned:", plan.count, "components,", ", ".join(part.path for part in parts))
    outline: Outline | None = outline_of(MILL, arguments={"grain": "oat"}, diagnostics=found)
    assert outline is not None
    print("virtual nodes:", *sorted(outline.virtual_nodes()))
    assert outline_of_plan(plan.root).virtual_nodes() == outline.virtual_nodes()
    print("can be run:", has_run(plan.root), "by", run_operation(plan.root, found))
    return plan


def made(plan: AssemblyPlan) -> None:
    """Assemble the mill, run it, and export its document."""
    mill = assemble(plan)
    with running(mill):
        print("result:", result_of(mill.stub("run", Runnable).run()).text)
    print("described:", *(one.name for one in describe(mill).body.components))
    print("written again:", len(export(mill).splitlines()), "lines")


def ported(folder: Path) -> None:
    """Check a document whose classes are in Java, and write skeletons in Python."""
    faults: tuple[Diagnostic, ...] = check_files([FROM_JAVA]).errors
    places: set[Location] = {one.location for one in faults if one.severity is Severity.ERROR}
    print("without classes:", len(faults), "faults in lines", *sorted(one.line for one in places))
    missing = MissingClasses()
    print("structure:", len(check_files([FROM_JAVA], missing=missing).errors), "faults")
    print("missing:", *sorted(missing.stand_ins))
    files: list[Ported] = port_files(
        [FROM_JAVA], package="old_mill", output=folder, diagnostics=Diagnostics()
    )
    for one in files:
        print("port:", one.file.relative_to(folder), "-", one.news)


def drawn(plan: AssemblyPlan, folder: Path) -> None:
    """Draw a plan, a live assembly, and a custom picture."""
    planned, live = draw(scene_of_plan(plan)), draw(scene_of(load(MILL)))
    print("the same picture of both:", planned == live)
    write_picture(planned, str(folder / "mill.svg"), colours=Colours.DARK)
    own = Box(
        "street",
        (ScenePort("door", "server"),),
        (Box("house", (ScenePort("door", "server"),)),),
        (SceneLink(("this", "door"), ("house", "door")),),
        "composite",
    )
    print("of one's own:", draw(Scene(own)).startswith("<svg"))
    try:
        draw(Scene(Box("street", links=(SceneLink(("this", "gate"), ("house", "door")),))))
    except SceneError as error:
        print("refused:", error.faults[0])
    try:
        check_ending("mill.doc")
    except OutputError as error:
        print("refused:", error.what)


def main() -> None:
    plan = planned()
    made(plan)
    with TemporaryDirectory() as folder:
        ported(Path(folder))
        drawn(plan, Path(folder))


if __name__ == "__main__":
    main()
