"""Whatever a message tells a user to write, an element, an attribute or an option, exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from gcm.adl.definitions.grammar import GRAMMAR
from runtime.cli.reference import PROGRAMS
from runtime.deployment.language.ssh_options import _SET_BY_ATTRIBUTE, ALLOWED
from runtime.deployment.language.table import LANGUAGE
from tools.on_grids import ROOT

ELEMENT = re.compile(r"(?<!\(\?P)<([a-z][a-zA-Z-]+)([^<>]*)>?")  # not a group of a pattern
WRITTEN = re.compile(r"([a-z]+(?:-[a-z]+)*)=(?=[\"'.{…])")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

# Not for the user to write: pictures and pages, and how Python itself calls what has no file.
NO_MESSAGES = (
    "gcm/drawing/",
    "runtime/cli/machine_picture.py",
    "runtime/deployment/language/schema.py",
    "runtime/deployment/language/table.py",
    "runtime/peers/watching/",
    "runtime/peers/commands/watch_actions.py",
    "runtime/views/page/",
)
OF_PYTHON = {
    "frozen",
    "locals",
    "stub",
    "multicast",
    "remote",
    "channel",
    "bytes",
    "string",
    "rows",
    "credential",
    *("ddHHiii", "qq"),  # formats of structs
}
OF_NOTEBOOKS = {"img", "pre", "table"}
OF_CONTROLLER_FILES = {"componentConfiguration", "controllers", "implementation"}
OF_OWN_SITES = {"sites"}  # the root of the file of a user's own sites
OF_RANKS = {"--room"}  # of the command that `mpiexec` is given
OF_ALL = {"--help"}
OF_VENV = {"--system-site-packages"}  # of `python -m venv`
OF_EXAMPLES = {"--steps"}  # of programs that examples run

ATTRIBUTES: dict[str, set[str]] = {}
for language in (LANGUAGE, GRAMMAR):
    for name, element in language.elements.items():
        ATTRIBUTES.setdefault(name, set()).update(one.name for one in element.attributes)


OF_OTHERS = {"--force-reinstall", "--mca", "--no-requeue", "--shm-size"}
"""Options of other programs, pip, mpiexec, sbatch and docker."""

OPTIONS = {
    *OF_OTHERS,
    *(
        name
        for program in PROGRAMS
        for table in program.tables()
        for row in table.rows()
        for name in (*row.names, *row.also)
    ),
    *OF_RANKS,
    *OF_ALL,
    *OF_VENV,
    *OF_EXAMPLES,
}


def docstrings(tree: ast.Module) -> set[int]:
    found = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else []:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                found.add(id(one.value))
    return found


def text_of(node: ast.expr) -> str:
    """Return a text, with an ellipsis for what is put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(one) for one in node.values)
    return "…" if isinstance(node, ast.FormattedValue) else ""


def texts() -> Iterator[tuple[str, str, bool]]:
    """Yield where each text of the two packages stands, the text, and whether it is a cure."""
    for top in ("gcm", "runtime"):
        for path in sorted((ROOT / top).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            tree = ast.parse(path.read_text(encoding="utf-8"))
            skipped = docstrings(tree)
            cures = {
                id(one)
                for node in ast.walk(tree)
                if isinstance(node, ast.keyword) and node.arg in ("cure", "hint")
                for one in ast.walk(node.value)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    skipped.update(id(one) for one in ast.walk(node) if one is not node)
                if isinstance(node, ast.expr) and id(node) not in skipped and text_of(node):
                    yield f"{name}:{node.lineno}", text_of(node), id(node) in cures


MESSAGES = [one for one in texts() if not one[0].startswith(NO_MESSAGES)]


def test_elements_and_their_attributes_in_messages_exist() -> None:
    wrong = []
    for place, text, _ in MESSAGES:
        for tag, rest in ELEMENT.findall(text):
            known = OF_PYTHON | OF_NOTEBOOKS | OF_CONTROLLER_FILES | OF_OWN_SITES
            if tag in known or rest[:1] not in ("", " ", "/"):
                continue
            if tag not in ATTRIBUTES:
                wrong.append(f"{place}: there is no <{tag}>: {text}")
                continue
            unknown = set(WRITTEN.findall(rest)) - ATTRIBUTES[tag]
            wrong += [f"{place}: <{tag}> has no attribute {name}: {text}" for name in unknown]
    assert not wrong, "\n".join(wrong)


def test_attributes_in_cures_exist() -> None:
    known = set().union(*ATTRIBUTES.values())
    wrong = [
        f"{place}: no element has the attribute {name}: {text}"
        for place, text, is_cure in MESSAGES
        if is_cure
        for name in WRITTEN.findall(text)
        if name not in known
    ]
    assert not wrong, "\n".join(wrong)


def test_options_in_messages_exist() -> None:
    wrong = [
        f"{place}: there is no option {option}: {text}"
        for place, text, _ in MESSAGES
        if " " in text.strip()  # a word alone belongs to a command line of our own
        for option in OPTION.findall(re.sub(r" -- .*", "", text))  # behind it is the program's
        if option not in OPTIONS
    ]
    assert not wrong, "\n".join(wrong)


def test_a_cure_in_the_descriptor_names_the_element() -> None:
    wrong = [
        f"{place}: {text}"
        for place, text, is_cure in MESSAGES
        if is_cure and re.search(r"\b(in|into) the descriptor\b", text) and "<" not in text
    ]
    assert not wrong, "\n".join(wrong)


def test_the_texts_are_found() -> None:
    """A change of how messages are written must not make these tests look at nothing."""
    found = " ".join(text for *_, text, is_cure in MESSAGES if is_cure)
    assert len(MESSAGES) > 2000
    assert "<ssh new-host-keys=" in " ".join(text for _, text, _ in MESSAGES)
    assert "<front-end" in found


def test_attributes_that_options_of_ssh_are_said_by_exist() -> None:
    assert set(_SET_BY_ATTRIBUTE.values()) <= ATTRIBUTES["ssh"]


def test_no_option_of_ssh_is_both_allowed_and_not() -> None:
    assert not {one.lower() for one in ALLOWED} & set(_SET_BY_ATTRIBUTE)


@pytest.mark.parametrize(
    ("text", "tag"), [("<front-end python=…>", "front-end"), ("the <ssh> of it", "ssh")]
)
def test_elements_are_seen_in_texts(text: str, tag: str) -> None:
    assert ELEMENT.findall(text)[0][0] == tag
