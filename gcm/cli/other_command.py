"""Suggests the right command where `gcm` gets the document of another one, or no command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence

from gcm.cli.root_tag import root_tag

DESCRIPTOR = "deployment"
ADL = "definition"
_DEPLOY = ("deploy", "launch", "mpiexec")
_INSTEAD = {
    "run": "gcm-deploy{settings} {file} runs it",
    "show": "gcm-deploy --dry-run{settings} {file} shows what would be started where",
    "draw": "gcm-deploy --draw machine.svg{settings} {file} draws its machine",
}
"""The commands for descriptors that correspond to commands for ADL documents."""


def other_command(command: str, file: str, settings: Iterable[tuple[str, str]]) -> str:
    """Return a suggestion for a file of a known kind other than an ADL document, or nothing."""
    quoted = shlex.quote(file)
    if root_tag(file) == DESCRIPTOR:
        words = "".join(f" --set {shlex.quote(f'{name}={value}')}" for name, value in settings)
        instead = _INSTEAD[command].format(settings=words, file=quoted)
        return f"'{file}' is a deployment descriptor and not an ADL document: {instead}"
    if file.endswith(".py"):
        return (
            f"'{file}' is a Python program and not an ADL document: python {quoted} runs it,"
            f" and gcm-deploy -n 4 {quoted} does on 4 ranks"
        )
    return ""


def missing_command(words: Sequence[str]) -> str:
    """Return a suggestion where the command is missing before a file or a word of `gcm-deploy`."""
    first, *rest = [*words, ""]
    if first in _DEPLOY:
        return f"to deploy: {shlex.join(['gcm-deploy', *rest[:-1]]) if words[1:] else 'gcm-deploy'}"
    if first.startswith("-") or not os.path.isfile(first):
        return ""
    quoted = shlex.quote(first)
    if root_tag(first) == ADL:
        return f"'{first}' is not a command of gcm: gcm run {quoted} runs it; see gcm --help"
    return other_command("run", first, ())
