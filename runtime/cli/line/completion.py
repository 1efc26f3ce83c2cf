"""`gcm-deploy completion`: prints the completion script of a shell."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.cli.common_options import SHELLS, CommandParser, add_shell
from gcm.cli.completion import completion_script
from runtime.cli.line.options import build_parser, command_parser
from runtime.cli.streams import write

_WORDS = "new doctor login completion ps stacks waits view"
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

_DESCRIPTION = "Print the script with which a shell completes gcm-deploy."

_EPILOG = """\
examples:
  eval "$(gcm-deploy completion bash)"       in ~/.bashrc; likewise for zsh, in ~/.zshrc
  gcm-deploy completion fish | source        in ~/.config/fish/config.fish"""


def print_completion(words: Sequence[str]) -> int:
    """Write the script for the named shell."""
    parser = command_parser("gcm-deploy completion", _DESCRIPTION, _EPILOG)
    add_shell(parser)
    write(completion_script(_deploy_parser(), parser.parse_args(words).shell) + "\n")
    return 0


def print_completion_of_run(words: Sequence[str], parser: CommandParser) -> int:
    """Write the script that completes `gcm-run`, whose parser is given."""
    own = command_parser(
        "gcm-run completion",
        _DESCRIPTION.replace("gcm-deploy", "gcm-run"),
        _EPILOG.replace("gcm-deploy", "gcm-run"),
    )
    add_shell(own)
    shell = own.parse_args(words).shell
    files = parser.add_argument("program", nargs="*")
    files.complete = {  # type: ignore[attr-defined]  # where shtab looks for it
        "bash": "_gcm_run_files",
        "zsh": "_files",
        "fish": "(__fish_complete_path (commandline -ct))",
        "preamble": {"bash": '_gcm_run_files() {\n  compgen -f -- "$1"\n}'},
    }
    write(completion_script(parser, shell) + "\n")
    return 0


def _deploy_parser() -> CommandParser:
    """Return the parser of the command including options that other parsers handle, for shells."""
    parser = build_parser()
    (first,) = parser._get_positional_actions()
    more = parser.add_argument("arguments", nargs="*")
    for action, complete in (first, _PROGRAM), (more, _BEHIND):
        action.complete = complete  # type: ignore[attr-defined]  # where shtab looks for it
    return parser
