"""The four questions of `gcm-deploy new`: texts, defaults, and how answers are parsed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace

from gcm.cli.common_options import number_of
from gcm.records import dataclass
from runtime.cli.line.document import kind_of
from runtime.cli.line.words import OneLine
from runtime.deployment.machine_argument import HostArgument, Machine, parse_emulation, parse_hosts

_HERE = "here"
_EVERYTHING = "all"
_SHAPE, _EACH = "2x2x2", "4"


@dataclass(frozen=True, slots=True)
class Answers:
    """What to run, where, and which files to bring home.

    `hosts` is empty for an emulation, whose shape is in `machine` once it is known.
    """

    program: Sequence[str] = ()
    hosts: tuple[HostArgument, ...] = ()
    machine: Machine | None = None
    results: tuple[str, ...] = ()

    def one_line(self) -> tuple[OneLine, Sequence[str]]:
        """Return the program with its machine, and its arguments."""
        is_module = self.program[:1] == ["-m"]
        program, *arguments = self.program[is_module:]
        return OneLine(program, is_module, self.machine), arguments


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `option` answers it on the command line, `meaning` is that option's help.

    `take` returns the answers including the one to this question; it raises `ValueError` or
    `UsageError` for an invalid one.
    """

    option: str
    text: str
    default: Callable[[Answers], str]
    take: Callable[[str, Answers], Answers]
    meaning: str


def _take_program(text: str, so_far: Answers) -> Answers:
    words = shlex.split(text)
    if not words or words == ["-m"]:
        raise ValueError("a program is needed: a file, or -m and a module")
    answers = replace(so_far, program=words)
    kind_of(*answers.one_line())  # which knows what is on the search path
    return answers


def _take_where(text: str, so_far: Answers) -> Answers:
    hosts = () if text == _HERE else parse_hosts(text)
    machine = (hosts,) if hosts else parse_emulation(_SHAPE)
    kind_of(*replace(so_far, machine=machine).one_line())  # hosts may have what is not here
    return replace(so_far, hosts=hosts)


def _take_ranks(text: str, so_far: Answers) -> Answers:
    if not so_far.hosts:
        return replace(so_far, machine=parse_emulation(text))
    ranks = number_of("ranks")(text)
    hosts = tuple(replace(one, ranks=one.ranks or ranks) for one in so_far.hosts)
    return replace(so_far, machine=(hosts,))


def _take_results(text: str, so_far: Answers) -> Answers:
    return replace(so_far, results=() if text == _EVERYTHING else tuple(shlex.split(text)))


def _only_program(_: Answers) -> str:
    """Return the only Python file of this folder, or nothing if there are others."""
    programs = [name for name in os.listdir() if name.endswith(".py")]
    return shlex.quote(programs[0]) if len(programs) == 1 else ""


QUESTIONS = (
    Question(
        "program",
        "Which program, with its arguments?",
        _only_program,
        _take_program,
        "the program with its arguments, as one word, or '-m MODULE'",
    ),
    Question(
        "where",
        f"Where? '{_HERE}' emulates clusters on this machine; else hosts, as host1,ana@host2",
        lambda _: _HERE,
        _take_where,
        f"'{_HERE}', or hosts as behind -H of gcm-deploy",
    ),
    Question(
        "ranks",
        "How many ranks? SITESxCLUSTERSxRANKS where they are emulated, else on each host",
        lambda so_far: _EACH if so_far.hosts else _SHAPE,
        _take_ranks,
        "SITESxCLUSTERSxRANKS where they are emulated, else on each host without a number",
    ),
    Question(
        "results",
        f"Which files should be brought home? Paths and folders, or '{_EVERYTHING}' that is new",
        lambda _: _EVERYTHING,
        _take_results,
        f"files and folders with blanks between, or '{_EVERYTHING}'",
    ),
)
