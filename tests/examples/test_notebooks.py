"""The notebooks are run cell by cell, as Jupyter does, and show what is here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.on_grids import ROOT

KERNEL = r'''
import ast, asyncio, json, sys

def shown(value):
    """Print of the value of a cell what a notebook shows first."""
    for name in ("_repr_html_", "_repr_svg_"):
        if found := getattr(value, name, None):
            return print(name, " ".join(found().split()))
    if value is not None:
        print(repr(value))

async def run(cells):
    for cell in cells:
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        for part, mode in ((tree, "exec"), (last and ast.Expression(last.value), "eval")):
            if part is not None:
                value = eval(compile(part, "cell", mode, flags=flags), globals())
                if asyncio.iscoroutine(value):
                    value = await value
        shown(value if last else None)
        print("--- end of cell")

cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
asyncio.run(run("".join(one["source"]) for one in cells if one["cell_type"] == "code"))
'''
"""Runs the cells in a `__main__` of its own, as a kernel does; cells may await."""


def cells_of(name: str, folder: Path) -> list[str]:
    """Return what each cell of a notebook prints and shows."""
    notebook = ROOT / "examples" / "50_notebooks" / f"{name}.ipynb"
    done = subprocess.run(
        [sys.executable, "-c", KERNEL, notebook], cwd=folder, capture_output=True, text=True,
        timeout=120, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    return [one.strip("\n") for one in done.stdout.split("--- end of cell")[:-1]]


def test_the_notebook_of_a_grid_runs_programs_and_explains_a_deadlock(tmp_path: Path) -> None:
    _, shown, printed, waits, gathered, failed = cells_of("grid", tmp_path)
    assert shown.startswith("_repr_html_ <p><b>pi: exit code 0; 8 ranks in 4 clusters; ")
    assert '<img alt="the machine" src="data:image/svg+xml;base64,' in shown
    assert shown.count("<td>done</td>") == 8
    assert "pi is 3.141593" in shown
    assert printed == f"pi is 3.141593\n {[True] * 8}"
    assert waits.startswith("['rank 0 (site0/cluster0 0) waits in recv from rank 1 (")
    assert waits.endswith("which waits in recv from rank 0 (site0/cluster0 0) (stuck.py:5)']")
    assert gathered == "['pi is 3.142426', 'pi is 3.141593']"
    assert failed.startswith("1 exit code 1\nmachine='2x' is no machine. machine=4 is 4 ranks here")


def test_the_notebook_of_components_exchanges_a_server_and_draws_it(tmp_path: Path) -> None:
    _, before, printed, after = cells_of("components", tmp_path)
    assert printed == "Hello, world!\nBonjour, world !"
    assert before.startswith("_repr_svg_ <svg ")
    assert after.endswith("</svg>")
    assert before != after
