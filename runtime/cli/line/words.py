"""A program and its machine on one line: the options for it, and where its arguments begin."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from gcm.cli.common_options import CommandParser
from gcm.records import dataclass

if TYPE_CHECKING:
    from runtime.deployment.machine_argument import Emulation, HostArgument, Machine

_MACHINE = ("ranks", "emulate", "hosts")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class OneLine:
    """A program, which may be a module, and the machine to run it on, if already known.

    `python` is that of the machine's hosts, `options` are the words before the program, `failures`
    and `recovery...` say what the loss of a rank means, `replicas` how many processes each rank
    has, 0 if not given, and `restart` whether lost ones are started again. `inputs` are files that
    are copied besides the program folder, `detector` attributes of `<failure-detector>`.
    """

    program: str
    is_module: bool
    machine: Machine | None
    python: str = ""
    options: Sequence[str] = ()
    failures: str = ""
    recovery: str = ""
    recovery_messages: str = ""
    replicas: int = 0
    restart: bool = False
    inputs: Sequence[str] = ()
    detector: Sequence[tuple[str, str]] = ()


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
    if not seen & {*_MACHINE, "module"}:
        end = words.index("--") if "--" in words else len(words)
        return Cut(words[:end], "", words[end + 1 :])
    options, rest = words[:position], words[position:]
    if "module" in seen:
        return Cut(options, "", _behind_dashes(rest))
    rest = _behind_dashes(rest)
    return Cut(options, rest[0] if rest else "", _behind_dashes(rest[1:]))


def _behind_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[1:] if words and words[0] == "--" else words


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a machine without a descriptor."""
    group = parser.add_argument_group(
        "without a descriptor", "all behind PROGRAM, or behind -m MODULE, are its arguments"
    )
    group.add_argument(
        "-n", "-np", dest="ranks", metavar="RANKS", type=_told(_ranks),
        help="one cluster on this machine, as with mpiexec",
    )  # fmt: skip
    group.add_argument(
        "--emulate", metavar="SHAPE", type=_told(_shape),
        help="clusters on this machine: SITESxCLUSTERSxRANKS, the ranks being those of each"
        " cluster; CLUSTERSxRANKS is one site, RANKS one cluster",
    )  # fmt: skip
    group.add_argument(
        "--wan", metavar="DELAY[,RATE]", type=_told(_line),
        help="the line between the sites of --emulate: messages arrive so much later one way, and"
        " at most so many bits a second, as 10ms,1gbit",
    )  # fmt: skip
    group.add_argument(
        "-H", dest="hosts", metavar="HOSTS", action="append", type=_told(_hosts),
        help="a cluster on each host, over ssh: [USER@]HOST[:RANKS],... with ranges such as"
        " node[1-4]:8; without a number 1 rank; localhost is this machine; a second -H is a"
        " second site",
    )  # fmt: skip
    _add_words_of_others(group)
    group.add_argument(
        "-m", dest="module", metavar="MODULE", help="run a module, as python -m does"
    )
    group.add_argument(
        "--python", metavar="PATH", default="", help="the Python on the remote hosts of -H"
    )
    group.add_argument(
        "--replicas", metavar="R", type=_told(_replicas), default=0,
        help="each rank is R processes on different hosts or clusters, and survives while one of "
        "them lives; so --emulate 2x4 --replicas 2 is 4 ranks",
    )  # fmt: skip
    group.add_argument(
        "--restart", action="store_true",
        help="restart replicas that have died: they join the others when the program calls"
        " MPI.Checkpoint",
    )  # fmt: skip
    add_recovery(group)


def add_ranks_of_others(group: argparse._ActionsContainer, parse: Callable[[str], object]) -> None:
    """Add what `mpirun` and `srun` call the number of ranks."""
    group.add_argument(
        "--np", "--ntasks", dest="ranks", metavar="RANKS", type=parse, help=argparse.SUPPRESS
    )


def _add_words_of_others(group: argparse._ActionsContainer) -> None:
    """Add the words of `mpiexec`, `mpirun` and `srun` that mean the same."""
    add_ranks_of_others(group, _told(_ranks))
    group.add_argument(
        "-host", "-hosts", "--host", "--hosts", dest="hosts", metavar="HOSTS", action="append",
        type=_told(_hosts), help=argparse.SUPPRESS,
    )  # fmt: skip
    group.add_argument(
        "-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile", dest="hosts",
        metavar="FILE", action="append", type=_told(_hosts_in), help=argparse.SUPPRESS,
    )  # fmt: skip
    group.add_argument(
        "-ppn", "--npernode", "--ntasks-per-node", dest="each", metavar="RANKS",
        type=_told(_each), default=0, help=argparse.SUPPRESS,
    )  # fmt: skip
    # there may always be more ranks than processors
    group.add_argument(
        "-oversubscribe", "--oversubscribe", action="store_true", help=argparse.SUPPRESS
    )


