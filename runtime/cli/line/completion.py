"""`gcm-deploy completion`: prints the completion script of a shell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gcm.cli.common_options import SHELL, SHELLS, CommandTable
from gcm.cli.completion import completion_script
from runtime.cli.line.options import FIRST_WORDS, deploy_command
from runtime.cli.streams import write

_WORDS = " ".join(FIRST_WORDS)
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

_PLACES: Mapping[str, Mapping[str, Mapping[str, object]]]
_PLACES = {
    "gcm-deploy": {"descriptor": _PROGRAM, "arguments": _BEHIND},
    "gcm-run": {"program": _FILES},
}
"""How the words that are no options are completed."""


def completion_command(command: str) -> CommandTable:
    """Return the table of the command that completes another one."""
    return deploy_command(
        f"{command} completion",
        f"Print the script with which a shell completes {command}.",
        SHELL,
        epilog=f"""\
examples:
  eval "$({command} completion bash)"       in ~/.bashrc; likewise for zsh, in ~/.zshrc
  {command} completion fish | source        in ~/.config/fish/config.fish""",
    )


def print_completion(words: Sequence[str], command: CommandTable) -> int:
    """Write the script of a command for the named shell."""
    shell = completion_command(command.name).parser().parse_args(words).shell
    parser = command.parser()
    known = {one.dest: one for one in parser._get_positional_actions()}
    for name, how in _PLACES[command.name].items():
        place = known.get(name) or parser.add_argument(name, nargs="*")
        place.complete = how  # type: ignore[attr-defined]  # where shtab looks for it
    write(completion_script(parser, shell) + "\n")
    return 0
