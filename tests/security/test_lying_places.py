"""Clusters that lie about what they made: neither the disk nor the memory at home is theirs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.testing.sshd import Sshd
from tests.far_host import far_host  # noqa: F401 - a fixture
from tools.on_grids import COMMAND, environment

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

MIB = 1 << 20
FLOOD = 160 * MIB

# The Python of a cluster, which plays an honest one until it is asked for results.
PYTHON = """\
#!/bin/bash
case "$5" in list|send) exec "{python}" "{attack}" {lie} "$@";; esac
exec -a "$0" "{python}" "$@"
"""
ATTACK = """
import io, json, os, sys, time, zlib

lie, action, folder, source = sys.argv[1], sys.argv[6], sys.argv[7], sys.argv[5]
out, zeros = sys.stdout.buffer, bytes(1 << 16)


def message(kind, number, payload):
    out.write(kind + number.to_bytes(4, "big") + len(payload).to_bytes(4, "big") + payload)


def listing(size):
    honest = {"__name__": "honest"}
    exec(source, honest)
    said = honest["packed"]({"big": ("file", 424242, 1, 420, ""), "b": ("file", 8, 1, 420, "")})
    return zlib.compress(zlib.decompress(said).replace(b"424242", size), 1)


if action == "list" and lie == "bomb":
    squeeze = zlib.compressobj(1)
    out.write(squeeze.compress(b'["' + bytes(FLOOD).replace(bytes(1), b" ")) + squeeze.flush())
elif action == "list" and lie == "deep":
    squeeze = zlib.compressobj(1)
    out.write(squeeze.compress(b'["host", true]\\n'))
    for number in range(1000):
        path = b"a/" * 30000 + b"%d" % number
        out.write(squeeze.compress(b'["' + path + b'", "file", 1, 1, 420, ""]\\n'))
    out.write(squeeze.flush())
elif action == "list" and lie == "long":
    for _ in range(FLOOD // len(zeros)):
        out.write(os.urandom(1 << 16))
elif action == "list":
    out.write(listing(b"NaN" if lie == "nan" else b"424242"))
elif lie == "frame":
    out.write(b"D" + bytes(4) + (FLOOD).to_bytes(4, "big"))
    for _ in range(FLOOD // len(zeros)):
        out.write(zeros)
elif lie == "again":
    for time in range(200):
        message(b"H", 0, b"424242 %d 420" % (time // 2 * 2))
        for _ in range(6):
            message(b"D", 0, zeros)
        message(b"H", 0, b"424242 %d 420" % (time // 2 * 2 + 1))
else:
    message(b"H", 0, str(FLOOD).encode() + b" 1 420")
    for _ in range(FLOOD // len(zeros)):
        message(b"D", 0, zeros)
out.flush()
""".replace("FLOOD", str(FLOOD))
LIES = {
    "nan": "nan is no size, time or mode",
    "bomb": "it is no list of files",
    "deep": "has more than 4,096 bytes",
    "long": "what it holds has more than 33,554,432 bytes",
    "frame": "a message of 167,772,160 bytes was announced, of at most 65,536",
    "again": "big: it has changed",
}

# Runs the command, and watches what there is of it while it runs.
WATCH = """
import os, resource, subprocess, sys, time

home, most = sys.argv[1], 0


def size(link):
    try:
        return os.stat(link).st_size if os.readlink(link).startswith(home) else 0
    except FileNotFoundError:  # closed meanwhile
        return 0


process = subprocess.Popen(sys.argv[2:])
opened = f"/proc/{process.pid}/fd"
while process.poll() is None:
    most = max(most, sum(size(f"{opened}/{one}") for one in os.listdir(opened)))
    time.sleep(0.02)
print("open", most, "memory", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def test_clusters_that_lie_about_results_fill_nothing(
    tmp_path: Path,
    far_host: Sshd,  # noqa: F811
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "one.py").write_text("from mpi4py import MPI\nopen('b', 'w').write('8 bytes.')\n")
    (tmp_path / "attack.py").write_text(ATTACK)
    clusters = ""
    for lie in LIES:
        python = tmp_path / lie / "bin/python"
        python.parent.mkdir(parents=True)
        shutil.copy(Path(sys.prefix) / "pyvenv.cfg", tmp_path / lie)
        (tmp_path / lie / "lib").symlink_to(Path(sys.prefix) / "lib")
        real = Path(sys.prefix) / "bin/python"
        python.write_text(PYTHON.format(python=real, attack=tmp_path / "attack.py", lie=lie))
        python.chmod(0o755)
        clusters += (
            f'<cluster name="{lie}">{far_host.hop}'
            f'<front-end python="{python}" folder="{tmp_path}"/>'
            f'<mpi ranks="1" command-path="{real.parent / "mpiexec"}"/></cluster>'
        )
    (home / "lies.xml").write_text(
        '<deployment><application script="one.py"/>'
        f'<grid><site name="s">{clusters}</site></grid></deployment>'
    )
    words = [sys.executable, "-c", WATCH, str(home), *COMMAND, "--quiet", str(home / "lies.xml")]
    ended = subprocess.run(
        words, capture_output=True, text=True, timeout=120, env=environment(), check=False
    )
    figures = re.search(r"open (\d+) memory (\d+)", ended.stdout)
    assert figures, ended.stderr
    written, memory = map(int, figures.groups())
    assert (written < MIB, memory < FLOOD) == (True, True), (written, memory)
    assert not {"b", "big"} & set(os.listdir(home))
    told = " ".join(ended.stderr.split())
    assert sum(why in told for why in LIES.values()) == 4, ended.stderr
    assert "2 more failed" in told
