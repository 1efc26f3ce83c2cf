"""Guesses what was meant by a word of another command, or a file of another kind.

Used only when something is wrong already.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from gcm.cli.root_tag import root_tag
from gcm.suggestion import did_you_mean, nearest
from runtime.cli.errors import UsageError
from runtime.cli.line.document import is_program
from runtime.cli.line.options import GCM_DEPLOY, Options
from runtime.cli.line.words import MACHINE, missing_machine

_RUN = "gcm-deploy {files}"
_VERBS = {
    "run": _RUN,
    "start": _RUN,
    "deploy": _RUN,
    "launch": _RUN,
    "exec": _RUN,
    "mpirun": "gcm-deploy {files}",
    "mpiexec": "gcm-deploy {files}",
    "check": "gcm check {files}",
    "show": "gcm-deploy --dry-run {files}",
    "plan": "gcm-deploy --dry-run {files}",
    "draw": "gcm-deploy --draw machine.svg {files}",
    "help": "gcm-deploy --help",
    "version": "gcm-deploy --version",
}
"""What to type for a word that other commands take first."""

MACHINE_OPTIONS = {
    name for row in GCM_DEPLOY.rows() if row.dest in (*MACHINE, "module") for name in row.names
}
"""The options that say where a program runs, and precede it."""

_OF_GCM = {"run", "check", "show", "draw"}


def refuse_command_word(words: Sequence[str]) -> None:
    """Raise `UsageError` where the first word is not a file, but like the name of a command."""
    verb, files = words[0], shlex.join(words[1:])
    if verb in _VERBS:
        raise UsageError(
            f"'{verb}' is neither a file nor a command of gcm-deploy; type: {_instead(verb, files)}"
        )
    unknown = f"'{verb}' is neither a file nor a command of gcm-deploy"
    if os.path.splitext(verb)[1]:
        return
    if meant := did_you_mean(verb, [one.word for one in GCM_DEPLOY.commands]):
        raise UsageError(f"{unknown}; {meant}")
    if close := nearest(verb, _VERBS):
        raise UsageError(f"{unknown}; type: {_instead(close, files)}")


def refuse_program(words: Sequence[str]) -> None:
    """Raise `UsageError` where the first word is a program and nothing says where to run it."""
    program, *rest = words
    if is_program(program) and not any(one in MACHINE_OPTIONS for one in rest):
        line = shlex.join([program, *(rest[1:] if rest[:1] == ["--"] else rest)])
        raise UsageError(f"'{program}' is a program and not a descriptor; {missing_machine(line)}")


def about_named_hosts(words: Sequence[str]) -> str:
    """Return what to say to `gcm-peer run` with an option that names hosts, or nothing."""
    rows = [row for row in GCM_DEPLOY.rows() if row.dest in ("hosts", "each", "oversubscribe")]
    known = {name for row in rows for name in (*row.names, *row.also)}
    found = next((name for one in words if (name := one.partition("=")[0]) in known), "")
    return found and (
        f"{found} is not for a lab, whose peers say themselves how many ranks they take; "
        "gcm-deploy runs programs on hosts that you name"
    )


def what_was_meant(options: Options) -> str:
    """Return what to say about a file of another known kind, or nothing."""
    file = options.descriptor
    quoted = shlex.quote(file)
    if root_tag(file) == "definition":
        settings = "".join(
            f" --set {shlex.quote(f'{name}={value}')}" for name, value in options.settings.items()
        )
        verb, does = ("show", "shows it") if options.dry_run else ("run", "runs it in one process")
        return (
            f"'{file}' is an assembly and not a descriptor: gcm {verb} {quoted}{settings} {does};"
            f' to put it on nodes, name it in a descriptor, as <assembly file="{file}"/>'
        )
    if is_program(file):
        rest = shlex.join([file, *options.arguments])
        return f"'{file}' is a program and not a descriptor; {missing_machine(rest)}"
    return ""


def _instead(verb: str, files: str) -> str:
    first = shlex.split(files)[0] if files else ""
    if verb in _OF_GCM and root_tag(first) == "definition":
        return f"gcm {verb} {files}"
    if _VERBS[verb] == _RUN and is_program(first):
        return f"gcm-deploy -n 4 {files}"
    return _VERBS[verb].format(files=files or "DESCRIPTOR")
