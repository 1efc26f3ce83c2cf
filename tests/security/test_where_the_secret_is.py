"""The secret of a run is in no command line, environment, file, output or document of the run."""

from __future__ import annotations

import base64
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.security.conftest import one_machine, running
from tools.on_grids import COMMAND, ROOT, environment

if TYPE_CHECKING:
    from tests.security.conftest import Run

pytestmark = pytest.mark.mpi

WITH_CORE_FILES = ("/bin/sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh")
"""Starts a command whose user asked for core files."""

LARGEST = 64 << 20
"""Larger files are not read."""

DEEPEST = 1
"""Of folders in which a process just happens to be, not more is looked at than this."""


def forms(keys: list[bytes], certificate: str) -> list[bytes]:
    """Return how the secrets could be written: as they are, in hexadecimal digits, in base64."""
    found = []
    for key in keys:
        found += [key, key[::-1], key.hex().encode(), key.hex().upper().encode()]
        found += [repr(key)[2:-1].encode(), ",".join(map(str, key)).encode()]
        for skipped in range(3):  # base64 of something that has the key in it
            begun = (3 - skipped) % 3
            whole = base64.b64encode(key[begun : begun + (len(key) - begun) // 3 * 3])
            found += [whole, whole.translate(bytes.maketrans(b"+/", b"-_"))]
    private = certificate.partition("-----BEGIN CERTIFICATE-----")[0]
    if private:
        body = "".join(line for line in private.splitlines() if not line.startswith("-"))
        inner = base64.b64decode(body)[30:70]
        found += [body[40:80].encode(), private.encode().hex()[200:300].encode(), inner]
    return found


def places(run: Run) -> Iterator[tuple[str, bytes]]:
    """Yield all that others could read of the processes of a run, and where it is."""
    own = {run.folder, run.temporary, *Path("/tmp").glob("gcm-*")} - {run.outside}
    others: set[Path] = set()
    looked: set[str] = set()
    for pid in run.processes():
        process = Path(f"/proc/{pid}")
        yield f"the command line of {pid}", (process / "cmdline").read_bytes()
        yield f"the environment of {pid}", (process / "environ").read_bytes()
        yield f"the name of {pid}", (process / "comm").read_bytes()
        others |= {Path(os.readlink(process / "cwd")), process / "root/dev/shm"}
        for entry in (process / "fd").iterdir():
            yield from content(entry, run.began, looked)
    for folder in (*own, *others - own):
        for parent, names, files in os.walk(folder):
            depth = len(Path(parent).relative_to(folder).parts)
            if folder in others and depth >= DEEPEST:
                names.clear()
            for name in files:
                yield from content(Path(parent, name), run.began, looked)


def content(path: Path, since: float, looked: set[str]) -> Iterator[tuple[str, bytes]]:
    """Yield a file that has been written to since the run began."""
    try:
        facts = path.stat()
        where = f"{facts.st_dev}:{facts.st_ino}"
        # What is empty has no secret, and some files of a system wait for somebody to write more.
        is_new = facts.st_mtime >= since and 0 < facts.st_size <= LARGEST
        if stat.S_ISREG(facts.st_mode) and is_new and where not in looked:
            looked.add(where)
            yield os.path.realpath(path), path.read_bytes()
    except OSError:  # it has gone
        return


def found_in(run: Run) -> list[str]:
    """Return the places where the secrets are while the run goes on, with at least 20 looked at."""
    wanted = forms(*run.secrets())
    count, found = 0, []
    for where, data in places(run):
        count += 1
        found += [where] * any(form in data for form in wanted)
    assert count > 20
    return found


def look_over(run: Run) -> None:
    assert found_in(run) == []
    wanted = forms(*run.secrets())
    for told in run.end():
        assert not any(form in told.encode() for form in wanted)


def test_the_secret_of_a_run_on_this_machine_is_nowhere(local_run: Run) -> None:
    look_over(local_run)


@pytest.mark.needs_root
def test_the_secrets_of_a_run_over_hosts_are_nowhere(grid_run: Run) -> None:
    look_over(grid_run)


def test_the_search_finds_what_is_there(local_run: Run) -> None:
    (secret, *_), _ = local_run.secrets()
    for name, text in (
        ("raw", b"before" + secret + b"behind"),
        ("hexadecimal", secret.hex().encode()),
        ("base64", base64.b64encode(b"xy" + secret)),
    ):
        (local_run.folder / name).write_bytes(text)
        assert found_in(local_run) == [str(local_run.folder / name)]
        (local_run.folder / name).unlink()
    local_run.end()


def test_no_process_that_knows_the_secret_leaves_a_core_file(tmp_path: Path) -> None:
    with running(tmp_path, one_machine(), 4, None, *WITH_CORE_FILES) as run:
        limits = {pid: core_limit(pid) for pid in run.processes() if not run.is_mpis(pid)}
        run.end()
    assert set(limits.values()) == {"0"}


def core_limit(pid: int) -> str:
    (line,) = [
        line
        for line in Path(f"/proc/{pid}/limits").read_text().splitlines()
        if line.startswith("Max core file size")
    ]
    return line.split()[4]


def test_what_can_be_exported_of_a_run_holds_no_secret(tmp_path: Path) -> None:
    """Each run has a secret of its own, made when it begins: what is written before has none."""
    (tmp_path / "program.py").write_text("print('hello')")
    (tmp_path / "grid.xml").write_text(
        '<deployment name="t"><application script="program.py"/>'
        '<grid><site><cluster><mpi ranks="1"/></cluster></site></grid></deployment>'
    )
    written = []
    for words in (["--dry-run"], []):
        done = subprocess.run(
            [*COMMAND, *words, "--format", "json", str(tmp_path / "grid.xml")],
            capture_output=True,
            text=True,
            env={**environment(), "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            timeout=60,
            check=True,
        )
        written.append(done.stdout + done.stderr)
    exported = tmp_path / "t.fractal"
    subprocess.run(
        [*COMMAND, "--export-adl", str(exported), str(tmp_path / "grid.xml")],
        env={**environment(), "PYTHONPATH": str(ROOT)},
        check=True,
    )
    written.append(exported.read_text())
    for text in written:
        assert text
        assert "secret" not in text.lower()
        assert not re.search(r"[0-9a-f]{64}", text)
