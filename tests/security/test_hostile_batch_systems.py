"""Batch systems that answer with whatever harms: a login node behind a real sshd, fake commands."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from runtime.testing.sshd import running_sshd
from tests.commands import gcm_deploy
from tools.on_grids import COMMAND, environment

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

MIB = 1 << 20

HONEST = {
    "slurm": {
        "sbatch": "cat >/dev/null; echo 17",
        "squeue": "echo '17|RUNNING|None|N/A|2|1:00:00|n1'",
        "scontrol": "echo n1",
        "scancel": "true",
        "srun": 'while [ "$1" != env ]; do shift; done; exec "$@"',
    },
    "oar": {
        "oarsub": "cat >/dev/null; echo OAR_JOB_ID=17",
        "oarstat": "printf 'Job_Id: 17\\n    state = Running\\n    assigned_hostnames = n1\\n'",
        "oardel": "true",
    },
    "pbs": {
        "qsub": "cat >/dev/null; echo 17.server",
        "qstat": "printf 'Job Id: 17.server\\n    job_state = R\\n    exec_host = n1/0\\n'",
        "qselect": "echo '-a 17; touch owned'",
        "qdel": 'echo "$@" >"$HOME/owned"',
    },
}
NINES = "$(head -c 9000 /dev/zero | tr '\\0' 9)"
ATTACKS: Mapping[str, tuple[str, dict[str, str], str]] = {
    "escape sequences": (
        "slurm", {"sbatch": r"printf '\033[2J\033]0;x\007\rgcm-deploy: fine\n' >&2; exit 1"},
        r"slurm refused the job\. .*\n    \\x1b\[2J\\x1b\]0;x\\x07\n    gcm-deploy: fine\n",
    ),
    "no number": (
        "slurm", {"sbatch": "echo '1; rm -rf \"$HOME\"'"},
        r"sbatch printed no number of a job, but '1; rm -rf \"\$HOME\"'\n",
    ),
    "the job of another": (
        "slurm", {"squeue": "echo '18|RUNNING|None|N/A|2|1:00:00|n1'"},
        r"job 17 is UNKNOWN \(the queue has no such job\), before it had any nodes",
    ),
    "output without end": (
        "slurm", {"sbatch": "exec cat /dev/zero"}, r"sbatch prints more than 4,194,304 bytes\.",
    ),
    "errors without end": (
        "slurm", {"sbatch": "exec cat /dev/zero >&2"}, r"sbatch prints more than 4,194,304 bytes\.",
    ),
    "a billion hosts": (
        "slurm",
        {
            "squeue": "echo '17|RUNNING|None|N/A|2|1:00:00|n[1-1000000000]'",
            "scontrol": "exec seq 1000000000",
        },
        r"scontrol prints more than 4,194,304 bytes\.",
    ),
    "very long numbers": (
        "slurm", {"squeue": f'echo "17|RUNNING|None|N/A|{NINES}|{NINES}:00|n"', "scontrol": "true"},
        r"job 17 is RUNNING on 'n', which are not 1 nodes",
    ),
    "options for names": (
        "slurm", {"scontrol": "echo '-oProxyCommand=touch${IFS}$HOME/owned'"},
        r"job 17 is RUNNING on 'n1', which are not 1 nodes\n    -oProxyCommand=touch",
    ),
    "a shell for names": (
        "slurm", {"scontrol": "echo '$(touch${IFS}$HOME/owned)'"}, r"which are not 1 nodes",
    ),
    "no answer": ("slurm", {"sbatch": "exec sleep 600"}, r"sbatch has not answered within 45 s\."),
    "a line of blanks": (
        "oar",
        {
            "oarstat": "printf 'Job_Id: 17\\n    state = Error\\n    message ='"
            "; head -c 3000000 /dev/zero | tr '\\0' ' '; echo x"
        },
        r"job 17 is Error, before it had any nodes",
    ),
    "a million hosts": (
        "oar",
        {
            "oarstat": "printf 'Job_Id: 17\\n    state = Running\\n    assigned_hostnames = '"
            "; seq -s+ 500000"
        },
        r"job 17 is Running on '1\+2\+3[+\d]{,400}\.\.\.', which are not 1 nodes",
    ),
    "words for qdel": (
        "pbs", {"qstat": "echo 'Job Id: 17.server'; echo '    job_state = F'"},
        r"job 17\.server is F, before it had any nodes",
    ),
}  # fmt: skip
"""For each attack the batch system, what its commands do instead, and what the user is told."""

# Runs a command, and prints the most memory that it had.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print("memory", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(code)
"""


