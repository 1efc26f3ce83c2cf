"""mpi4py's own tests: the source distribution of the installed version, fetched once."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from tools.on_grids import ROOT

KEPT = ROOT / "build" / "conformance"

# What the package index says too; a version that is not here is taken as the index has it.
SHA256 = {
    "4.1.2": "56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02",
}


class NoSource(Exception):
    """The tests cannot be had."""


def folder_of_tests() -> Path:
    """Return the folder with the tests of the installed mpi4py; raises NoSource."""
    name = f"mpi4py-{version('mpi4py')}"
    found = KEPT / name / "test"
    if not found.is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as folder:
            archive = _fetch(version("mpi4py"), Path(folder))
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
            (Path(folder) / name).rename(KEPT / name)
    return found


def _fetch(number: str, folder: Path) -> Path:
    """Return the archive; pip compares its hash with that of the index, and with ours.

    Only mpi4py itself is wanted as source: pip asks it what it is, and what it takes to build that
    answer would have to be compiled for many minutes.
    """
    digest = SHA256.get(number)
    wanted = folder / "wanted.txt"
    wanted.write_text(f"mpi4py=={number}" + (f" --hash=sha256:{digest}\n" if digest else "\n"))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--no-binary", "mpi4py", "--dest", str(folder), "-r", str(wanted)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = list(folder.glob("mpi4py-*.tar.gz"))
    if done.returncode or not found:
        raise NoSource(f"mpi4py {number} could not be fetched as source:\n{done.stderr}")
    return found[0]
