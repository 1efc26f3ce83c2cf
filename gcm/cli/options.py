"""The commands of `gcm` with their options; what they do is loaded when they are run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gcm.cli.command_table import CommandFunction, CommandTable, Does, command
from gcm.cli.commands import COMMANDS
from gcm.cli.common_options import SHELL, VERSION, Option, setting

if TYPE_CHECKING:
    from gcm.adl import MissingClasses

WRONG_USAGE = 2


def _options(
    *rows: Option, examples: str, more: str, **settings: Any
) -> Callable[[Does], CommandFunction]:
    """Give a function the options of a command of `gcm`; see `command`."""
    return command(*rows, more=more, epilog=_examples(examples), **settings)


def _examples(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()]
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)


_FILE = Option("file", metavar="FILE", help="an ADL document")
_FILES = Option("files", nargs="+", metavar="FILE", help="an ADL document")
_PATH = Option(
    "--path", metavar="DIR", action="append", default=[],
    help="search further definitions and Python modules here too; may be repeated",
)  # fmt: skip
_SET = Option(
    "--set", dest="settings", metavar="NAME=VALUE", action="append", default=[], read=setting,
    help="the value of an argument of the definition; may be repeated",
)  # fmt: skip
_STRUCTURE = Option(
    "--structure", action="store_true",
    help="the structure only: classes may be missing, definitions may be abstract",
)  # fmt: skip
_NO_IMPORTS = Option(
    "--no-imports", action="store_true",
    help="import no code beside the document, for one that others wrote; all classes are missing, "
    "as --structure allows",
)  # fmt: skip
_FORMAT = Option(
    "--format", choices=("text", "json"), default="text", help="for people or for programs"
)


def _missing(found: argparse.Namespace) -> MissingClasses | None:
    """Return what collects the classes that need not be there; None where all have to be."""
    from gcm.adl import MissingClasses

    if found.structure or found.no_imports:
        return MissingClasses(imports=not found.no_imports)
    return None


def _read_document_options(table: CommandTable, words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command for one ADL document.

    Raises:
        SystemExit: they are wrong, or the file is known as one for another command, which is told.
    """
    from gcm.cli.other_command import other_command

    found: argparse.Namespace = table.parser().parse_args(words)
    program, _, verb = table.name.partition(" ")
    if meant := other_command(verb, found.file, found.settings):
        print(f"{program}: {meant}", file=sys.stderr)
        raise SystemExit(WRONG_USAGE)
    return found


@_options(
    Option("files", nargs="+", metavar="FILE", help="an ADL document or a deployment descriptor"),
    _STRUCTURE,
    _NO_IMPORTS,
    _FORMAT,
    _PATH,
    more=(
        "Nothing is made or started, but the Python classes that the files name are imported.\n"
        "That runs their modules; --no-imports looks at documents of others without that.\n"
        "The exit code is 1 if there is an error."
    ),
    examples="""
        gcm check hello.fractal farm.fractal
        gcm check --format json *.fractal
        gcm check --path src --path shared/adl app.fractal
        gcm check --structure *.fractal      of an architecture whose classes are still in Java
    """,
)
def check(found: argparse.Namespace) -> int:
    """Check files."""
    from gcm.cli.check import check

    return check(found.files, found.path, found.format, _missing(found))


@_options(
    _FILE,
    _SET,
    _PATH,
    _STRUCTURE,
    _NO_IMPORTS,
    _FORMAT,
    more="With interfaces, bindings, content classes, attributes and virtual nodes.",
    examples="""
        gcm show hello.fractal
        gcm show farm.fractal --set workers=4
        gcm show hello.fractal --format json
    """,
    read=_read_document_options,
)
def show(found: argparse.Namespace) -> int:
    """Show an assembly."""
    from gcm.cli.show import show

    return show(found.file, found.settings, found.path, found.format, _missing(found))


