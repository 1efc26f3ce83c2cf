"""What is written where: lines of ranks to streams, terminals and files, in order, none lost."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from runtime.cli.errors import OutputFailed
from runtime.cli.screens.live import LiveScreen
from runtime.cli.screens.plain import PlainScreen
from runtime.cli.screens.printer import Printer
from runtime.cli.screens.rank_output import OutputChoice, RankFiles, SharedStream
from runtime.cli.screens.recording import FactFile, Recording
from runtime.cli.screens.report import trace_file
from runtime.deployment import DeploymentPlan
from runtime.launchers.base import OutputStream
from runtime.views.facts import MACHINE, TRACEBACK, Fact, Logged, OutputWritten
from runtime.views.plain_lines import PlainLines
from runtime.views.stream import FactListeners, Silent, nothing
from tests.unit.views.told import change, fact, planned, said

Plan = Callable[..., DeploymentPlan]
OUT, ERR = OutputStream.OUTPUT, OutputStream.ERROR
FIRST = "0:0"


def no_failure(error: Exception) -> None:
    raise AssertionError(error)


def block(rank: str, stream: OutputStream, data: bytes) -> Fact:
    return fact(rank, OutputWritten(stream, data))


def word(text: str) -> Fact:
    return fact(MACHINE, Logged(text))


def written(
    facts: Sequence[Fact],
    *,
    news: PlainLines | None = None,
    tags: bool = False,
    choice: OutputChoice | None = None,
) -> tuple[str, str]:
    out, err = io.BytesIO(), io.BytesIO()
    screen = PlainScreen(out, err, news=news, tags=tags, choice=choice)
    screen.show(facts)
    screen.close()
    return out.getvalue().decode(), err.getvalue().decode()


def test_each_stream_gets_its_own_lines() -> None:
    items = [said("0:0:0", OUT, "a"), said("0:0:1", ERR, "oh"), said("0:0:0", OUT, "b")]
    assert written(items) == ("a\nb\n", "oh\n")
    assert written(items, tags=True) == ("[0:0:0] a\n[0:0:0] b\n", "[0:0:1] oh\n")


def test_news_goes_to_standard_error_only_when_wanted(plan: Plan) -> None:
    items = [planned(plan()), change(FIRST, "up", "front-end"), change(f"{FIRST}:0", "ready")]
    assert written(items, news=PlainLines()) == (
        "",
        "gcm-deploy: site0/cluster0: reached\n",
    )
    assert written(items) == ("", "")
    assert written([word("gcm-deploy: stopping")]) == ("", "gcm-deploy: stopping\n")


def test_a_screen_shows_what_was_chosen_of_the_output() -> None:
    facts = [said("0:0:1", TRACEBACK, "why"), said("0:0", ERR, "mpiexec"), said("0:0:1", ERR, "a")]
    assert written(facts)[1] == "why\nmpiexec\na\n"
    assert written(facts, choice=OutputChoice(all_tracebacks=False))[1] == "mpiexec\na\n"
    assert written(facts, choice=OutputChoice(quiet=True))[1] == "why\na\n"


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    out = io.BytesIO()
    screen = PlainScreen(out, io.BytesIO(), news=None, tags=True)
    screen.show([block("0:0:0", OUT, b"\xff\x00\r\n\x85\n")])
    assert out.getvalue() == b"[0:0:0] \xff\x00\r\n[0:0:0] \x85\n"


def test_a_line_without_its_end_is_ended_only_where_something_follows() -> None:
    begun = [block("0:0:0", OUT, b"half"), block("0:0:0", ERR, b"oh")]
    assert written([*begun, block("0:0:0", OUT, b" and half\n")]) == (
        "half and half\n",
        "oh\n",
    )
    assert written([*begun, said("0:0:1", OUT, "x")], tags=True) == (
        "[0:0:0] half\n[0:0:1] x\n", "[0:0:0] oh\n",
    )  # fmt: skip
    assert written(begun) == ("half", "oh\n")
    assert written([*begun, word("gcm-deploy: stopping")])[1] == "oh\ngcm-deploy: stopping\n"


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.binary(min_size=1, max_size=6)), max_size=8),
    st.booleans(),
)
def test_what_each_wrote_can_be_told_from_what_is_shown(
    blocks: list[tuple[str, bytes]], tags: bool
) -> None:
    shared = SharedStream(tags=tags)
    whole = [(rank, data.replace(b"[", b"(") + b"\n") for rank, data in blocks]
    shown = b"".join(shared.output(rank, data) for rank, data in whole)
    if not tags:
        assert shown == b"".join(data for _, data in whole)
        return
    for rank in "ab":
        tag = f"[{rank}] ".encode()
        own = b"".join(data for name, data in whole if name == rank)
        lines = shown.split(b"\n")[:-1]
        assert b"".join(line[4:] + b"\n" for line in lines if line.startswith(tag)) == own


def test_each_rank_and_stream_has_its_own_file(tmp_path: Path) -> None:
    files = RankFiles(tmp_path / "new" / "logs")
    files.show([said("0:1:2", OUT, "a"), said("0:1:2", ERR, "x"), said("1:0:0", OUT, "b")])
    files.show([said("0:1:2", OUT, "c"), said("0:1:2", TRACEBACK, "why"), word("news")])
    folder = tmp_path / "new" / "logs"
    # readable while the run lasts
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "0.1.2.stdout": "a\nc\n",
        "0.1.2.stderr": "x\nwhy\n",
        "1.0.0.stdout": "b\n",
    }
    files.close()


def test_more_ranks_than_files_that_may_be_open(tmp_path: Path) -> None:
    (tmp_path / "0.0.0.stdout").write_text("of an earlier run\n")
    files = RankFiles(tmp_path, most_open=2)
    for number in range(3):
        for rank in range(5):
            files.write(f"0:0:{rank}", OUT, f"{number}\n".encode())
    files.close()
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["0\n1\n2\n"] * 5


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputFailed, match=r"file: cannot write there: .*--output-dir"):
        RankFiles(tmp_path / "file")


def test_a_printer_shows_everything_in_order_before_it_closes() -> None:
    out = io.BytesIO()
    printer = Printer(PlainScreen(out, io.BytesIO(), news=None), no_failure)

    def write(rank: str) -> None:
        for number in range(500):
            printer.hear(said(rank, OUT, f"{rank} {number}"))

    writers = [threading.Thread(target=write, args=(rank,)) for rank in ("a", "b", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    printer.close()
    lines = out.getvalue().decode().splitlines()
    assert len(lines) == 1500
    for rank in ("a", "b", "c"):
        own = [line for line in lines if line.startswith(rank)]
        assert own == [f"{rank} {number}" for number in range(500)]


class _Gate(io.BytesIO):
    """A reader that takes nothing until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()
        self.asked = threading.Event()

    def write(self, data: bytes) -> int:  # type: ignore[override]  # only bytes come here
        self.asked.set()
        assert self.opened.wait(10)
        return super().write(data)


