"""Every example is exported to a document that makes the same assembly again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Parts of an assembly that need values of arguments cannot be made alone.
from tools.on_grids import ROOT

DOCUMENTS = sorted(
    path
    for path in ROOT.glob("examples/*/*.fractal")
    if 'name="run"' in path.read_text(encoding="utf-8")
    and path.stem != "from_java"  # whose classes are not ported
)
PROGRAM = """
import sys
from pathlib import Path
from gcm.adl import assemble, export, plan_document
from gcm.documents import Diagnostics

def exported(file, roots=()):
    diagnostics = Diagnostics()
    plan = plan_document(file, roots=roots, diagnostics=diagnostics)
    assert plan is not None, list(map(str, diagnostics))
    root = assemble(plan)
    text = export(root)
    root.terminate()
    return root.name, text

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
name, first = exported(source)
(folder / f"{name}.fractal").write_text(first)
name, second = exported(folder / f"{name}.fractal", [source.parent])
assert first == second, second
print(first.count("<component"))
"""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.parent.name)
def test_the_export_of_an_example_makes_it_again(
    document: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(document), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 1
