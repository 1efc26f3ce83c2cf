"""A program that imports common packages ends as under plain `mpiexec`: same output, same code.

What a package leaves in the interpreter is met by the end of a rank. Of those that are downloaded
most, these are here or light; among them are all kinds that have ended ranks wrongly.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

ODD = """
    _cffi_backend argon2 brotlicffi cffi cryptography.fernet cryptography.x509 ctypes greenlet
    lxml.etree numpy pyomo.environ zmq
"""
"""Extensions with modules that are none, or have two names, and what has threads or libraries."""

COMMON = """
    Cython IPython Pyro5.api asttokens build click coverage dateutil executing griffe hypothesis
    ipykernel jedi jupyter_client markdown_it msgpack nanobind packaging pathspec pexpect
    platformdirs pluggy prompt_toolkit psutil pybind11 pygments pykka pytest rich setuptools
    sortedcontainers stack_data tornado traitlets typing_extensions
"""

PROGRAM = """
import importlib, os, sys
from mpi4py import MPI

for name in sys.argv[1:]:
    importlib.import_module(name)
total = MPI.COMM_WORLD.allreduce(len(sys.argv))
os.write(1, f"rank {MPI.COMM_WORLD.rank}: {total}\\n".encode())
"""


@pytest.mark.parametrize("names", [ODD, COMMON], ids=["odd", "common"])
def test_a_program_that_imports_packages_ends_as_with_mpiexec(tmp_path: Path, names: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    wanted = {name: name.partition(".")[0] for name in names.split()}
    here = [name for name, package in wanted.items() if find_spec(package)]
    folder = Path(sys.executable).parent
    words = ["-n", "2", "program.py", *here]
    plain = ended([folder / "mpiexec", *words[:2], sys.executable, *words[2:]], tmp_path)
    assert plain[0] == 0, plain
    assert ended([folder / "gcm-deploy", "--quiet", *words], tmp_path) == plain
    if missing := wanted.keys() - set(here):
        pytest.skip(f"the others passed; not installed: {', '.join(sorted(missing))}")


SEARCH = """
import os, sys
from mpi4py import MPI

places = [os.path.basename(one) for one in sys.path]
here = sys.path.index(sys.argv[1])
os.write(1, f"{'site-packages' in places[:here]}\\n".encode())
"""


def test_ranks_of_an_editable_install_look_into_installed_packages_first(tmp_path: Path) -> None:
    """Some have a module `setup`, `tests` or `tools`, as the checkout has."""
    if str(ROOT) not in sys.path[sys.path.index(sysconfig.get_path("purelib")) :]:
        pytest.skip("this is no editable install")
    (tmp_path / "program.py").write_text(SEARCH)
    gcm_deploy = Path(sys.executable).parent / "gcm-deploy"
    command: list[str | Path] = [gcm_deploy, "--quiet", "-n", "2", "program.py", ROOT]
    assert ended(command, tmp_path) == (0, ["True", "True"], [])


def ended(command: list[str | Path], folder: Path) -> tuple[int, list[str], list[str]]:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, sorted(done.stdout.splitlines()), sorted(done.stderr.splitlines())