def test_output_counts_as_taken_once_it_is_shown() -> None:
    slow = _Gate()
    printer = Printer(PlainScreen(slow, io.BytesIO(), news=None), no_failure)
    taken = threading.Event()
    printer.hear(block("0:0:0", OUT, b"first\n"), taken.set)
    assert slow.asked.wait(10)
    printer.hear(said("0:0:0", OUT, "nobody has to wait for a slow reader"))
    assert not taken.is_set()
    slow.opened.set()
    assert taken.wait(10)
    printer.close()
    assert slow.getvalue() == b"first\nnobody has to wait for a slow reader\n"


class _Left(io.BytesIO):
    def write(self, data: bytes) -> int:  # type: ignore[override]  # only bytes come here
        raise BrokenPipeError(32, "Broken pipe")


def test_a_reader_that_left_is_told_once_and_blocks_nobody() -> None:
    failures: list[Exception] = []
    told = threading.Event()

    def failed(error: Exception) -> None:
        failures.append(error)
        told.set()

    printer = Printer(PlainScreen(_Left(), io.BytesIO(), news=None), failed)
    printer.hear(said("0:0:0", OUT, "a"))
    assert told.wait(10)
    taken: list[int] = []
    for number in range(10):
        printer.hear(block("0:0:0", OUT, b"b\n"), partial(taken.append, number))
    printer.close()
    assert taken == list(range(10))
    assert [type(one) for one in failures] == [BrokenPipeError]


