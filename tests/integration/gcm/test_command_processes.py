"""The `gcm` command as a process: its exit code, Ctrl-C, and readers that go away."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

Gcm = Callable[..., tuple[int, str, str]]

ENDLESS = """
import atexit
import os
import signal
import threading
from typing import Protocol
from gcm import provides

class Runnable(Protocol):
    def run(self) -> None: ...

@provides("run", Runnable)
class Main:
    def run(self):
        print("running", flush=True)
        threading.Event().wait()

    def on_stop(self):
        print("stopped")

    def on_terminate(self):
        print("ended")

@provides("run", Runnable)
class Stubborn(Main):
    def on_stop(self):
        print("stopping", flush=True)
        threading.Event().wait()

@provides("run", Runnable)
class Late(Main):
    def on_stop(self):
        atexit.register(self.interrupted)

    def on_terminate(self):
        pass

    def interrupted(self):
        os.kill(os.getpid(), signal.SIGINT)
        print("at the end")
"""
LONGEST_STOP = 30.0


@contextmanager
def started(
    folder: Path, environment: dict[str, str], content: str, membrane: str = ""
) -> Iterator[subprocess.Popen[str]]:
    """Start an assembly, and yield its process when its operation runs; kill it at the end."""
    (folder / "endless.py").write_text(ENDLESS)
    (folder / "app.fractal").write_text(
        f'<definition name="app"><content class="endless.{content}"/>{membrane}</definition>'
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "gcm", "run", "app.fractal"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process:
        try:
            assert process.stdout.readline() == "running\n"
            yield process
        finally:
            process.kill()


def test_ctrl_c_stops_the_assembly_in_good_order(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with started(tmp_path, environment, "Main") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST_STOP)
    assert process.returncode == 130
    assert out == "stopped\nended\n"
    begun, *rest = err.splitlines()
    assert begun.startswith("gcm run: interrupted; stopping within 10 s")
    assert rest == ["gcm run: stopped"]


def test_ctrl_c_ends_in_bounded_time_what_does_not_stop(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with started(tmp_path, environment, "Main", '<controller desc="active"/>') as process:
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LONGEST_STOP)
    assert process.returncode == 130
    assert time.monotonic() - begin < LONGEST_STOP
    assert "gcm run: cannot stop within 5.0 s: /app is in 'run.run' at " in err
    assert err.endswith("gcm run: not everything stopped; ended without waiting for it\n")
    assert "Traceback" not in err


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path, environment: dict[str, str]) -> None:
    with started(tmp_path, environment, "Stubborn") as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LONGEST_STOP)
    assert process.returncode == 130
    assert err.endswith("gcm run: interrupted again; ended without waiting for it\n")


def test_a_second_ctrl_c_at_the_very_end_changes_nothing(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with started(tmp_path, environment, "Late") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST_STOP)
    assert (process.returncode, out) == (130, "at the end\n")
    assert err.endswith("\ngcm run: stopped\n")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "wide.fractal").write_text(
        '<definition name="wide">'
        + "".join(
            f'<component name="c{number}"><content class="json.JSONDecoder"/></component>'
            for number in range(5000)
        )
        + "</definition>"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "gcm", "show", "wide.fractal"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "wide  composite\n"
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 1


@pytest.mark.parametrize("arguments", [(), ("fly",), ("run",), ("run", "a", "--set", "b")])
def test_wrong_usage_has_an_exit_code_of_its_own(gcm: Gcm, arguments: tuple[str, ...]) -> None:
    code, out, err = gcm(*arguments)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"gcm( run)?: error: .*\(see gcm( run)? --help\)\n", err)


def test_an_assembly_that_was_exported_runs_like_the_original(gcm: Gcm, tmp_path: Path) -> None:
    assemblies = Path(__file__).parents[2] / "unit" / "adl" / "assemblies"
    export = (
        "import sys\n"
        "from gcm.adl import assemble, export, plan_document\n"
        "from gcm.documents import Diagnostics\n"
        "plan = plan_document(sys.argv[1], diagnostics=Diagnostics())\n"
        "root = assemble(plan)\n"
        "print(export(root), end='')\n"
        "root.terminate()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", export, str(assemblies / "Rich.fractal")],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_STOP,
    )
    (tmp_path / "Rich.fractal").write_text(done.stdout)
    assert gcm("check", "Rich.fractal", "--path", str(assemblies)) == (
        0,
        "1 file, no fault\n",
        "",
    )
    for file in ("Rich.fractal", str(assemblies / "Rich.fractal")):
        assert gcm("run", file, "--path", str(assemblies)) == (30, "", "")


@pytest.mark.parametrize("module", ["gcm", "runtime"])
def test_nobody_reads_the_version_and_that_is_no_traceback(
    tmp_path: Path, environment: dict[str, str], module: str
) -> None:
    code = f"import sys; from {module}.cli import main; sys.exit(main(['--version']))"
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-u", "-c", code],
            cwd=tmp_path, env=environment, stdout=gone, stderr=subprocess.PIPE, text=True,
            check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr == ""


def test_a_picture_is_not_written_onto_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "hello.fractal").write_text('<definition name="hello"/>')
    command = [sys.executable, "-m", "gcm", "draw", "hello.fractal"]
    terminal, ours = os.openpty()
    with open(terminal, "rb"), open(ours, "wb") as screen:
        shown = subprocess.run(
            command,
            cwd=tmp_path,
            stdout=screen,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (shown.returncode, shown.stderr) == (
        2,
        "gcm draw: a picture is text that no terminal shows: name a file, such as -o hello.svg, "
        "or send it to another program\n",
    )