@_options(
    _FILE,
    _SET,
    _PATH,
    _STRUCTURE,
    _NO_IMPORTS,
    Option(
        "-o", "--output", metavar="FILE", default="", help="write there, not to standard output"
    ),
    Option("--controls", action="store_true", help="also draw control interfaces that are bound"),
    Option(
        "--unfold", action="store_true", help="draw identical components one by one, not as one box"
    ),
    Option(
        "--colours",
        choices=("auto", "light", "dark"),
        default="auto",
        help="the background of the picture; auto: as the viewer of an SVG picture prefers",
    ),
    more=(
        "No other program is needed. The ending of FILE decides the format: .svg, or .png where\n"
        "resvg_py is installed. Standard output gets SVG."
    ),
    examples="""
        gcm draw hello.fractal -o hello.svg
        gcm draw farm.fractal --set workers=4 > farm.svg
        gcm draw hello.fractal --controls -o all.svg
        gcm draw hello.fractal --structure -o hello.svg
        gcm draw hello.fractal --colours dark -o slide.png
    """,
    read=_read_document_options,
)
def draw(found: argparse.Namespace) -> int:
    """Draw an assembly."""
    from gcm.cli.draw import draw_file

    return draw_file(
        found.file,
        found.settings,
        found.path,
        found.output,
        controls=found.controls,
        missing=_missing(found),
        fold=not found.unfold,
        colours=found.colours,
    )


@_options(
    _FILES,
    Option(
        "--package", metavar="NAME", required=True, help="the Python package of the new classes"
    ),
    Option(
        "-o",
        "--output",
        metavar="DIR",
        default="ported",
        help="the folder for the package and the documents; 'ported' without it",
    ),
    _PATH,
    more=(
        "A Protocol for each signature and a class for each content, with its interfaces and\n"
        "attributes, and beside them the documents with the names of these classes. What is there\n"
        "already stays: modules get the classes they lack."
    ),
    examples="""
        gcm port Market.fractal --package market
        gcm port org/example/*.fractal --package market --output src
    """,
)
def port(found: argparse.Namespace) -> int:
    """Write skeletons."""
    from gcm.cli.port import port

    return port(found.files, found.package, found.output, found.path)


@_options(
    _FILE,
    _SET,
    _PATH,
    Option(
        "--interface", metavar="NAME", default="run", help="the interface to call; 'run' without it"
    ),
    more=(
        "Its components are made and started, the one operation of its interface `run` is called,\n"
        "and everything is stopped. An int that `run` returns becomes the exit code; any other\n"
        "result but None is printed. Ctrl-C stops the assembly; the exit code is then 130."
    ),
    examples="""
        gcm run hello.fractal
        gcm run hello.fractal --set name=world --set times=3
        gcm run app.fractal --path src
    """,
    read=_read_document_options,
)
def run(found: argparse.Namespace) -> int:
    """Run an assembly."""
    from gcm.cli.run import run

    return run(found.file, found.settings, found.path, found.interface)


@_options(
    SHELL,
    more="Then the Tab key knows the commands, their options, and files.",
    examples="""
        eval "$(gcm completion bash)"  in ~/.bashrc; likewise for zsh, in ~/.zshrc
        gcm completion fish | source   in ~/.config/fish/config.fish
    """,
)
def completion(found: argparse.Namespace) -> int:
    """Print the script of a shell."""
    from gcm.cli.completion import completion_script

    print(completion_script(GCM.parser(), found.shell))
    return 0


GCM = CommandTable(
    "gcm",
    "Check, show, draw and run assemblies of components.",
    VERSION,
    commands=COMMANDS,
    epilog=_examples("""
        gcm run hello.fractal                make it, start it, call `run`
        gcm check *.fractal laptop.xml       every fault of every file, descriptors too
        gcm show hello.fractal               the tree of components
        gcm draw hello.fractal -o hello.svg  a picture of it
        gcm-deploy --help                    the other command: MPI programs, descriptors
    """),
)
"""The command `gcm`."""
