"""What every launcher promises, as tests that any launcher can be asked."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.launchers.base import Command, Exit, Launcher, OutputStream, Reach
from runtime.launchers.errors import (
    CommandNotFound,
    CommandRefused,
    InputClosed,
    LauncherClosed,
    LaunchError,
    NoSuchFolder,
    StagingFailed,
    StillRunning,
)
from runtime.launchers.lines import Collected, Lines

# A family that does not want to die: a child in the group, one in a session of its own that lost
# its parent and its environment, and one that ignores SIGTERM. Every member says its number.
_FAMILY = """
import os, signal, sys, time
def say(): os.write(1, b"%d\\n" % os.getpid())
if os.fork() == 0:
    say(); time.sleep(1000); os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c",
            "import os,time; os.write(1, b'%d\\\\n' % os.getpid()); time.sleep(1000)"], {})
    os._exit(0)
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    say(); time.sleep(1000); os._exit(0)
say()
sys.stdin.readline()
"""
_MEMBERS = 4


def _python(program: str, *arguments: str, first_input: bytes = b"") -> Command:
    return Command((sys.executable, "-c", program, *arguments), first_input=first_input)


class _Numbers:
    """A sink for process numbers that lets a test wait until all are there."""

    def __init__(self, count: int) -> None:
        self.pids: list[int] = []
        self.complete = threading.Event()
        self._count = count
        self._lines = Lines(self._take)
        self.received = self._lines.received
        self.finished = self._lines.finished

    def _take(self, _: OutputStream, line: str) -> None:
        self.pids.append(int(line))
        if len(self.pids) == self._count:
            self.complete.set()


def _wait_gone(pids: list[int], seconds: float) -> list[int]:
    deadline = time.monotonic() + seconds
    left = []
    for pid in pids:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                left.append(pid)
            os.close(descriptor)
    return left


class LauncherContract:
    """The promises of a launcher; a subclass gives the launchers through two fixtures.

    `launcher` may be shared by several tests; `own_launcher` may be closed by the test that has it.
    The commands run on the machine of the tests, since these look at its processes and files.

    >>> class TestMine(LauncherContract):  # doctest: +SKIP
    ...     @pytest.fixture
    ...     def launcher(self):
    ...         with MyLauncher() as opened:
    ...             yield opened
    ...
    ...     @pytest.fixture
    ...     def own_launcher(self, launcher):
    ...         return launcher
    """

    @pytest.fixture
    def wait_gone(self) -> Callable[[list[int], float], list[int]]:
        """Wait until processes have ended and return those that have not."""
        return _wait_gone

    def test_reports_the_exit_code_of_a_command(self, launcher: Launcher) -> None:
        assert launcher.start(_python("raise SystemExit(3)")).wait(20) == Exit(code=3)

    def test_reports_the_signal_that_ended_a_command(self, launcher: Launcher) -> None:
        process = launcher.start(_python("import os; os.kill(os.getpid(), 9)"))
        assert process.wait(20) == Exit(signal=9)
        assert str(process.exit) == "killed by SIGKILL"

    def test_passes_arguments_settings_and_folder_unchanged(
        self, launcher: Launcher, tmp_path: Path
    ) -> None:
        program = "import os, sys; print(sys.argv[1:], os.environ['WORD'], os.environ.get('HOME'))"
        words = ("two words", "it's", '"$HOME"', "a\nb", "", "*", "ünï")
        sink = Collected()
        command = Command(
            (sys.executable, "-c", program + "; print(os.getcwd())", *words),
            {"WORD": "a=b c", "HOME": None, "PYTHONIOENCODING": "utf-8"},
            str(tmp_path),
        )
        assert launcher.start(command, sink).wait(20).ok
        assert sink.output == f"{list(words)} a=b c None\n{tmp_path}\n"

    def test_delivers_lines_in_order_and_the_last_one_without_its_newline(
        self,
        launcher: Launcher,
    ) -> None:
        printed: list[tuple[OutputStream, str]] = []
        program = (
            "import sys\nfor i in range(2000): print(i)\nprint('bad', file=sys.stderr)\n"
            "sys.stdout.write('last'); sys.stderr.write('words')"
        )
        process = launcher.start(
            _python(program), Lines(lambda stream, line: printed.append((stream, line)))
        )
        process.wait(20)
        output = [line for stream, line in printed if stream is OutputStream.OUTPUT]
        assert output == [*map(str, range(2000)), "last"]
        assert [line for stream, line in printed if stream is OutputStream.ERROR] == [
            "bad",
            "words",
        ]
        assert process.tail == ("bad", "words")

    def test_carries_ten_megabytes_on_both_streams(self, launcher: Launcher) -> None:
        program = (
            "import os, threading\n"
            "def flood(fd, byte):\n"
            "    for _ in range(160): os.write(fd, byte * 65536)\n"
            "t = threading.Thread(target=flood, args=(2, b'e')); t.start()\n"
            "flood(1, b'o'); t.join()"
        )
        sink = Collected()
        assert launcher.start(_python(program), sink).wait(60).ok
        assert sink.output == "o" * 160 * 65536
        assert sink.error == "e" * 160 * 65536

    def test_writes_more_to_a_command_than_it_reads_at_once(self, launcher: Launcher) -> None:
        data = os.urandom(5_000_000)
        sink = Collected()
        program = "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
        process = launcher.start(_python(program), sink)
        process.write(data, timeout=30)
        process.close_input()
        assert process.wait(30).ok
        assert sink.output.strip() == hashlib.sha256(data).hexdigest()

    def test_tells_a_writer_when_nobody_reads(self, launcher: Launcher) -> None:
        process = launcher.start(Command(("sleep", "1000")))
        process.started(20)
        with pytest.raises(StillRunning, match="did not read its input"):
            process.write(b"x" * 3_000_000, timeout=0.3)
        process.kill()
        process.wait(10)
        with pytest.raises(InputClosed):
            process.write(b"x")

    def test_talks_to_a_command_while_it_runs(self, launcher: Launcher) -> None:
        answers: list[str] = []
        heard = threading.Semaphore(0)

        def hear(_: OutputStream, line: str) -> None:
            answers.append(line)
            heard.release()

        process = launcher.start(Command(("cat",)), Lines(hear))
        for word in (b"one\n", b"two\n"):
            process.write(word)
            assert heard.acquire(timeout=10)
        process.close_input()
        assert process.wait(10).ok
        assert answers == ["one", "two"]

    def test_a_secret_is_in_no_argument_list_and_in_no_environment(
        self, launcher: Launcher
    ) -> None:
        secret = os.urandom(16).hex().encode()
        seen = threading.Event()
        process = launcher.start(
            _python(
                "import sys; print(sys.stdin.readline(), flush=True); sys.stdin.read()",
                first_input=secret + b"\n",
            ),
            Lines(lambda _, line: seen.set() if line == secret.decode() else None),
        )
        assert seen.wait(20)
        found = []
        for entry in Path("/proc").iterdir():
            for part in ("cmdline", "environ"):
                try:
                    if entry.name.isdigit() and secret in (entry / part).read_bytes():
                        found.append(entry / part)
                except OSError:
                    continue
        process.close_input()
        process.wait(10)
        assert found == []
        assert secret.decode() not in repr(process)

    def test_a_signal_reaches_the_command(self, launcher: Launcher) -> None:
        ready = threading.Event()
        program = (
            "import signal, sys\n"
            "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\n"
            "print('ready', flush=True)\nsignal.pause()"
        )
        process = launcher.start(_python(program), Lines(lambda *_: ready.set()))
        assert ready.wait(20)
        process.signal(signal.SIGUSR1, Reach.PROCESS)
        assert process.wait(10) == Exit(code=7)
        process.signal(signal.SIGUSR1)  # it has ended: nothing happens

    def test_wait_gives_up_in_time_and_says_what_it_waited_for(self, launcher: Launcher) -> None:
        process = launcher.start(Command(("sleep", "1000")))
        process.started(20)
        with pytest.raises(StillRunning, match=r"'sleep' had not ended after 0\.05 s"):
            process.wait(0.05)
        assert process.stop(grace=20) == Exit(signal=signal.SIGTERM)

    def test_stop_kills_what_ignores_the_request(self, launcher: Launcher) -> None:
        ready = threading.Event()
        program = (
            "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "print('ready', flush=True)\nwhile True: signal.pause()"
        )
        process = launcher.start(_python(program), Lines(lambda *_: ready.set()))
        assert ready.wait(20)
        assert process.stop(grace=0.1) == Exit(signal=signal.SIGKILL)

    def test_kill_reaches_the_whole_family(
        self, own_launcher: Launcher, wait_gone: Callable[[list[int], float], list[int]]
    ) -> None:
        family = _Numbers(_MEMBERS)
        process = own_launcher.start(_python(_FAMILY), family)
        assert family.complete.wait(20)
        process.kill()
        assert process.wait(10) == Exit(signal=signal.SIGKILL)
        # The one that left no trace of where it came from goes with its own_launcher.
        own_launcher.close()
        assert wait_gone(family.pids, 20) == []

    def test_what_a_command_leaves_behind_ends_after_it(
        self, own_launcher: Launcher, wait_gone: Callable[[list[int], float], list[int]]
    ) -> None:
        family = _Numbers(_MEMBERS)
        process = own_launcher.start(_python(_FAMILY), family)
        assert family.complete.wait(20)
        process.write(b"go\n")
        assert process.wait(10) == Exit(code=0)
        own_launcher.close()
        assert wait_gone(family.pids, 20) == []

    def test_a_missing_command_is_named_with_the_path_searched(self, launcher: Launcher) -> None:
        process = launcher.start(Command(("no-such-thing",)))
        with pytest.raises(CommandNotFound, match=r"'no-such-thing' was not found.*PATH=.*Install"):
            process.started(20)
        with pytest.raises(CommandNotFound):
            process.wait(20)

    def test_a_file_that_is_no_program_is_refused(self, launcher: Launcher, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("hello")
        with pytest.raises(CommandRefused, match="could not be started: Permission denied"):
            launcher.start(Command((str(tmp_path / "text"),))).wait(20)

    def test_a_missing_working_directory_is_named(self, launcher: Launcher) -> None:
        with pytest.raises(NoSuchFolder, match="the working directory /no/such"):
            launcher.start(Command(("true",), cwd="/no/such")).wait(20)
        assert launcher.start(Command(("true",))).wait(20).ok

    def test_files_and_folders_are_brought_to_a_folder(
        self, launcher: Launcher, tmp_path: Path
    ) -> None:
        tree = tmp_path / "tree"
        (tree / "deep" / "deeper").mkdir(parents=True)
        (tree / "deep" / "data").write_bytes(os.urandom(3_000_000))
        (tree / "link").symlink_to("deep/data")
        tool = tmp_path / "tool"
        tool.write_text("#!/bin/sh\necho ran\n")
        tool.chmod(0o755)
        folder = launcher.make_folder()
        launcher.stage({"in/tree": tree, "tool": tool, "note.txt": b"hello"}, folder)
        sink = Collected()
        assert launcher.start(Command((f"{folder}/tool",)), sink).wait(20).ok
        assert sink.output == "ran\n"
        there = Path(folder)
        data = (tree / "deep" / "data").read_bytes()
        assert (there / "in/tree/deep/data").read_bytes() == data
        assert (there / "in/tree/link").read_bytes() == data
        assert (there / "in/tree/deep/deeper").is_dir()
        assert (there / "note.txt").read_text() == "hello"

    def test_staging_refuses_names_outside_the_folder(self, launcher: Launcher) -> None:
        folder = launcher.make_folder()
        for name in ("/etc/passwd", "../up", ""):
            with pytest.raises(StagingFailed, match="not the name of a file inside"):
                launcher.stage({name: b""}, folder)

    def test_staging_a_missing_file_names_it(self, launcher: Launcher, tmp_path: Path) -> None:
        with pytest.raises(StagingFailed, match=r"cannot be read here.*no-such-file"):
            launcher.stage({"x": tmp_path / "no-such-file"}, launcher.make_folder())

    def test_a_folder_is_private_and_goes_with_the_launcher(self, own_launcher: Launcher) -> None:
        folder = Path(own_launcher.make_folder())
        (folder / "sub").mkdir()
        (folder / "sub" / "file").write_text("x")
        assert folder.stat().st_mode & 0o777 == 0o700
        own_launcher.close()
        assert not folder.exists()

    def test_a_folder_that_cannot_be_made_is_refused(self, launcher: Launcher) -> None:
        with pytest.raises(
            StagingFailed, match=r"/no/such/gcm-\w+ could not be made: No such file"
        ):
            launcher.make_folder("/no/such")

    def test_closing_ends_what_runs_and_twice_is_once(
        self, own_launcher: Launcher, wait_gone: Callable[[list[int], float], list[int]]
    ) -> None:
        done = threading.Event()
        process = own_launcher.start(Command(("sleep", "1000")))
        process.started(20)
        process.when_done(done.set)
        own_launcher.close()
        own_launcher.close()
        assert done.wait(5)
        with pytest.raises(LauncherClosed):
            process.wait(5)
        assert process.pid is not None
        assert wait_gone([process.pid], 20) == []
        with pytest.raises(LauncherClosed):
            own_launcher.start(Command(("true",)))

    def test_giving_a_connection_up_tells_those_who_wait_and_starts_no_more(
        self, own_launcher: Launcher
    ) -> None:
        process = own_launcher.start(Command(("sleep", "1000")))
        process.started(20)
        own_launcher.abandon()
        with pytest.raises(LaunchError):
            process.wait(5)
        with pytest.raises(LaunchError):
            own_launcher.start(Command(("true",)))

    def test_a_failing_callback_does_not_stop_the_launcher(self, launcher: Launcher) -> None:
        def fail(_: OutputStream, line: str) -> None:
            raise RuntimeError(line)

        assert launcher.start(Command(("echo", "x")), Lines(fail)).wait(20).ok
        assert launcher.start(Command(("true",))).wait(20).ok

    def test_says_where_it_arrived(self, launcher: Launcher) -> None:
        facts = launcher.ready(20)
        assert facts.version >= (3, 11)
        assert facts.user == os.getuid()
        assert facts.host == os.uname().nodename
