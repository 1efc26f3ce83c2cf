"""The guard of tests/conftest.py, tried on a suite whose tests leave things behind."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.on_grids import ROOT

LEAKING_SUITE = """
import os, socket, subprocess, sys, threading, warnings
import pytest

forever = threading.Event()
kept = []


def test_clean():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    thread.join()


def test_thread_that_ends_a_moment_later():
    asked = threading.Event()
    threading.Thread(target=asked.wait, args=(30,)).start()
    asked.set()


def test_thread():
    threading.Thread(target=forever.wait, name="forgotten", daemon=True).start()


def test_process():
    kept.append(subprocess.Popen(["sleep", "61.25"]))


def test_zombie():
    kept.append(subprocess.Popen(["true"]))


def test_process_of_another_thread():
    thread = threading.Thread(target=lambda: kept.append(subprocess.Popen(["sleep", "62.5"])))
    thread.start()
    thread.join()


def test_socket():
    server = socket.create_server(("127.0.0.1", 0))
    kept.append(server)


def test_pipe():
    kept.extend(os.pipe())


def test_unclosed_file(tmp_path):
    open(tmp_path / "forgotten.txt", "w")


def test_warning():
    warnings.warn("spoken in vain", UserWarning)


def test_deprecation():
    warnings.warn("out of fashion", DeprecationWarning)


def test_error_in_thread():
    thread = threading.Thread(target=lambda: 1 / 0, name="dividing")
    thread.start()
    thread.join()


@pytest.fixture(scope="module")
def sloppy_server():
    server = socket.create_server(("127.0.0.1", 0))
    kept.append(server)
    return server


def test_with_sloppy_server(sloppy_server):
    assert sloppy_server.fileno() > 0
"""


def run_suite(folder: Path, source: str, *options: str) -> str:
    guard = (ROOT / "tests" / "conftest.py").read_text()
    assert guard.count("GRACE_SECONDS = 20.0") == 1
    (folder / "conftest.py").write_text(guard.replace("_SECONDS = 20.0", "_SECONDS = 2.0"))
    shutil.copy(ROOT / "setup.cfg", folder)
    (folder / "test_sample.py").write_text(source)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "-p",
        "no:hypothesispytest",
        "test_sample.py",
        *options,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_suite(tmp_path_factory.mktemp("leaking"), LEAKING_SUITE)


@pytest.mark.parametrize("name", ["test_clean", "test_thread_that_ends_a_moment_later"])
def test_a_test_that_cleans_up_passes(output: str, name: str) -> None:
    assert f"PASSED test_sample.py::{name}\n" in output
    assert f"ERROR test_sample.py::{name} " not in output


@pytest.mark.parametrize(
    ("name", "leak"),
    [
        ("test_thread", r"daemon thread 'forgotten', now at .*:\d+"),
        ("test_process", r"process \d+: sleep 61.25"),
        ("test_zombie", r"process \d+: has ended, but nobody waited for it"),
        ("test_process_of_another_thread", r"process \d+: sleep 62.5"),
        ("test_socket", r"file descriptor \d+: socket:\[\d+\] AF_INET at \('127.0.0.1', \d+\)"),
        ("test_pipe", r"file descriptor \d+: pipe:\[\d+\]"),
        (
            "A fixture of a module or of the session",
            r"file descriptor \d+: socket:\[\d+\] AF_INET at \('127.0.0.1', \d+\)",
        ),
    ],
)
def test_a_test_that_leaks_fails_with_the_name_of_the_leak(
    output: str, name: str, leak: str
) -> None:
    assert re.search(rf"^{name} left behind:\n(  .*\n)*  {leak}$", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("test_unclosed_file", "ResourceWarning: unclosed file"),
        ("test_warning", "UserWarning: spoken in vain"),
        ("test_deprecation", "DeprecationWarning: out of fashion"),
        ("test_error_in_thread", "ZeroDivisionError"),
    ],
)
def test_a_test_that_warns_fails(output: str, name: str, words: str) -> None:
    assert re.search(rf"^(FAILED|ERROR) test_sample.py::{name} ", output, re.MULTILINE)
    assert words in output


def test_leaked_processes_are_ended(output: str) -> None:
    pids = set(re.findall(r"process (\d+): sleep", output))
    assert len(pids) == 2
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()


def test_a_run_that_stops_at_the_first_failure_is_no_leak(tmp_path: Path) -> None:
    source = "def test_one():\n    assert False\n\n\ndef test_two():\n    pass\n"
    output = run_suite(tmp_path, source, "-x")
    assert "left behind" not in output
    assert "stopping after 1 failures" in output
