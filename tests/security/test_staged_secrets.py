"""Keys and credentials in a program folder never come to a cluster, unless they are named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.testing.sshd import Sshd
from tests.commands import gcm_deploy
from tests.far_host import far_host  # noqa: F401 - a fixture
from tools.on_grids import environment

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

PEER = (
    sys.executable,
    "-c",
    "import sys; from runtime.cli import peer_main; sys.exit(peer_main())",
)
LISTING = """\
import os
from mpi4py import MPI
print(*sorted(os.path.join(at, one)[2:] for at, _, some in os.walk(".") for one in some))
"""


def test_secrets_beside_a_program_stay_here(tmp_path: Path, far_host: Sshd) -> None:  # noqa: F811
    home = tmp_path / "home"
    for name in (".ssh", "conf", "deep"):
        (home / name).mkdir(parents=True)
    (home / "list.py").write_text(LISTING)
    (home / ".gcmignore").write_text("quiet.key\n!.ssh\n!.ssh/\n")
    made = {**environment(), "HOME": str(tmp_path)}
    for words in (["create", "ourlab"], ["invite", "alice", "--user", "-o", "alice.credential"]):
        subprocess.run([*PEER, "lab", *words], cwd=home, env=made, check=True, capture_output=True)
    credential = home / "alice.credential"
    shutil.copy(credential, home / "deep/notes.txt")
    shutil.copy(far_host.folder / "key", home / "quiet.key")
    for name in ("id", "conf/key", ".ssh/id"):
        shutil.copy(far_host.folder / "key", home / name)
    for name in (".netrc", ".ENV", "ca.pem", "conf/.env", "conf/data", "conf/site.pem", "data.key"):
        (home / name).write_text("x")
    (home / "link").symlink_to(".netrc")

    def run(*sources: str) -> subprocess.CompletedProcess[str]:
        moves = "".join(
            f'<file-transfer direction="in" source="{one}" destination="in/{Path(one).name}"/>'
            for one in sources
        )
        (home / "grid.xml").write_text(
            f'<deployment><application script="list.py"/>{moves}<grid><site name="s"><cluster>'
            f'{far_host.hop}<front-end python="{sys.executable}"/><mpi ranks="1"/></cluster></site>'
            "</grid></deployment>"
        )
        return gcm_deploy("--quiet", home / "grid.xml")

    ended = run("conf", "conf/site.pem")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == [
        *(
            ".gcmignore",
            "conf/data",
            "data.key",
            "grid.xml",
            "in/conf/data",
            "in/site.pem",
            "list.py",
        )
    ]
    told = " ".join(ended.stderr.split())
    assert "alice.credential is the credential of a lab" in told
    assert ".ENV has a name for secrets" in told
    assert "quiet.key" not in told
    ended = run("deep/notes.txt")
    assert ended.stdout == ""
    assert "deep/notes.txt is the credential of a lab, which never leaves this machine" in " ".join(
        ended.stderr.split()
    )
