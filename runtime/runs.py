"""Runs started by a Python program, or in a notebook: `run` waits for the end, `start` does not.

They take what the command line of `gcm-deploy` takes, by the names of its options, and go the same
way from there: descriptor, plan, machine. Nothing is printed; a run keeps its output, and what is
known about it, for whoever asks. The thread of the machine hears the facts of the run, that of the
caller asks; a lock is between them.
"""

from __future__ import annotations

import asyncio
import codecs
import io
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import field
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

from gcm.records import dataclass
from gcm.suggestion import did_you_mean
from runtime.cli.errors import UsageError
from runtime.cli.line.options import GCM_DEPLOY, read_options
from runtime.cli.line.words import MACHINE
from runtime.cli.load import load_deployment
from runtime.cli.machine_picture import machine_picture
from runtime.cli.programs import look_at_programs
from runtime.cli.run import SAMPLES, SNAPSHOT_TIMEOUT
from runtime.deployment import DeploymentPlan, make_plan
from runtime.deployment.python_assembly import deployment_of_assembly
from runtime.errors import GridError
from runtime.lifecycle.outcome import Outcome
from runtime.lifecycle.run_life import RunPhase
from runtime.processes.launcher.machine import Machine
from runtime.processes.launcher.samples import UNSAMPLED, Sampling
from runtime.views.facts import Fact, OutputWritten, WaitExplained
from runtime.views.notebook import NotebookProgress, is_in_notebook
from runtime.views.page import excerpt_of, page_of
from runtime.views.run_view import RunView
from runtime.views.stream import nothing
from runtime.views.summary import headline
from runtime.waits.findings import NEVER

if TYPE_CHECKING:
    from gcm.adl import Assembly

MOST_OUTPUT = 64 << 20
"""So many bytes of output are kept of a run, the latest; a line tells that there were more."""

FOLLOWED_EVERY = 0.1
"""After so many seconds output is written that has come meanwhile."""

_STREAMS = ("stdout", "stderr")

MOST_SHOWN = 4_000
"""So many characters of the end of the output are shown in a notebook."""

_MACHINES = (
    "machine=4 is 4 ranks here, '2x2x2' an emulated grid of sites, clusters and ranks, "
    "'lyon:4,porto:4' two hosts"
)

_SHAPE = re.compile(r"[0-9]+(x[0-9]+)*")


class RunOptions(TypedDict, total=False):
    """The options of a run, by their names on the command line of `gcm-deploy`.

    Type checkers and editors find a misspelt one in `run("ring.py", machine=4, run_timout=3)`; when
    it is called a `UsageError` names the nearest.
    """

    wan: str
    """Delay and rate of lines between emulated sites: `"10ms,1gbit"`."""
    python: str
    """The Python of the machine's hosts."""
    mpi: str
    """The kind of MPI: `"openmpi"`, or `"mpich-wheel"`, which is brought along."""
    replicas: int
    """How many processes each rank is."""
    restart: bool
    """Whether lost replicas are started again."""
    failures: Literal["abort", "return"]
    """Whether a lost rank ends the run, or MPI tells the others."""
    recovery: Literal["shrink", "blank", "rebuild", "rebuild-at-end", "abort"]
    """How communicators recover from losses, unless their hints say otherwise."""
    recovery_messages: Literal["nop", "cont"]
    """What becomes of messages while a communicator recovers."""
    timeout: float | str
    """Seconds for the start and for each of its waits."""
    run_timeout: float | str
    """Seconds after which the run is ended."""
    explain_waits: float | str
    """After how many seconds a wait is explained."""
    plans: str
    """The plans of collectives: `"bcast=flat"`."""
    set: Mapping[str, object]
    """Values of the descriptor's variables, by name."""
    x: Mapping[str, object]
    """Values of environment variables of the ranks, by name."""


_ALSO = (
    "settings", "variables", "timeout", "run_timeout", "explain_waits", "plans", "wan", "python",
    "mpi",
)  # fmt: skip
"""The options of a run, beside those that write an attribute of the descriptor."""


class RunFailed(GridError):
    """A run did not end well; its `result` has all that is known of it."""

    def __init__(self, result: RunResult) -> None:
        first, *others = result.errors or (f"the run ended with exit code {result.code}",)
        super().__init__(first, cause="\n".join(others))
        self.result = result


@dataclass(frozen=True, slots=True)
class RankAtHand:
    """A rank as it is known to be.

    `number` is its rank in its COMM_WORLD, `name` how messages call it, `detail` how it ended or
    what it does; `code` is None until it has ended. `output` is what it wrote to both streams.
    """

    number: int
    name: str
    state: str
    host: str
    pid: int
    code: int | None
    detail: str
    output: str = field(repr=False)