def add_recovery(group: argparse._ActionsContainer) -> None:
    """Add the options that say what the loss of a rank means."""
    group.add_argument(
        "--failures", choices=("abort", "return"), default="",
        help="what happens when a rank is lost: abort ends the run (the default); with return, "
        "calls that need the lost rank raise an MPI error, and the other ranks continue",
    )  # fmt: skip
    group.add_argument(
        "--recovery", choices=("shrink", "blank", "rebuild", "abort"), default="",
        help="what Dup, Split and Create make of a communicator that has lost ranks: one of the "
        "survivors, one with gaps, or one for which lost ranks are restarted; abort ends the "
        "run",
    )  # fmt: skip
    group.add_argument(
        "--recovery-messages", choices=("nop", "cont"), default="",
        help="which calls work between a loss and the recovery: none (nop, the default), or all "
        "that do not need the lost ranks (cont)",
    )  # fmt: skip


def one_line_of(found: argparse.Namespace, pieces: Cut) -> OneLine | None:
    """Return the program and machine that options mean; None where a descriptor is named.

    Raises:
        ValueError: they do not fit together.
    """
    program = pieces.program or found.module or ""
    _settle_hosts(found)
    given = [name for name in _MACHINE if getattr(found, name)]
    fault = _fault(found, program, given)
    if fault:
        raise ValueError(fault)
    if not program:
        return None
    machine: Machine = found.ranks or found.emulate or tuple(found.hosts or ())
    if found.wan:
        machine = replace(found.emulate, wan=found.wan)
    words = pieces.options
    losses = found.failures, found.recovery, found.recovery_messages, found.replicas, found.restart
    return OneLine(program, bool(found.module), machine, found.python, words, *losses)


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
    total = sum(one.ranks or 1 for site in found.hosts for one in site)
    if found.ranks and found.ranks.ranks == total:
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


def _fault(found: argparse.Namespace, program: str, given: Sequence[str]) -> str:
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
    if found.wan and (not found.emulate or found.emulate.sites == 1):
        return "--wan is the line between sites of --emulate, of which there are two or more: 2x2x2"
    for name in ("failures", "recovery", "recovery_messages", "replicas", "restart"):
        if getattr(found, name) and not program:
            option = name.replace("_", "-")
            return (
                f"--{option} is for a program with -n, --emulate or -H; a descriptor says it itself"
            )
    if found.write and not program:
        return "--write is for a program with -n, --emulate or -H; a descriptor is written already"
    if not program and not found.descriptor:
        return (
            "name a program, as in gcm-deploy -n 4 program.py, or a DESCRIPTOR;"
            " see gcm-deploy --help"
        )
    return ""


def _ranks(text: str) -> Emulation:
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"'{text}' is not a number of ranks")
    return _shape(text)


def _each(text: str) -> int:
    return _ranks(text).ranks


def _replicas(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text):
        raise ValueError(f"'{text}' is not a number of replicas")
    return int(text)


# Heavy modules are imported when they are used, so that `gcm-deploy --help` need not load them.
def _shape(text: str) -> Emulation:
    from runtime.deployment.machine_argument import parse_emulation

    return parse_emulation(text)


def _line(text: str) -> str:
    from runtime.deployment.machine_argument import parse_wan

    parse_wan(text)
    return text


def _hosts(text: str) -> tuple[HostArgument, ...]:
    from runtime.deployment.machine_argument import parse_hosts

    return parse_hosts(text)


def _hosts_in(file: str) -> tuple[HostArgument, ...]:
    """Return the hosts in a file of `mpiexec` or `mpirun`: a line for each, with its ranks."""
    try:
        with open(file, encoding="utf-8") as stream:
            lines = [line.partition("#")[0].split() for line in stream]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"the file of hosts '{file}' cannot be read: {why}") from error
    words = []
    for host, *settings in filter(None, lines):
        slots = [one.partition("=")[2] for one in settings if one.startswith("slots=")]
        words.append(f"{host}:{slots[0]}" if slots else host)
    if not words:
        raise ValueError(f"the file of hosts '{file}' names none")
    return _hosts(",".join(words))


def _told(parse: Callable[[str], _T]) -> Callable[[str], _T]:
    """Make argparse report the error of a value in the words of its parser."""

    def parsed(text: str) -> _T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed
