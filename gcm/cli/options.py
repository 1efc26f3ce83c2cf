"""The options of `gcm`: its commands and their help."""

from __future__ import annotations

import argparse
from typing import Any

from gcm.cli.common_options import CommandParser, ShowVersion, add_shell, setting

_DESCRIPTION = "Check, show, draw and run assemblies of components."

COMMANDS = ("check", "show", "draw", "port", "run", "completion")

_EXAMPLES = {
    "": """
        gcm run hello.fractal                make it, start it, call `run`
        gcm check *.fractal laptop.xml       every fault of every file, descriptors too
        gcm show hello.fractal               the tree of components
        gcm draw hello.fractal -o hello.svg  a picture of it
        gcm-deploy --help                    the other command: MPI programs, descriptors
    """,
    "check": """
        gcm check hello.fractal farm.fractal
        gcm check --format json *.fractal
        gcm check --path src --path shared/adl app.fractal
        gcm check --structure *.fractal      of an architecture whose classes are still in Java
    """,
    "show": """
        gcm show hello.fractal
        gcm show farm.fractal --set workers=4
        gcm show hello.fractal --format json
    """,
    "draw": """
        gcm draw hello.fractal -o hello.svg
        gcm draw farm.fractal --set workers=4 > farm.svg
        gcm draw hello.fractal --controls -o all.svg
        gcm draw hello.fractal --structure -o hello.svg
        gcm draw hello.fractal --colours dark -o slide.png
    """,
    "port": """
        gcm port Market.fractal --package market
        gcm port org/example/*.fractal --package market --output src
    """,
    "run": """
        gcm run hello.fractal
        gcm run hello.fractal --set name=world --set times=3
        gcm run app.fractal --path src
    """,
    "completion": """
        eval "$(gcm completion bash)"  in ~/.bashrc; likewise for zsh, in ~/.zshrc
        gcm completion fish | source   in ~/.config/fish/config.fish
    """,
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _described(CommandParser, "", _DESCRIPTION, prog="gcm")
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="show the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_check(commands)
    _add_show(commands)
    _add_draw(commands)
    _add_port(commands)
    _add_run(commands)
    _add_completion(commands)
    return parser


def _described(
    make: Any, name: str, description: str, *names: str, **more: Any
) -> argparse.ArgumentParser:
    lines = [line.strip() for line in _EXAMPLES[name].strip().splitlines()]
    made: argparse.ArgumentParser = make(
        *names,
        description=description,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **more,
    )
    return made


def _command(commands: Any, name: str, summary: str, more: str) -> argparse.ArgumentParser:
    return _described(
        commands.add_parser,
        name,
        f"{summary[0].upper()}{summary[1:]}.\n\n{more}",
        name,
        help=summary,
    )


def _add_check(commands: Any) -> None:
    command = _command(
        commands,
        "check",
        "report every fault of every file",
        "Nothing is made or started, but the Python classes that the files name are imported.\n"
        "The exit code is 1 if there is an error.",
    )
    command.add_argument(
        "files", nargs="+", metavar="FILE", help="an ADL document or a deployment descriptor"
    )
    _add_structure(command)
    _add_format(command)
    _add_path(command)


def _add_show(commands: Any) -> None:
    command = _command(
        commands,
        "show",
        "show the tree of components of an assembly",
        "With interfaces, bindings, content classes, attributes and virtual nodes.",
    )
    _add_file(command)
    _add_structure(command)
    _add_format(command)


def _add_draw(commands: Any) -> None:
    command = _command(
        commands,
        "draw",
        "draw an assembly as a picture",
        "No other program is needed. The ending of FILE decides the format: .svg, or .png where\n"
        "resvg_py is installed. Standard output gets SVG.",
    )
    _add_file(command)
    _add_structure(command)
    command.add_argument(
        "-o", "--output", metavar="FILE", default="", help="write there, not to standard output"
    )
    command.add_argument(
        "--controls", action="store_true", help="also draw control interfaces that are bound"
    )
    command.add_argument(
        "--unfold",
        action="store_true",
        help="draw identical components one by one, not as one box",
    )
    command.add_argument(
        "--colours",
        choices=("auto", "light", "dark"),
        default="auto",
        help="the background of the picture; auto: as the viewer of an SVG picture prefers",
    )


def _add_port(commands: Any) -> None:
    command = _command(
        commands,
        "port",
        "write Python skeletons for the classes that are missing",
        "A Protocol for each signature and a class for each content, with its interfaces and\n"
        "attributes, and beside them the documents with the names of these classes. What is there\n"
        "already stays: modules get the classes they lack.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="an ADL document")
    command.add_argument(
        "--package", metavar="NAME", required=True, help="the Python package of the new classes"
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        default="ported",
        help="the folder for the package and the documents; 'ported' without it",
    )
    _add_path(command)


def _add_run(commands: Any) -> None:
    command = _command(
        commands,
        "run",
        "make an assembly in this process and run it",
        "Its components are made and started, the one operation of its interface `run` is called,\n"
        "and everything is stopped. An int that `run` returns becomes the exit code; any other\n"
        "result but None is printed. Ctrl-C stops the assembly; the exit code is then 130.",
    )
    _add_file(command)
    command.add_argument(
        "--interface", metavar="NAME", default="run", help="the interface to call; 'run' without it"
    )


def _add_completion(commands: Any) -> None:
    command = _command(
        commands,
        "completion",
        "print the script with which a shell completes this command",
        "Then the Tab key knows the commands, their options, and files.",
    )
    add_shell(command)


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="an ADL document")
    command.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=setting,
        help="the value of an argument of the definition; may be repeated",
    )
    _add_path(command)


def _add_path(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--path",
        metavar="DIR",
        action="append",
        default=[],
        help="search further definitions and Python modules here too; may be repeated",
    )


def _add_structure(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--structure",
        action="store_true",
        help="the structure only: classes may be missing, definitions may be abstract",
    )


def _add_format(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--format", choices=("text", "json"), default="text", help="for people or for programs"
    )
