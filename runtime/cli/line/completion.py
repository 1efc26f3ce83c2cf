"""Completion of `gcm-deploy`, `gcm-peer` and `gcm-run`: the script of a shell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from gcm.cli.command_table import command
from gcm.cli.common_options import SHELL, SHELLS
from gcm.cli.completion import completion_script
from runtime.cli.commands import COMMANDS
from runtime.cli.line.options import GCM_DEPLOY, deploy_command
from runtime.cli.streams import write

_WORDS = " ".join(one.word for one in COMMANDS["gcm-deploy"])
_PROGRAM = {
    "bash": "_gcm_deploy_files",
    "zsh": "{_files; compadd -- " + _WORDS + "}",
    "fish": f"(__fish_complete_path (commandline -ct); string split ' ' '{_WORDS}')",
    "preamble": {
        "bash": f"""\
_gcm_deploy_files() {{
  compgen -W "{_WORDS}" -- "$1"
  compgen -f -- "$1"
}}"""
    },
}
"""What comes first: a file, or a command."""

_BEHIND = {
    "bash": "_gcm_deploy_more_files",
    "zsh": "_files",
    "fish": "(__fish_complete_path (commandline -ct))",
    "preamble": {
        "bash": f"""\
_gcm_deploy_more_files() {{
  case "${{COMP_WORDS[1]}}" in
    completion) compgen -W "{" ".join(SHELLS)}" -- "$1" ;;
    *) compgen -f -- "$1" ;;
  esac
}}"""
    },
}
"""What follows: arguments, or what belongs to the command."""

_FILES = {
    "bash": "_gcm_run_files",
    "zsh": "_files",
    "fish": "(__fish_complete_path (commandline -ct))",
    "preamble": {"bash": '_gcm_run_files() {\n  compgen -f -- "$1"\n}'},
}

_EPILOG = """\
examples:
  eval "$({command} bash)"       in ~/.bashrc; likewise for zsh, in ~/.zshrc
  {command} fish | source        in ~/.config/fish/config.fish"""

_of = deploy_command(SHELL, epilog=_EPILOG)


@_of
def of_deploy(found: argparse.Namespace) -> int:
    """Print the script for gcm-deploy."""
    parser = GCM_DEPLOY.parser()
    _complete(parser, "descriptor", _PROGRAM)
    _complete(parser, "arguments", _BEHIND)
    return _print(parser, found.shell)


@command(SHELL, epilog=_EPILOG)
def of_peer(found: argparse.Namespace) -> int:
    """Print the script for gcm-peer."""
    from runtime.cli.peer import GCM_PEER

    parser = GCM_PEER.parser()
    (commands,) = parser._subparsers._group_actions  # type: ignore[union-attr]  # there are some
    assert isinstance(commands.choices, Mapping)
    _complete(commands.choices["run"], "program", _FILES)
    return _print(parser, found.shell)


@_of
def of_run(found: argparse.Namespace) -> int:
    """Print the script for gcm-run."""
    from runtime.cli.peer import GCM_PEER

    parser = next(one for one in GCM_PEER.commands if one.word == "run").table("gcm-peer").parser()
    parser.prog = "gcm-run"
    _complete(parser, "program", _FILES)
    return _print(parser, found.shell)


def _complete(parser: argparse.ArgumentParser, name: str, how: Mapping[str, object]) -> None:
    """Let the words that are no options be completed, which only the command itself tells apart."""
    known = {one.dest: one for one in parser._get_positional_actions()}
    place = known.get(name) or parser.add_argument(name, nargs="*")
    place.complete = how  # type: ignore[attr-defined]  # where shtab looks for it


def _print(parser: argparse.ArgumentParser, shell: str) -> int:
    write(completion_script(parser, shell) + "\n")
    return 0
