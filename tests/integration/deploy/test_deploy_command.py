"""`gcm-deploy` as a person runs it: real processes, real MPI, real signals and pipes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.mpi
LONG = 60

PRINTS_FOREVER = """\
from mpi4py import MPI
import time
print("begun", MPI.COMM_WORLD.Get_rank(), flush=True)
while True:
    print("and on", flush=True)
    time.sleep(0.02)
"""

DEAF = """\
from mpi4py import MPI
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("begun", flush=True)
time.sleep(1000)
"""


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=LONG)
    return process.returncode, out, err


def test_the_quickstart_runs_and_is_summed_up(start: Any) -> None:
    code, out, err = ended(start("--verbose", "--tag-output", "descriptors/quickstart.xml"))
    assert code == 0, err
    lines = out.splitlines()
    assert "[0] the token came back with 28: right" in lines
    tags = Counter(line[:3] for line in lines if re.match(r"\[(\d)\] rank \1 of 8 on ", line))
    assert tags == {f"[{rank}]": 1 for rank in range(8)}
    assert "gcm-deploy: running: 8 ranks in 4 clusters" in err
    assert "quickstart: exit code 0; 8 ranks in 4 clusters; " in err
    for cluster in ("north/alder", "north/birch", "south/cedar", "south/dogwood"):
        assert f"{cluster}: reached" in err
        assert re.search(rf"^\d:\d +{cluster} .* ring +2 +\d+\.\d +0$", err, re.MULTILINE)


def test_a_quiet_run_prints_the_output_of_the_application_alone(start: Any, describe: Any) -> None:
    file = describe('from mpi4py import MPI; print("hello")', ranks=2)
    assert ended(start("--quiet", file)) == (0, "hello\nhello\n", "")


def test_arguments_and_exit_code_pass_through(start: Any, describe: Any) -> None:
    file = describe("from mpi4py import MPI; import sys; print(sys.argv[1:]); sys.exit(7)")
    code, out, err = ended(start("--summary", file, "--", "a b", "--tag-output"))
    assert (code, out) == (7, "['a b', '--tag-output']\n")
    assert "try: exit code 7; 1 rank in 1 cluster" in err


def test_the_json_summary_is_the_last_line_of_standard_output(start: Any, describe: Any) -> None:
    file = describe('from mpi4py import MPI; print("first")', clusters=2)
    code, out, _ = ended(start("--format", "json", file))
    *lines, last = out.splitlines()
    assert (code, lines) == (0, ["first", "first"])
    summary = json.loads(last)
    assert (summary["name"], summary["code"], summary["errors"]) == ("try", 0, [])
    assert 0 < summary["startup"] < summary["seconds"]
    ranks = [rank for cluster in summary["clusters"] for rank in cluster["ranks"]]
    assert [(one["rank"], one["code"]) for one in ranks] == [("0:0:0", 0), ("0:1:0", 0)]
    assert all(one["pid"] and one["host"] and one["mpi"] for one in ranks)


def test_nothing_of_a_talkative_application_is_lost(
    start: Any, describe: Any, tmp_path: Path
) -> None:
    file = describe(
        "from mpi4py import MPI; import sys\n"
        "for n in range(5000): print(n, 'x' * (n % 100))\n"
        "print('last words', file=sys.stderr)",
        ranks=2,
    )
    logs = tmp_path / "logs"
    code, out, err = ended(start("--tag-output", "--output-dir", logs, "--quiet", file))
    assert code == 0, err
    for rank in ("0:0:0", "0:0:1"):
        wanted = [f"{number} {'x' * (number % 100)}".rstrip("\n") for number in range(5000)]
        tag = f"[{rank[-1]}]"
        own = [line for line in out.splitlines() if line.startswith(tag)]
        assert own == [f"{tag} {line}" for line in wanted]
        name = rank.replace(":", ".")
        assert (logs / f"{name}.stdout").read_text().splitlines() == wanted
        assert (logs / f"{name}.stderr").read_text() == "last words\n"
    assert sorted(err.splitlines()) == ["[0] last words", "[1] last words"]


def test_a_reader_that_has_seen_enough_ends_the_run(start: Any, describe: Any) -> None:
    process = start(describe(PRINTS_FOREVER, ranks=2))
    head = subprocess.run(
        ["head", "-n", "1"],
        stdin=process.stdout,
        capture_output=True,
        check=True,
        text=True,
        timeout=LONG,
    )
    assert head.stdout.startswith(("begun", "and on"))
    process.stdout.close()
    process.stdout = None
    code, _, err = ended(process)
    assert code == 141
    assert "gcm-deploy: nothing reads the output any more, so the run was ended" in err
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_a_full_disk_ends_the_run_with_one_message(start: Any, describe: Any) -> None:
    with open("/dev/full", "w") as full:
        code, _, err = ended(start("--quiet", describe(PRINTS_FOREVER), stdout=full))
        assert code == 205
        assert err == "gcm-deploy: the output could not be written: No space left on device\n"
        shown = start("--dry-run", "descriptors/quickstart.xml", stdout=full)
        assert ended(shown)[::2] == (205, err)


def test_closed_standard_streams_are_no_obstacle(command: tuple[str, ...], describe: Any) -> None:
    file = describe('from mpi4py import MPI; print("hello")')
    closing = "import os, subprocess, sys; os.close(int(sys.argv[1])); "
    closing += "sys.exit(subprocess.run(sys.argv[2:]).returncode)"
    for number, said in ((0, "hello\n"), (1, ""), (2, "hello\n")):
        words = [sys.executable, "-c", closing, str(number), *command, "--quiet", str(file)]
        found = subprocess.run(words, capture_output=True, check=False, close_fds=False, text=True)
        assert (number, found.returncode, found.stdout, found.stderr) == (number, 0, said, "")


def begun(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("begun"):
            return
    pytest.fail("the application has never begun")


def test_ctrl_c_stops_in_order(start: Any, describe: Any) -> None:
    process = start(describe(PRINTS_FOREVER, clusters=2))
    begun(process)
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code == 130
    assert "gcm-deploy: stopping" in err
    assert "Traceback" not in err


def test_a_terminated_run_says_so_in_its_exit_code_and_its_summary(
    start: Any, describe: Any
) -> None:
    process = start("--format", "json", describe(PRINTS_FOREVER))
    begun(process)
    process.send_signal(signal.SIGTERM)
    code, out, err = ended(process)
    assert (code, json.loads(out.splitlines()[-1])["code"]) == (143, 143)
    assert "gcm-deploy: stopping on SIGTERM" in err


def test_ctrl_c_twice_ends_at_once_what_does_not_want_to(start: Any, describe: Any) -> None:
    process = start(describe(DEAF))
    begun(process)
    process.send_signal(signal.SIGINT)
    for line in process.stderr:
        if "stopping" in line:
            break
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code == 130
    assert "gcm-deploy: ending everything" in err


def test_ctrl_c_while_it_starts_is_heard(start: Any, describe: Any) -> None:
    file = describe("print('never')", more='<process id="w" program="sleep" arguments="1000"'
                    ' ready="finished"/>')  # fmt: skip
    process = start("--verbose", file)
    for line in process.stderr:
        if "reached" in line:
            break
    process.send_signal(signal.SIGINT)
    code, out, err = ended(process)
    assert (code, out) == (130, "")
    assert "try: did not run" in err


def test_a_faulty_descriptor_starts_nothing(start: Any, describe: Any) -> None:
    file = describe("", more='<file-transfr direction="in"/>')
    code, out, err = ended(start(file))
    assert (code, out) == (201, "")
    assert f"{file}:1: error[" in err
    assert "did you mean" in err


def test_a_missing_descriptor_is_named(start: Any, tmp_path: Path) -> None:
    code, _, err = ended(start(tmp_path / "nowhere.xml"))
    assert code == 201
    assert str(tmp_path / "nowhere.xml") in err


def test_a_missing_mpiexec_is_named_with_a_cure(start: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    file = tmp_path / "grid.xml"
    file.write_text(
        '<deployment name="try"><application script="a.py"/><grid><site name="s">'
        '<cluster name="c"><mpi command-path="/no/such/mpiexec"/></cluster></site></grid>'
        "</deployment>"
    )
    code, out, err = ended(start("--summary", file))
    assert (code, out) == (203, "")
    assert "/no/such/mpiexec" in err
    assert "s/c" in err
    assert "Traceback" not in err
    assert "try: did not run" in err


def test_an_application_that_never_comes_is_given_up_in_time(start: Any, describe: Any) -> None:
    file = describe("print('never')", more='<process id="w" program="sleep" arguments="1000"'
                    ' ready="finished"/>')  # fmt: skip
    code, out, err = ended(start("--timeout", "2", file))
    assert (code, out) == (203, "")
    assert "process:w" in err


def test_a_folder_for_output_that_cannot_be_made_ends_before_it_begins(
    start: Any, describe: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    code, _, err = ended(start("--output-dir", tmp_path / "file", describe("")))
    assert code == 205
    assert "cannot write there" in err