def test_a_record_that_breaks_off_holds_nobody_up_and_is_told_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.facts"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    recording = Recording(str(path), FactFile(str(path)))
    os.close(reader)
    taken = threading.Event()
    recording.hear(said("0:0:0", OUT, "hello"), taken.set)
    assert taken.wait(10)
    assert recording.close() == f"{path}: the run could not be recorded to its end: Broken pipe"


def test_output_is_taken_once_all_listeners_have_taken_it() -> None:
    class Kept(Silent):
        def __init__(self) -> None:
            self.taken: list[Callable[[], None]] = []

        def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
            self.taken.append(taken)

    first, second, done = Kept(), Kept(), threading.Event()
    FactListeners(first, second).hear(said("0:0:0", OUT, "a"), done.set)
    first.taken[0]()
    assert not done.is_set()
    second.taken[0]()
    assert done.is_set()


def live(
    plan: DeploymentPlan, terminal: io.BytesIO, output: io.BytesIO | None = None
) -> LiveScreen:
    console = Console(
        file=io.StringIO(), width=60, height=40, force_terminal=True, color_system=None
    )
    names = plan.deployment.rank_names()
    return LiveScreen(terminal, console, lambda: 0.0, output=output, tags=True, names=names)


def test_lines_appear_above_a_tree_that_is_drawn_anew_in_one_write(plan: Plan) -> None:
    terminal = io.BytesIO()
    small = plan('<emulate sites="1" clusters="1" ranks="2"/>')
    screen = live(small, terminal)
    screen.show([planned(small)])
    tree = "test  planned  0 s  2 planned\n└─ 0 site0\n   └─ 0:0 cluster0  planned       ··\n"
    assert terminal.getvalue().decode() == tree
    terminal.truncate(0)
    terminal.seek(0)
    screen.show([said("0:0:0", OUT, "a \x1b[1mb"), change(f"{FIRST}:1", "ready"), word("word")])
    assert terminal.getvalue().decode() == (
        "\x1b[A\x1b[A\x1b[A\r\x1b[J[0] a \x1b[1mb\nword\n"
        "test  starting  0 s  1 planned, 1 ready\n└─ 0 site0\n"
        "   └─ 0:0 cluster0  planned       ·◐\n"
    )
    terminal.truncate(0)
    terminal.seek(0)
    screen.close()
    assert terminal.getvalue() == b"\x1b[A\x1b[A\x1b[A\r\x1b[J"


def test_a_tree_does_not_disturb_a_standard_output_that_is_elsewhere(plan: Plan) -> None:
    terminal, output = io.BytesIO(), io.BytesIO()
    screen = live(plan(), terminal, output)
    screen.show([planned(plan()), said("0:0:0", OUT, "result"), said("0:0:0", ERR, "warning")])
    screen.close()
    assert output.getvalue() == b"[0] result\n"
    assert b"result" not in terminal.getvalue()
    assert terminal.getvalue().startswith(b"[0] warning\ntest  planned")


def test_a_line_of_the_tree_never_wraps(plan: Plan) -> None:
    terminal = io.BytesIO()
    large = plan('<emulate sites="1" clusters="1" ranks="200"/>')
    screen = live(large, terminal)
    screen.show([planned(large), change(f"{FIRST}:1", "ready"), change(f"{FIRST}:2", "running")])
    screen.close()
    lines = terminal.getvalue().decode().splitlines()[:3]
    assert max(map(len, lines)) <= 60


def test_a_trace_in_otf2_needs_its_package_and_a_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old.otf2").mkdir()
    with pytest.raises(OutputFailed, match="File exists. Remove it, or choose another name"):
        trace_file(str(tmp_path / "old.otf2"))
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(OutputFailed, match="pip install gcm-grid.otf2"):
        trace_file(str(tmp_path / "new.otf2"))
    assert not (tmp_path / "new.otf2").exists()
