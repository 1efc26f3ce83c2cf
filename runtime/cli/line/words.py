"""A program and its machine on one line: the options for it, and where its arguments begin."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from gcm.cli.command_table import CommandTable
from gcm.cli.common_options import CommandParser
from gcm.records import dataclass

if TYPE_CHECKING:
    from runtime.allocations import JobRequest
    from runtime.deployment.machine_argument import Machine

MACHINE = ("ranks", "emulate", "hosts")
"""The options that say where a program runs, by where their values are kept."""

HIDDEN = "***"
"""What stands for the value of an environment variable where a command line is kept."""

Attributes = Mapping[str, Mapping[str, str]]
"""Attributes with their texts, by the name of their element."""


@dataclass(frozen=True, slots=True)
class OneLine:
    """A program, which may be a module, and the machine to run it on, if already known.

    `python` is that of the machine's hosts, `mpi` the kind of MPI, `options` are the words before
    the program, `inputs` files that are copied besides the program folder, `files` those that
    options name themselves, `attributes` those that options write into the descriptor. `job` is
    that of the batch system in which this command runs, and then the machine.
    """

    program: str
    is_module: bool
    machine: Machine | None
    python: str = ""
    mpi: str = ""
    options: Sequence[str] = ()
    inputs: Sequence[str] = ()
    files: Sequence[str] = ()
    attributes: Attributes = field(default_factory=dict)
    job: JobRequest | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The parts of a command line; without `program` the options hold a descriptor or a module."""

    options: Sequence[str]
    program: str
    arguments: Sequence[str]


def options_end(words: Sequence[str], parser: CommandParser) -> tuple[int, set[str]]:
    """Return where the first word is that is no option, and which options are before it.

    Behind `-m MODULE` there are none, and "" is one that the parser does not know.
    """
    position = 0
    seen: set[str] = set()
    while position < len(words) and "module" not in seen:
        word = words[position]
        if not word.startswith("-") or word in ("-", "--"):
            break
        option, has_value_behind = parser.option_of(word)
        seen.add(option)
        position += 1 + has_value_behind
    return position, seen


def cut(words: Sequence[str], parser: CommandParser) -> Cut:
    """Cut a command line where the arguments of the program begin.

    If an option names the machine before the first word that is not an option, that word is the
    program, and everything after it belongs to the program, whatever it looks like; one `--` may
    precede it, and one may follow. Otherwise everything after the first `--` are arguments: this is
    done by hand, because what argparse makes of `--` differs between versions of Python.
    """
    position, seen = options_end(words, parser)
    if not seen & {*MACHINE, "module"}:
        end = words.index("--") if "--" in words else len(words)
        return Cut(words[:end], "", words[end + 1 :])
    options, rest = words[:position], words[position:]
    if "module" in seen:
        return Cut(options, "", _behind_dashes(rest))
    rest = _behind_dashes(rest)
    return Cut(options, rest[0] if rest else "", _behind_dashes(rest[1:]))


def _behind_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[1:] if words and words[0] == "--" else words


def attributes_of(command: CommandTable, found: argparse.Namespace) -> Attributes:
    """Return the attributes that options write into a descriptor, by element."""
    made: dict[str, dict[str, str]] = {}
    for row in command.rows():
        if row.sets and (value := getattr(found, row.dest)):
            element, attribute = row.sets.split()
            made.setdefault(element, {})[attribute] = "yes" if value is True else str(value)
    return made


def files_of(command: CommandTable, words: Sequence[str]) -> tuple[str, ...]:
    """Return the files that options name, as `-l FILE` and `--hostfile=FILE` do."""
    rows = [row for row in command.rows() if row.settings.get("metavar") == "FILE"]
    names = {name for row in rows for name in row.names}
    behind = [after for word, after in pairwise(words) if word in names]
    within = [word.partition("=")[2] for word in words if word.partition("=")[0] in names]
    attached = [word[2:] for word in words if word not in names and word[:2] in names]
    return tuple(filter(None, (*behind, *within, *attached)))


