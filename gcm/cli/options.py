"""The options of `gcm`: its commands as a table."""

from __future__ import annotations

from typing import Any

from gcm.cli.common_options import SHELL, VERSION, CommandTable, Option, setting


def _command(
    name: str, summary: str, more: str, *rows: Option, examples: str, **settings: Any
) -> CommandTable:
    description = f"{summary[0].upper()}{summary[1:]}.\n\n{more}"
    return CommandTable(
        name, description, *rows, summary=summary, epilog=_examples(examples), **settings
    )


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

_CHECK = _command(
    "check",
    "report every fault of every file",
    "Nothing is made or started, but the Python classes that the files name are imported.\n"
    "That runs their modules; --no-imports looks at documents of others without that.\n"
    "The exit code is 1 if there is an error.",
    Option("files", nargs="+", metavar="FILE", help="an ADL document or a deployment descriptor"),
    _STRUCTURE,
    _NO_IMPORTS,
    _FORMAT,
    _PATH,
    examples="""
        gcm check hello.fractal farm.fractal
        gcm check --format json *.fractal
        gcm check --path src --path shared/adl app.fractal
        gcm check --structure *.fractal      of an architecture whose classes are still in Java
    """,
)

_SHOW = _command(
    "show",
    "show the tree of components of an assembly",
    "With interfaces, bindings, content classes, attributes and virtual nodes.",
    _FILE,
    _SET,
    _PATH,
    _STRUCTURE,
    _NO_IMPORTS,
    _FORMAT,
    examples="""
        gcm show hello.fractal
        gcm show farm.fractal --set workers=4
        gcm show hello.fractal --format json
    """,
)

_DRAW = _command(
    "draw",
    "draw an assembly as a picture",
    "No other program is needed. The ending of FILE decides the format: .svg, or .png where\n"
    "resvg_py is installed. Standard output gets SVG.",
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
    examples="""
        gcm draw hello.fractal -o hello.svg
        gcm draw farm.fractal --set workers=4 > farm.svg
        gcm draw hello.fractal --controls -o all.svg
        gcm draw hello.fractal --structure -o hello.svg
        gcm draw hello.fractal --colours dark -o slide.png
    """,
)

_PORT = _command(
    "port",
    "write Python skeletons for the classes that are missing",
    "A Protocol for each signature and a class for each content, with its interfaces and\n"
    "attributes, and beside them the documents with the names of these classes. What is there\n"
    "already stays: modules get the classes they lack.",
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
    examples="""
        gcm port Market.fractal --package market
        gcm port org/example/*.fractal --package market --output src
    """,
)

_RUN = _command(
    "run",
    "make an assembly in this process and run it",
    "Its components are made and started, the one operation of its interface `run` is called,\n"
    "and everything is stopped. An int that `run` returns becomes the exit code; any other\n"
    "result but None is printed. Ctrl-C stops the assembly; the exit code is then 130.",
    _FILE,
    _SET,
    _PATH,
    Option(
        "--interface", metavar="NAME", default="run", help="the interface to call; 'run' without it"
    ),
    examples="""
        gcm run hello.fractal
        gcm run hello.fractal --set name=world --set times=3
        gcm run app.fractal --path src
    """,
)

_COMPLETION = _command(
    "completion",
    "print the script with which a shell completes this command",
    "Then the Tab key knows the commands, their options, and files.",
    SHELL,
    examples="""
        eval "$(gcm completion bash)"  in ~/.bashrc; likewise for zsh, in ~/.zshrc
        gcm completion fish | source   in ~/.config/fish/config.fish
    """,
)

GCM = CommandTable(
    "gcm",
    "Check, show, draw and run assemblies of components.",
    VERSION,
    commands=(_CHECK, _SHOW, _DRAW, _PORT, _RUN, _COMPLETION),
    epilog=_examples("""
        gcm run hello.fractal                make it, start it, call `run`
        gcm check *.fractal laptop.xml       every fault of every file, descriptors too
        gcm show hello.fractal               the tree of components
        gcm draw hello.fractal -o hello.svg  a picture of it
        gcm-deploy --help                    the other command: MPI programs, descriptors
    """),
)
"""The command `gcm`."""
