"""Completion, by a real bash that is typed to; and scripts that other shells can read."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LONG = 60
LOAD = (
    'eval "$(gcm completion bash; gcm-deploy completion bash;'
    ' gcm-run completion bash; gcm-peer completion bash)"; echo lo""aded\n'
)
PROMPT = "ready> "
COMMANDS = (
    ("gcm", "gcm.cli", "main"),
    ("gcm-deploy", "runtime.cli", "main"),
    ("gcm-run", "runtime.cli", "run_main"),
    ("gcm-peer", "runtime.cli", "peer_main"),
)
NEW_LINE = "\x15"  # Ctrl-U: away with what was typed


class Bash:
    """A bash at a terminal of its own."""

    def __init__(self, master: int) -> None:
        self._master = master

    def after(self, keys: str, expected: str) -> str:
        """Return what is shown after some keys, once the expected text is among it."""
        os.write(self._master, keys.encode())
        shown, deadline = "", time.monotonic() + LONG
        while expected not in shown:
            ready, _, _ = select.select([self._master], [], [], deadline - time.monotonic())
            assert ready, f"no '{expected}' in: {shown}"
            shown += os.read(self._master, 4096).decode()
        return shown


@pytest.fixture(scope="module")
def commands(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]
) -> dict[str, str]:
    """Return an environment whose search path has all commands."""
    folder = tmp_path_factory.mktemp("bin")
    for name, module, function in COMMANDS:
        script = folder / name
        script.write_text(
            f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\n"
            f"sys.exit({function}())\n"
        )
        script.chmod(0o755)
    path = f"{folder}{os.pathsep}{environment['PATH']}"
    return {**environment, "PATH": path, "TERM": "dumb", "PS1": PROMPT, "INPUTRC": "/dev/null"}


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory, commands: dict[str, str]) -> Iterator[Bash]:
    """A bash that has been told to complete the commands, in a folder with some files."""
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    work = tmp_path_factory.mktemp("work")
    for name in ("laptop.xml", "ring.py", "hello.fractal"):
        (work / name).touch()
    (work / "logs").mkdir()
    master, slave = pty.openpty()
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        cwd=work, env=commands, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    shell = Bash(master)
    # what is typed before the prompt is there does not reach the line editor
    shell.after(LOAD, f"loaded\r\n{PROMPT}")
    yield shell
    process.kill()
    process.wait()
    os.close(master)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("gcm che", "gcm check "),
        ("gcm run hel", "gcm run hello.fractal"),
        ("gcm draw --con", "gcm draw --controls "),
        ("gcm show --format j", "gcm show --format json "),
        ("gcm completion f", "gcm completion fish "),
        ("gcm-deploy lap", "gcm-deploy laptop.xml"),
        ("gcm-deploy --dry", "gcm-deploy --dry-run "),
        ("gcm-deploy --dry-run lap", "gcm-deploy --dry-run laptop.xml"),
        ("gcm-deploy --emu", "gcm-deploy --emulate "),
        ("gcm-deploy --emulate 2x2 rin", "gcm-deploy --emulate 2x2 ring.py"),
        ("gcm-deploy --progress al", "gcm-deploy --progress always "),
        ("gcm-deploy --output-dir lo", "gcm-deploy --output-dir logs"),
        ("gcm-deploy ne", "gcm-deploy new "),
        ("gcm-deploy completion z", "gcm-deploy completion zsh "),
        ("gcm-run -n 4 rin", "gcm-run -n 4 ring.py"),
        ("gcm-run --detector-t", "gcm-run --detector-timeout "),
        ("gcm-peer bo", "gcm-peer boot "),
        ("gcm-peer lab inv", "gcm-peer lab invite "),
        ("gcm-peer hosts --su", "gcm-peer hosts --supernode "),
    ],
)
def test_the_tab_key_completes_commands_options_values_and_files(
    bash: Bash, typed: str, completed: str
) -> None:
    bash.after(f"{NEW_LINE}{typed}\t", completed)


@pytest.mark.parametrize("command", [name for name, _, _ in COMMANDS])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_can_read_its_script(
    tmp_path: Path, commands: dict[str, str], command: str, shell: str
) -> None:
    done = subprocess.run(
        [command, "completion", shell],
        env=commands, capture_output=True, text=True, timeout=LONG, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert {"gcm": "draw", "gcm-peer": "supernode"}.get(command, "dry-run") in done.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell} to read its script")
    script = tmp_path / "script"
    script.write_text(done.stdout)
    read = subprocess.run(
        [shell, "-n", script], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (read.returncode, read.stderr) == (0, "")