def one_line_of(command: CommandTable, found: argparse.Namespace, pieces: Cut) -> OneLine | None:
    """Return the program and machine that options mean; None where a descriptor is named.

    Raises:
        ValueError: they do not fit together.
    """
    program = pieces.program or found.module or ""
    _settle_hosts(found)
    given = [name for name in MACHINE if getattr(found, name)]
    fault = _fault(command, found, program, given)
    if fault:
        raise ValueError(fault)
    if not program:
        return None
    machine: Machine = found.ranks or found.emulate or tuple(found.hosts or ())
    if found.wan:
        machine = replace(found.emulate, wan=found.wan)
    return OneLine(
        program,
        bool(found.module),
        machine,
        found.python,
        found.mpi or "",
        pieces.options,
        files=files_of(command, pieces.options),
        attributes=attributes_of(command, found),
    )


def _settle_hosts(found: argparse.Namespace) -> None:
    """Give each host its ranks, where they are said as `mpiexec` does; raises ValueError."""
    if found.each and not found.hosts:
        raise ValueError("-ppn says how many ranks each host has, so it needs hosts: -H HOST,...")
    if not found.hosts:
        return
    found.hosts = [
        tuple(replace(one, ranks=one.ranks or found.each or None) for one in site)
        for site in found.hosts
    ]
    if not found.ranks:
        return
    asked = found.ranks.ranks
    match found.hosts:
        case [(one,)] if one.ranks is None:
            found.hosts = [(replace(one, ranks=asked),)]
    total = sum(one.ranks or 1 for site in found.hosts for one in site)
    if asked != total:
        raise ValueError(
            f"-n asks for {asked} ranks, and the hosts have {total} in all: say for each host how"
            " many it gets, as in -H a:4,b:2, and leave -n out"
        )
    found.ranks = None


def missing_machine(program: str) -> str:
    """Return what to type to say where a program is to run.

    >>> print(missing_machine("a.py").splitlines()[1])
      gcm-deploy -n 4 a.py                 in one cluster of 4 ranks, on this machine
    """
    ways = {
        "-n 4": "in one cluster of 4 ranks, on this machine",
        "--emulate 2x2x2": "in 2 sites of 2 clusters of 2 ranks, on this machine",
        "-H host1:4,host2:4": "in a cluster on each host, over ssh",
    }
    commands = {f"gcm-deploy {way} {program}": what for way, what in ways.items()}
    width = max(map(len, commands))
    lines = [f"  {command:{width}}   {what}" for command, what in commands.items()]
    return "\n".join(["say where to run it:", *lines])


def _fault(
    command: CommandTable, found: argparse.Namespace, program: str, given: Sequence[str]
) -> str:
    """Return what is wrong with the combination of options, or nothing."""
    if found.descriptor and (given or program):
        return f"-n, --emulate, -H and -m stand before the program, so before {found.descriptor}"
    if len(given) > 1:
        return (
            "only one of -n, --emulate and -H can be: -n RANKS and --emulate SITESxCLUSTERSxRANKS"
            " stay on this machine, -H HOST:RANKS,... says for each host how many ranks it gets"
        )
    if program and not given:
        return missing_machine(f"-m {program}")
    if given and not program:
        return "name a program after the options, or a module with -m"
    if found.python and all(one.is_local for site in found.hosts or () for one in site):
        return (
            "--python is for the hosts of -H elsewhere; here runs the Python that runs gcm-deploy"
        )
    if found.mpi and not program:
        return (
            "--mpi is for a program with -n, --emulate or -H; in a descriptor <mpi flavour=...> "
            "says it"
        )
    if found.wan and (not found.emulate or found.emulate.sites == 1):
        return "--wan is the line between sites of --emulate, of which there are two or more: 2x2x2"
    for row in command.rows():
        if row.sets and getattr(found, row.dest) and not program:
            return (
                f"{row.names[0]} is for a program with -n, --emulate or -H; a descriptor says it "
                "itself"
            )
    if found.write and not program:
        return "--write is for a program with -n, --emulate or -H; a descriptor is written already"
    if not program and not found.descriptor:
        return (
            "name a program, as in gcm-deploy -n 4 program.py, or a DESCRIPTOR;"
            " see gcm-deploy --help"
        )
    return ""


def without_values(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line without the values of variables for ranks.

    >>> list(without_values(["gcm-deploy", "-x", "KEY=secret", "-xA=1", "ring.py"]))
    ['gcm-deploy', '-x', 'KEY=***', '-xA=***', 'ring.py']
    """
    before = ""
    for word in words:
        is_variable = before == "-x" or word.startswith("-x")
        name, equals, _ = word.partition("=")
        yield f"{name}={HIDDEN}" if is_variable and equals else word
        before = word
