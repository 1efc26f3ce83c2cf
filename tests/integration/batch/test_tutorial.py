"""The page about two Slurm clusters, followed as a new user would: its files and its commands."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from runtime.testing.sshd import Sshd
from tests.integration.batch.site import MPIEXEC, wait_until
from tests.integration.batch.slurm_daemons import Slurm
from tools.on_grids import COMMAND, ROOT

pytestmark = [
    pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm, pytest.mark.needs_sshd,
]  # fmt: skip

PAGE = Path(ROOT) / "docs" / "two-slurm-clusters.md"
SITE = """<site name="{}">{}<batch system="slurm"/>
<front-end folder="{}/runs" python="{}"/><mpi command-path="{}"/></site>"""


def as_pattern(shown: str) -> str:
    """Return a pattern for output in which `...` stands for anything."""
    return ".*".join(map(re.escape, shown.split("...")))


def test_who_follows_the_page_runs_a_program_on_two_clusters(
    slurm: Slurm, far_slurm: tuple[Slurm, Sshd]
) -> None:
    far, server = far_slurm
    sites = [("lyon", "", slurm), ("nice", server.hop, far)]
    told = [SITE.format(name, hop, at.home, sys.executable, MPIEXEC) for name, hop, at in sites]
    config = slurm.home / ".config" / "gcm"
    config.mkdir(parents=True, exist_ok=True)
    (config / "sites.xml").write_text(f"<sites>{''.join(told)}</sites>")
    page = PAGE.read_text()
    for head, text in re.findall(
        r"```(?:python|xml)\n(?:# |<!-- )(\S+)(?: -->)?\n(.*?)```", page, re.S
    ):
        (slurm.work / head).write_text(text)
    commands = re.findall(r"```console\n\$ gcm-deploy (.*?)\n(.*?)```", page, re.S)
    assert len(commands) == 2
    for words, shown in commands:
        code, said, errors = slurm.call(*COMMAND, *shlex.split(words))
        assert code == 0, errors
        # the clock of the far site is wrong in these tests, and the doctor says so
        expected = as_pattern(shown.replace("nothing wrong", "1 warning\n"))
        assert re.fullmatch(expected.rstrip("\n") + "\n*", said + errors, re.S), said + errors
    wait_until(lambda: slurm.is_given_back() and far.is_given_back())
