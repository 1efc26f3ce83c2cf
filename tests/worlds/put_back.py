"""Puts known faults back, each into a copy of the code, and counts the worlds until one finds it.

    python -m tests.worlds.put_back --most 2000          all that have a patch
    python -m tests.worlds.put_back two-late-clusters    one of them

A patch in `known_faults/` is a defect as it would be in the present code; a test sees that each one
still fits. The names are those of `known_faults.toml`, with lines between words.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATCHES = Path(__file__).parent / "known_faults"

_SEARCH = """\
import logging, subprocess, sys
logging.disable(logging.CRITICAL)
from runtime.testing.world.kinds import KINDS
most = int(sys.argv[1])
for seed in range(most):
    for kind in KINDS.values():
        if sys.argv[2] in ("", kind.name):
            scenario = kind.draw(seed)
            failures = kind.play(scenario).failures
            if failures:
                again = ["-m", "runtime.testing.world", "--kind", kind.name, "--seed", str(seed)]
                if subprocess.run([sys.executable, *again], cwd=sys.argv[3],
                                  capture_output=True).returncode:
                    continue  # it fails without the defect, too
                def fails(one):
                    return bool(kind.play(one).failures)
                print(f"{kind.name} seed {seed}: {failures[0].splitlines()[0]}")
                print(f"    smallest: {kind.shrink(scenario, fails)}")
                sys.exit()
print("not found")
"""


def main() -> int:
    """Search for what is asked for; return how many were not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="which faults, all by default")
    parser.add_argument("--most", type=int, default=10_000, help="so many seeds are tried")
    parser.add_argument("--kind", default="", help="only worlds of this kind")
    options = parser.parse_args()
    patches = sorted(PATCHES.glob("*.patch"))
    chosen = [one for one in patches if not options.names or one.stem in options.names]
    return sum(not _search(one, options.most, options.kind) for one in chosen)


def _search(patch: Path, most: int, kind: str) -> bool:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gcm-known-") as copy:
        for name in ("gcm", "runtime"):
            shutil.copytree(ROOT / name, Path(copy, name))
        apply(patch, Path(copy))
        command = [sys.executable, "-c", _SEARCH, str(most), kind, str(ROOT)]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    said = done.stdout.strip() or done.stderr.strip()[-600:]
    print(f"{patch.stem} ({time.monotonic() - begun:.0f} s): {said}", flush=True)
    return "not found" not in said


def apply(patch: Path, folder: Path, *, checks: bool = False) -> None:
    """Apply a patch to a copy, or only see whether it fits; raises CalledProcessError."""
    command = ["git", "apply", *(["--check"] if checks else []), str(patch)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
