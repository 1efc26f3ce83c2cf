"""Names used twice in one element, wherever they stand and whatever stands between them."""

from __future__ import annotations

import pytest

from gcm.adl.definitions.repeats import report_repeats
from gcm.documents import Diagnostic, Diagnostics, read_document


def found_in(body: str) -> list[Diagnostic]:
    diagnostics = Diagnostics()
    text = f'<definition name="d">\n{body}\n</definition>'
    node = read_document(text.encode(), name="d.fractal", diagnostics=diagnostics)
    assert node is not None
    report_repeats(node, diagnostics)
    return list(diagnostics)


@pytest.mark.parametrize("tag", ["component", "interface", "attribute", "exportedVirtualNode"])
def test_the_second_of_a_name_is_reported_with_the_line_of_the_first(tag: str) -> None:
    (told,) = found_in(
        f'<content class="c"/><{tag} name="a"/>\n<{tag} name="b"/>\n<{tag} name="a"/>'
    )
    assert told.code == "duplicate-name"
    assert told.location.line == 4
    assert told.message == f"<definition> has two {tag}s named 'a'"
    assert "line 2" in told.hint


def test_a_third_is_reported_too_and_with_the_same_first() -> None:
    told = found_in('<component name="a"/>\n<component name="a"/>\n<component name="a"/>')
    assert [(one.location.line, "line 2" in one.hint) for one in told] == [(3, True), (4, True)]


def test_different_kinds_and_different_parents_may_share_a_name() -> None:
    assert not found_in(
        '<component name="a"><interface name="a"/></component>'
        '<component name="b"><interface name="a"/></component>'
    )


def test_repeats_deep_inside_are_found() -> None:
    inner = '<interface name="x"/>\n<interface name="x"/>'
    (told,) = found_in(f'<component name="a"><component name="b">{inner}</component></component>')
    assert told.message == "<component> has two interfaces named 'x'"


def test_bindings_may_be_repeated_here() -> None:
    assert not found_in('<binding client="a" server="b"/><binding client="a" server="b"/>')
