"""A rank that says what no rank should say: nothing of it is carried out, and nobody waits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.commands import gcm_deploy

pytestmark = pytest.mark.mpi

# The second rank speaks as its own process may, past all that our code would let it say.
PROGRAM = """
import os, sys, time
from mpi4py import MPI
from runtime.membership.rank_link import current
from runtime.transport.messages import Target

world = MPI.COMM_WORLD
link = current()


class Runs:
    def __reduce__(self):
        return os.system, (f"touch {os.getcwd()}/it-ran",)


def say(path, interface, operation, *args):
    link._note(Target(path, interface, operation), args)


if world.rank == 1:
    %s
    time.sleep(0.5)
world.Barrier()
print("here", flush=True)
"""

PICKLES = """
    no_ranks = ["/ranks/9:9:9", "/ranks/0:0:99", "/ranks/1:0:99"]
    for path in [*no_ranks, "/launcher", "/front-end", "/grid", "/grid/site0", "/nodes/x"]:
        say(path, "@blocks", "take", Runs())
        say(path, "@binding", "type_of", Runs())
        say(path, "membership", "ready", Runs())
        say(path, "routes", "come", Runs())
"""

NONSENSE = """
    for path in ["/ranks/0:0:0", "/ranks/1:0:0"]:
        say(path, "nonsense", "post", 1, 2)
        say(path, "routes", "come")
        say(path, "routes", "come", 5)
    say("/ranks/1:0:0", "coupling", "nonsense", None)
"""

APPEALS = """
    def appeal(operation, *args, me="0:0:1#1"):
        link._note(Target("/launcher", "appeals", operation, me), args)

    appeal("suspects", "0:0:0#1", "1:0:0#1", "named as another rank")
    appeal("suspects", "0:0:0#1", "1:0:0#1", "called as another rank", me="0:0:0#1")
    appeal("replace", "0:0:1#1", 5)
    appeal("replace", "0:0:1#1", ["nonsense", "9:9:9#1", "1:0:0#1"])
    appeal("waiting", "0:0:1#1", 0, {"waits": Runs()})
    appeal("waiting", "0:0:1#1", 0, {"waits": "x" * (5 << 20)})
    appeal("nonsense", "0:0:1#1")
    link._note(Target("/launcher", "reports", "failed", "0:0:1#1"), ("0:0", "ranks:0:0", ""))
"""

DOUBLED = r"""
    from runtime.transport.messages import Codec
    kept = Codec.pickled
    twice = b"".join(b"h%c\x86\x94" % level for level in range(60))  # t = (t, t), and so on
    Codec.pickled = lambda *_: [b"\x80\x05})\x94" + twice + b"K\x01s."]  # {t: 1}
    for path in ("/launcher", "/front-end"):
        say(path, "membership", "ready")
    Codec.pickled = kept
"""

NO_FACTS = 'link.wrapper.membership.ready(link.name, [{"size": None}])'

NO_CODE = 'link.wrapper.health.ended(link.name, {"why": "it has no code"})'


def run(folder: Path, hostile: str) -> subprocess.CompletedProcess[str]:
    """Run it on two clusters of two ranks."""
    (folder / "program.py").write_text(PROGRAM % hostile)
    return gcm_deploy("--emulate", "2x1x2", folder / "program.py", cwd=folder)


def test_no_process_but_a_rank_opens_the_pickles_of_a_rank(tmp_path: Path) -> None:
    ended = run(tmp_path, PICKLES)
    assert not (tmp_path / "it-ran").exists()
    assert (ended.returncode, ended.stdout.count("here")) == (0, 4), ended.stderr


def test_a_key_that_takes_for_ever_is_not_made(tmp_path: Path) -> None:
    ended = run(tmp_path, DOUBLED)
    assert (ended.returncode, ended.stdout.count("here")) == (0, 4), ended.stderr


def test_calls_without_a_sense_end_nothing_but_themselves(tmp_path: Path) -> None:
    ended = run(tmp_path, NONSENSE)
    assert (ended.returncode, ended.stdout.count("here")) == (0, 4), ended.stderr


def test_appeals_are_made_in_the_own_name_and_nonsense_ends_nothing(tmp_path: Path) -> None:
    ended = run(tmp_path, APPEALS)
    assert not (tmp_path / "it-ran").exists()
    assert (ended.returncode, ended.stdout.count("here")) == (0, 4), ended.stderr
    refusal = "gcm-deploy: what rank 1 of site0/cluster0 asks of the launcher is not understood: "
    refused = [line.removeprefix(refusal)[:40] for line in ended.stderr.splitlines()]
    assert refused == [
        "/launcher.appeals.suspects was called in",
        "'int' object is not iterable",
        "what should be the name of a rank is non",
        "an argument of /launcher.appeals.waiting",
        "/launcher.appeals.waiting was called wit",
        "nothing here serves appeals.nonsense. Bo",
    ]


def test_a_report_that_makes_no_sense_ends_the_run_and_names_the_cluster(tmp_path: Path) -> None:
    ended = run(tmp_path, NO_FACTS)
    assert ended.returncode == 204
    assert "is not understood" in ended.stderr
    assert "site0/cluster0" in ended.stderr


def test_a_rank_whose_end_makes_no_sense_is_lost_and_blamed(tmp_path: Path) -> None:
    ended = run(tmp_path, NO_CODE)
    assert ended.returncode == 204
    assert (
        "failed first: what it tells of its end is not understood: it has no 'code'\n"
        in ended.stderr
    )
    assert "rank 1 (site0/cluster0 1) on" in ended.stderr
