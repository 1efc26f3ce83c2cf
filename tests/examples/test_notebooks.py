"""The notebooks are run cell by cell, as Jupyter does, and show what is here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert failed.startswith("1 exit code 1, ValueError: invalid literal")
    assert "\nmachine='2x' is no machine. machine=4 is 4 ranks here" in failed


SHELL = r"""
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        done = shell.run_cell("".join(cell["source"]))
        print("--- end of cell", flush=True)
        if not done.success:
            break
"""
"""Runs the cells in IPython, which knows magics."""


def test_the_notebook_of_a_class_measures_lines_explains_a_ring_and_compares_plans(
    tmp_path: Path,
) -> None:
    done = in_ipython(SHELL, ROOT / "examples" / "50_notebooks" / "class.ipynb", folder=tmp_path)
    loaded, measured, ring, drawn, plans, *lines = done.stdout.split("--- end of cell\n")[:-1]
    assert loaded == ""
    assert measured == (
        "to rank 1 and back: less than 20 ms\nto rank 2 and back: more than 20 ms\n"
    ), done
    assert ring.count("waits in recv from rank") == 4
    assert drawn.count("<circle") == 4
    assert re.fullmatch(r"((flat|chain) the last rank had it after \d+ ms\n){2}", plans), done
    assert [line.count("<rect") for line in lines] == [4, 4]


CELL = r"""
import os, signal, threading
from pathlib import Path
gcm_file = f"cell_{os.uname().nodename}_PID_abcdefgh.py"
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
shell.run_cell("%load_ext runtime")

def interrupt():
    while not Path("goes").exists():
        threading.Event().wait(0.05)
    os.kill(os.getpid(), signal.SIGINT)

shell.run_cell("%%gcm -n 2\nprint('said', flush=True)\nraise ValueError('no good')")
print("---")
shell.run_cell("%%gcm --nn 2\npass")
print("---")
shell.run_cell("%%gcm -n 1\npass")
Path(gcm_file.replace("PID", "999999999")).touch()
Path(gcm_file.replace("PID", str(os.getpid()))).touch()
shell.run_cell("print(gcm_result.code)\n%reload_ext runtime")
print(sorted(os.listdir()) == [gcm_file.replace("PID", str(os.getpid()))])
shell.run_cell("%%gcm -n 4 --set x='\npass")
shell.run_cell("print('gcm_result' in dir())")
os.unlink(gcm_file.replace("PID", str(os.getpid())))
print("---")
shell.run_cell("%%gcm --help\npass")
print("---")
threading.Thread(target=interrupt).start()
shell.run_cell("%%gcm -n 1\nimport time\nopen('goes', 'w')\ntime.sleep(600)")
print("---", sorted(os.listdir()))
"""


def test_a_cell_that_fails_or_is_interrupted_is_one_message_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    done = in_ipython(CELL, folder=tmp_path)
    failed, refused, again, helped, interrupted, left = done.stdout.split("---")
    assert failed.startswith("said\n"), done
    assert "RunFailed: rank " in failed
    assert "ValueError: no good" in failed
    assert "runs.py" not in failed
    assert refused.startswith("\nUsageError: unrecognized arguments: --nn")
    assert again == (
        "\n0\nTrue\nUsageError: %%gcm -n 4 --set x=': No closing quotation. It is read as by a"
        " shell: close all quotes\nFalse\n"
    )
    assert helped.endswith("UsageError: nothing was started: --help and its like only print\n")
    assert interrupted == (
        "\nGridError: the run was interrupted, and all its processes have ended\n"
    )
    assert left == " ['goes']\n"


def in_ipython(program: str, *words: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that has a shell of IPython, which keeps its files in the folder's parent."""
    pytest.importorskip("IPython")
    kept = {"IPYTHONDIR": str(folder.with_name("ipython")), "PYTHONPATH": str(ROOT)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-c", program, *words], cwd=folder, capture_output=True, text=True,
        timeout=120, check=False, env={**os.environ, **kept, "PATH": path},
    )  # fmt: skip


def test_the_notebook_of_components_exchanges_a_server_and_draws_it(tmp_path: Path) -> None:
    _, before, printed, after = cells_of("components", tmp_path)
    assert printed == "Hello, world!\nBonjour, world !"
    assert before.startswith("_repr_svg_ <svg ")
    assert after.endswith("</svg>")
    assert before != after