def test_what_a_batch_system_answers_reaches_no_shell_no_terminal_and_fills_nothing(
    tmp_path: Path,
) -> None:
    runs: dict[str, subprocess.Popen[str]] = {}
    with ExitStack() as last:
        for name, (system, fakes, _) in ATTACKS.items():
            folder = tmp_path / name.replace(" ", "-")
            begun = [
                sys.executable, "-c", MEASURE, *COMMAND, "--quiet",
                str(_descriptor(folder, system, fakes, last)),
            ]  # fmt: skip
            runs[name] = subprocess.Popen(
                begun, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                env={**environment(), "XDG_STATE_HOME": str(folder / "state")},
            )  # fmt: skip
            last.callback(runs[name].wait)
        ended = {name: run.communicate(timeout=140) for name, run in runs.items()}
    wrong = {name for name, (_, told) in ended.items() if not re.search(ATTACKS[name][2], told)}
    assert {name: ended[name] for name in wrong} == {}
    for name, (said, errors) in ended.items():
        memory = int(said.removeprefix("memory "))
        assert (runs[name].returncode, memory < 120 * MIB) == (203, True), (name, memory)
        folder = tmp_path / name.replace(" ", "-")
        (log,) = folder.glob("state/gcm/logs/*.log")
        for text in (errors, log.read_text()):
            assert (len(text) < MIB // 4, text.replace("\n", "").isprintable()) == (True, True)
        assert not {"owned"} & {one.name for one in folder.rglob("*")}


def test_why_a_job_has_ended_is_told_although_the_queue_says_that_it_is_ending(
    tmp_path: Path,
) -> None:
    ending = (
        'state=COMPLETING; [ -e "$HOME/asked" ] && state="CANCELLED by 0"; touch "$HOME/asked"; '
        'echo "17|$state|None|N/A|2|1:00:00|n1"'
    )
    with ExitStack() as last:
        path = _descriptor(tmp_path, "slurm", {"squeue": ending}, last)
        done = gcm_deploy("--quiet", path, XDG_STATE_HOME=str(tmp_path / "state"))
    assert done.returncode == 203
    assert "job 17 is CANCELLED by 0, before anything was started on its nodes" in done.stderr


def _descriptor(folder: Path, system: str, fakes: Mapping[str, str], last: ExitStack) -> Path:
    """Write a descriptor whose cluster is behind a login node with these commands."""
    commands, ssh = folder / "home/bin", folder / "ssh"
    commands.mkdir(parents=True)
    ssh.mkdir()
    for command, body in {**HONEST[system], **fakes}.items():
        (commands / command).write_text(f"#!/bin/bash\n{body}\n")
        (commands / command).chmod(0o755)
    (folder / "home/.profile").write_text(f'PATH="{commands}:$PATH"\n')
    home = f'ForceCommand HOME={folder}/home exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    login = last.enter_context(running_sshd(ssh, more=[home]))
    work = folder / "work"
    work.mkdir()
    (work / "one.py").write_text("print('it ran')\n")
    path = work / "batch.xml"
    path.write_text(
        '<deployment><application script="one.py"/><grid><site name="s"><cluster name="c">'
        f'{login.hop}<front-end python="{sys.executable}"/>'
        f'<batch system="{system}" nodes="1" walltime="1h"/><mpi ranks="1"/>'
        "</cluster></site></grid></deployment>"
    )
    return path
