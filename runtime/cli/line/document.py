"""Finds out what a program on the command line is, and makes a descriptor of it and its machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from itertools import dropwhile

from gcm.cli.common_options import CommandParser
from gcm.cli.root_tag import root_tag
from gcm.records import dataclass
from gcm.suggestion import did_you_mean
from runtime.cli.errors import UsageError
from runtime.cli.line.words import MACHINE, OneLine, options_end
from runtime.deployment.compose import OneLineRequest, compose, document_text
from runtime.deployment.elements import Element
from runtime.deployment.machine_argument import Emulation, Machine, PeersArgument
from runtime.deployment.model import ProgramKind
from runtime.web_address import is_web_address

_INTERPRETER = re.compile(r"python[0-9.]*")
_BEGINNING = 128


@dataclass(frozen=True, slots=True)
class OneLineDocument:
    """A descriptor that is in no file, or not yet, and the folder its paths are relative to."""

    root: Element
    folder: str

    @property
    def text(self) -> str:
        """The document, for a file."""
        return document_text(self.root)


def document_of(
    one_line: OneLine,
    arguments: Sequence[str],
    folder: str,
    *,
    variables: Sequence[str] = (),
    results: Sequence[str] = (),
) -> OneLineDocument:
    """Return the descriptor, relative to `folder`, for a program and its machine.

    `variables` are those of `-x`, `results` the sources of files to bring home.

    Raises:
        UsageError: it is not a program, or something cannot be written in a descriptor.
    """
    assert one_line.machine is not None, "nothing runs nowhere"
    folder = os.path.abspath(folder)
    kind, program = kind_of(one_line, arguments)
    home = os.getcwd()
    if is_web_address(program):
        name, own = os.path.splitext(os.path.basename(program.partition("#")[0]))[0], folder
    elif kind is ProgramKind.MODULE or os.sep not in program:
        name, own = program.rpartition(".")[2], folder
    else:
        name, own = os.path.splitext(os.path.basename(program))[0], os.path.dirname(program)
        if os.path.commonpath([home, program]) != home:
            home = own
        program = _relative(kind, program, folder)
    try:
        root = compose(
            OneLineRequest(
                name=name,
                kind=kind,
                program=program,
                machine=one_line.machine,
                arguments=tuple(arguments),
                folder=os.path.relpath(home, folder) if home != own else "",
                python=one_line.python,
                mpi=one_line.mpi,
                variables=tuple(variables),
                results=tuple(results),
                inputs=tuple(_input(one, home, folder) for one in one_line.inputs),
                attributes=one_line.attributes,
                job=one_line.job,
            )
        )
    except ValueError as error:
        raise UsageError(str(error), cure="Use another name, or hand it over in a file") from error
    return OneLineDocument(root, folder)


def kind_of(one_line: OneLine, arguments: Sequence[str]) -> tuple[ProgramKind, str]:
    """Return the kind of the program, and its full path or, without a file, its name.

    Raises:
        UsageError: it is not a program for ranks, but another known kind of file.
    """
    word = one_line.program
    if one_line.is_module:
        return ProgramKind.MODULE, word
    if _INTERPRETER.fullmatch(os.path.basename(word)):
        rest = [*dropwhile(lambda one: one.startswith("-") and one != "-m", arguments)]
        before = ["gcm-deploy", *one_line.options] if one_line.options else []
        line = shlex.join([*before, *(rest or ["program.py"])])
        raise UsageError(f"ranks have a Python of their own, so leave '{word}' out: {line}")
    if is_web_address(word):
        return ProgramKind.SCRIPT, word
    _refuse(word)
    if _is_script(word) or os.sep in word:
        _check_exists(word, one_line.machine)
        kind = ProgramKind.SCRIPT if _is_script(word) else ProgramKind.EXECUTABLE
        return kind, os.path.abspath(word)
    if os.path.isfile(word) and shutil.which(word) is None:
        return ProgramKind.EXECUTABLE, os.path.abspath(word)
    if _stays_here(one_line.machine) and shutil.which(word) is None:
        raise UsageError(
            f"there is no program '{word}', neither in this folder nor on the search path",
            cure=_meant(word),
        )
    return ProgramKind.EXECUTABLE, word


def within_job(words: Sequence[str], parser: CommandParser, ranks: int) -> Sequence[str]:
    """Return a command line that names a program and no machine with `-n` at its beginning.

    So `gcm-deploy program.py` in a job with places for 4 is read as `gcm-deploy -n 4 program.py`.
    """
    position, seen = options_end(words, parser)
    is_named = "module" in seen or (position < len(words) and is_program(words[position]))
    return ["-n", str(ranks), *words] if is_named and not seen & {*MACHINE} else words


def is_program(file: str) -> bool:
    """Return whether a file is a program, or is named like one."""
    return _is_script(file) or (os.path.isfile(file) and os.access(file, os.X_OK))


def _stays_here(machine: Machine | None) -> bool:
    """Return whether all clusters are on this machine; not if the machine is not known yet."""
    if machine is None or isinstance(machine, PeersArgument):
        return False
    if isinstance(machine, Emulation):
        return True
    return all(one.is_local for site in machine for one in site)


def _check_exists(word: str, machine: Machine | None) -> None:
    """Raise `UsageError` if there is no such file here, where programs are copied from."""
    if os.path.exists(word):
        return
    cure = _meant(word)
    if not cure and not _is_script(word) and not _stays_here(machine):
        cure = "A program that only the hosts have is named as their search path finds it"
    raise UsageError(f"there is no file '{word}'", cure=cure)


def _meant(word: str) -> str:
    """Return which file next to a missing one may be meant, or nothing."""
    folder = os.path.dirname(word)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return ""
    found = [os.path.join(folder, name) for name in names]
    return did_you_mean(word, filter(os.path.isfile, found))


def _refuse(word: str) -> None:
    """Raise `UsageError` for what is not a program for ranks."""
    if os.path.exists(word) and not (os.path.isfile(word) or os.path.isdir(word)):
        raise UsageError(
            f"'{word}' is a pipe, socket or device, and every rank opens its program for itself",
            cure="Write the program to a file, and name that",
        )
    tag = root_tag(word)
    if tag == "deployment":
        raise UsageError(
            f"'{word}' is a descriptor, which says itself where its programs run: gcm-deploy {word}"
        )
    if tag == "definition":
        raise UsageError(
            f"'{word}' is an assembly, which runs in one process: gcm run {word}",
            cure=f'To put it on nodes, write a descriptor with <assembly file="{word}"/>',
        )
    if os.path.isdir(word):
        raise UsageError(f"'{word}' is a folder", cure="Name a program in it")


def _is_script(file: str) -> bool:
    if file.endswith(".py"):
        return True
    if not os.path.isfile(file):  # to open a pipe would wait for somebody who writes
        return False
    try:
        with open(file, "rb") as stream:
            first = stream.read(_BEGINNING).partition(b"\n")[0]
    except (OSError, ValueError):
        return False
    return first.startswith(b"#!") and b"python" in first


def _input(file: str, home: str, folder: str) -> tuple[str, str]:
    """Return a file as `folder` sees it, and where ranks find it, if not under its name alone."""
    if is_web_address(file):
        return file, ""
    path, home = os.path.abspath(file), os.path.realpath(home)
    inside = os.path.relpath(os.path.realpath(path), home)
    is_below = os.sep in inside and not inside.startswith(os.pardir)
    return os.path.relpath(path, folder), inside if is_below else ""


def _relative(kind: ProgramKind, path: str, folder: str) -> str:
    """Return a path relative to `folder`, written such that a descriptor reads it as a path."""
    short = os.path.relpath(path, folder)
    is_bare = kind is ProgramKind.EXECUTABLE and os.sep not in short
    return f"./{short}" if is_bare or short.startswith("~") else short