class _Ear:
    """Hears the facts of a run, and keeps what may be asked; a notebook shows its `progress`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.progress = NotebookProgress.here()
        self.view = RunView()
        self._output: deque[tuple[str, str, bytes]] = deque()
        self._size = 0
        self._lost = 0
        self._number = 0
        self.is_followed = False
        """Whether the output was shown as it came."""

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Take a fact, on the thread of the machine."""
        with self.lock:
            self.view.take(fact)
            if isinstance(fact.record, OutputWritten):
                self._keep(fact.name, fact.record)
        if self.progress is not None:
            self.progress.take(fact)
        taken()

    def _keep(self, name: str, written: OutputWritten) -> None:
        self._output.append((name, written.stream, written.data))
        self._number += 1
        self._size += len(written.data)
        while self._size > MOST_OUTPUT:
            dropped = len(self._output.popleft()[2])
            self._size -= dropped
            self._lost += dropped

    def since(self, number: int) -> tuple[int, list[tuple[str, bytes]]]:
        """Return how many pieces of output came in all, and those behind the first ones."""
        with self.lock:
            kept = islice(reversed(self._output), self._number - number)
            return self._number, [(stream, data) for _, stream, data in kept][::-1]

    def output(self) -> str:
        """Return what all ranks have written to standard output."""
        with self.lock:
            pieces = [data for _, stream, data in self._output if stream == "stdout"]
            head = f"[{self._lost} earlier bytes are not kept]\n" if self._lost else ""
        return head + b"".join(pieces).decode(errors="replace")

    def ranks(self) -> tuple[RankAtHand, ...]:
        """Return the ranks as they are, with their output."""
        written: dict[str, list[bytes]] = {}
        with self.lock:
            document: dict[str, Any] = self.view.document()
            for name, _, data in self._output:
                written.setdefault(name, []).append(data)
        return tuple(
            RankAtHand(
                one["number"], one["name"], one["state"], one["host"], one["pid"], one["code"],
                one["detail"], b"".join(written.get(one["id"], ())).decode(errors="replace"),
            )
            for one in document["ranks"]
        )  # fmt: skip


class _Shown:
    """What a run and its result have in common: ranks, output, and how a notebook shows them."""

    _kind = "run"

    def __init__(self, plan: DeploymentPlan, ear: _Ear) -> None:
        self._plan = plan
        self._ear = ear

    @property
    def ranks(self) -> tuple[RankAtHand, ...]:
        """All ranks as they are now, in the order of the machine."""
        return self._ear.ranks()

    @property
    def output(self) -> str:
        """What all ranks have written to standard output until now, in the order of arrival."""
        return self._ear.output()

    def report(self) -> str:
        """Return the page of `gcm-deploy --report`: all that is known, as one HTML file."""
        with self._ear.lock:
            return page_of(self._ear.view.document(), self._ear.view.output())

    def _headline(self) -> str:
        with self._ear.lock:
            summary = self._ear.view.account.summary()
            document = self._ear.view.document()
        if summary.code is not None:
            return headline(summary)
        return f"{document['title']}: {document['headline']}, {document['phase']}"

    def __repr__(self) -> str:
        return f"<{self._kind} of {self._headline()}>"

    def _repr_svg_(self) -> str:
        return machine_picture(self._plan.deployment)

    def _repr_html_(self) -> str:
        has_codes = len(self._plan.deployment.applications) > 1
        rows = [
            (
                one.name if has_codes else str(one.number),
                one.state, one.host, str(one.pid or ""), one.detail,
            )
            for one in self.ranks
        ]  # fmt: skip
        heading = ("rank", "state", "host", "process", "")
        output = "" if self._ear.is_followed else self.output[-MOST_SHOWN:]
        texts = (output, *self._faults())
        return excerpt_of(self._headline(), self._repr_svg_(), [heading, *rows], texts)

    def _faults(self) -> Sequence[str]:
        return ()


class RunResult(_Shown):
    """How a run has ended: its exit code, errors and output, its ranks, and its seconds.

    The exit code of a run that was stopped is 0 if nothing had failed. `outcome` has the rest:
    traffic, connections, results that came home. A notebook shows the machine, the ranks and the
    end of the output.
    """

    _kind = "result"

    def __init__(self, plan: DeploymentPlan, ear: _Ear, outcome: Outcome) -> None:
        super().__init__(plan, ear)
        self.outcome = outcome

    @property
    def code(self) -> int:
        """The exit code with which `gcm-deploy` would have ended."""
        return self.outcome.exit_code

    @property
    def errors(self) -> tuple[str, ...]:
        """Whole messages about what failed, the first cause first."""
        return self.outcome.errors

    @property
    def seconds(self) -> float:
        """How long the run took, its start included."""
        return self.outcome.seconds

    def check(self) -> Self:
        """Return the result; raises RunFailed unless the run has ended well."""
        if self.code:
            raise RunFailed(self)
        return self

    def _faults(self) -> Sequence[str]:
        return self.errors


class StartedRun(_Shown):
    """A run that goes on: `start` makes it. Leaving its block, or `stop`, ends what still runs.

    It can be awaited, as `result = await run`, and is a context manager for `async with` too.
    """

    def __init__(self, plan: DeploymentPlan) -> None:
        super().__init__(plan, _Ear())
        samples = UNSAMPLED if self._ear.progress is None else Sampling(SAMPLES, SAMPLES)
        self._machine = Machine(plan, self._ear, samples=samples).start()

    def wait(self, timeout: float | None = None) -> RunResult:
        """Return the result once everything is gone; raises TimeoutError after so many seconds."""
        return RunResult(self._plan, self._ear, self._machine.wait(timeout))

    def follow(self) -> RunResult:
        """Write what ranks write to this program's streams as it comes, and return the result."""
        self._ear.is_followed = True
        number, result = 0, None
        decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in _STREAMS}
        while True:
            number, pieces = self._ear.since(number)
            for name, group in groupby(pieces, key=lambda piece: piece[0]):
                if name not in _STREAMS:
                    continue  # tracebacks are part of the errors
                stream = sys.stdout if name == "stdout" else sys.stderr
                stream.write(decoders[name].decode(b"".join(data for _, data in group)))
                stream.flush()
            if result is not None:
                return result
            with suppress(TimeoutError):
                result = self.wait(FOLLOWED_EVERY)

    def waits(self) -> list[str]:
        """Return why ranks wait that can never continue, a sentence for each finding.

        Raises:
            TimeoutError: the machine does not answer in time.
        """
        if self._machine.state is not RunPhase.RUNNING:
            return []
        seen = self._machine.snapshot(SNAPSHOT_TIMEOUT)
        found = (record for _, record in seen if isinstance(record, WaitExplained))
        return [one.text for one in found if one.kind in NEVER]

    def stop(self) -> RunResult:
        """End what still runs, and return the result."""
        self._machine.stop()
        return self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __await__(self) -> Generator[Any, None, RunResult]:
        return asyncio.to_thread(self.wait).__await__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)


def start(
    program: str | os.PathLike[str],
    *arguments: object,
    machine: str | int = "",
    **options: Unpack[RunOptions],
) -> StartedRun:
    """Start a program on a machine, or what a descriptor describes, and return at once.

    `machine` is a number of ranks, a shape such as `"2x2x2"` (sites, clusters, ranks, emulated on
    this machine), or hosts such as `"lyon:4,porto:4"`; a descriptor has its own. The `arguments`
    are those of the program. The `options` are those of `gcm-deploy` that change the run, with
    underscores: `failures="return"`, `run_timeout=60`, `set={"ranks": 4}`, `x={"NAME": "value"}`.

    Raises:
        UsageError: there is no such option, or no machine of that kind.
        GridError: the descriptor has faults, or the program cannot be read.

    >>> with start("ring.py", machine="2x2x2") as ring:          # doctest: +SKIP
    ...     print(ring.waits(), ring.wait().output)
    """
    return StartedRun(planned(program, *arguments, machine=machine, **options))


def started(words: list[str]) -> StartedRun:
    """Start what a command line of `gcm-deploy` would, and return at once; as `start`."""
    return StartedRun(_planned(words))


def planned(
    program: str | os.PathLike[str] | Assembly,
    *arguments: object,
    machine: str | int = "",
    **options: Unpack[RunOptions],
) -> DeploymentPlan:
    """Return the plan of what `start` would start, for a `Machine`; it has the arguments.

    The program may be an `Assembly` too. Then `machine` is a descriptor that maps the virtual nodes
    of its components, and has no assembly of its own, or `"1x2x4"`: sites, clusters and nodes here.

    Raises:
        UsageError, GridError: as `start` does.
        AdlError: the assembly has faults.

    >>> with Machine(planned("coupled-codes.xml"), steered=True) as machine:   # doctest: +SKIP
    ...     print(machine.code("ocean").control.wait())
    """
    if not isinstance(program, str | os.PathLike):
        if arguments or options or not machine:
            raise UsageError(
                f"the assembly '{program.name}' is planned for a machine, and nothing else",
                cure="Name a descriptor as the machine, or sites, clusters and nodes: '1x2x4'",
            )
        return make_plan(deployment_of_assembly(program, str(machine)))
    return _planned(_words(os.fspath(program), arguments, machine, options))


def run(
    program: str | os.PathLike[str],
    *arguments: object,
    machine: str | int = "",
    check: bool = True,
    **options: Unpack[RunOptions],
) -> RunResult:
    """Run a program on a machine to its end, and return the result; `start` has the arguments.

    Ctrl-C, or any other exception, ends what was started. In a notebook the output appears while
    it runs.

    Raises:
        RunFailed: the run did not end well; unless `check` is False.
        UsageError, GridError: nothing was started; as `start` does.

    >>> run("ring.py", 10, machine="2x2x2").output               # doctest: +SKIP
    '8 ranks add up to 36\\n'
    """
    with start(program, *arguments, machine=machine, **options) as going:
        result = going.follow() if is_in_notebook() else going.wait()
    return result.check() if check else result


def _words(
    program: str, arguments: tuple[object, ...], machine: str | int, options: Mapping[str, object]
) -> list[str]:
    """Return the command line that means the same."""
    words = [word for name, value in options.items() for word in _option(name, value)]
    if program.endswith(".xml"):
        if machine != "":
            raise UsageError(
                f"'{program}' describes its machine itself",
                cure="Leave machine= out, or name a program in place of the descriptor",
            )
        return [*words, program, "--", *map(str, arguments)]
    where = str(machine)
    if where.endswith(".xml"):
        raise UsageError(
            f"machine='{where}' is a descriptor, which names its program itself",
            cure=f"Write run('{where}'), with <application script='{program}'/> in it",
        )
    if not where:
        raise UsageError(f"say where to run '{program}'", cure=_MACHINES)
    if where[0].isdigit() and ":" not in where and not _SHAPE.fullmatch(where):
        raise UsageError(f"machine='{where}' is no machine", cure=_MACHINES)
    kind = "-n" if where.isdecimal() else "--emulate" if _SHAPE.fullmatch(where) else "-H"
    return [*words, kind, where, program, *map(str, arguments)]


def _option(name: str, value: object) -> list[str]:
    """Return the words of an option; raises UsageError if a run has none of that name."""
    every = {
        word.lstrip("-").replace("-", "_"): (word, row)
        for row in GCM_DEPLOY.rows()
        for word in row.names
    }
    known = {one: row for one, row in every.items() if row[1].sets or row[1].dest in _ALSO}
    if name in {"host", "nodes"} or (name in every and every[name][1].dest in MACHINE):
        raise UsageError(
            f"a run has no option '{name}'",
            cure=f"Say where it runs with the argument machine, as {value!r}",
        )
    if name in every and name not in known:
        raise UsageError(
            f"'{name}' is an option of the command gcm-deploy, not of a run from Python",
            cure="What a run shows and writes is in its result: output, ranks, report(), outcome",
        )
    if name not in known:
        hint = did_you_mean(name, [*known, "machine", "check"])
        raise UsageError(f"a run has no option '{name}'{hint and f'; {hint}'}")
    word, row = known[name]
    if row.settings.get("action") == "store_true":
        return [word] if value else []
    if isinstance(value, Mapping):
        return [part for one, of_it in value.items() for part in (word, f"{one}={of_it}")]
    return [word, str(value)]


def _planned(words: list[str]) -> DeploymentPlan:
    """Return the plan of a command line. What the command would print is the error, or a warning.

    The parser and the checks of documents write to standard error, which is caught meanwhile.
    """
    said = io.StringIO()
    with redirect_stderr(said):
        try:
            options = read_options(words)
        except SystemExit:
            why = said.getvalue().strip().partition("error: ")[2]
            raise UsageError(why or "nothing was started: --help and its like only print") from None
        deployment = load_deployment(options)
        programs = None if deployment is None else look_at_programs(deployment, options)
    if deployment is None or programs is None:
        raise GridError("nothing was started", cause=said.getvalue())
    if deployment.peers is not None:
        raise UsageError("a lab is booked by a command", cure="Run gcm-peer run, or gcm-deploy")
    sys.stderr.write(said.getvalue())
    return make_plan(deployment, programs)
