"""From a document to live components in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm import Primitive, running
from gcm.adl import load
from gcm.components.running import Runnable
from gcm.errors import AdlError

MODULE = """
from typing import Annotated

from gcm import Runnable, attribute, provides


@provides("run", Runnable)
class Speaker:
    word: Annotated[str, attribute()] = ""

    def run(self) -> str:
        return self.word
"""

DOCUMENT = """
<definition name="speaker" arguments="word=hello">
  <content class="opening_probe.Speaker"/>
  <attributes><attribute name="word" value="${word}"/></attributes>
</definition>
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    (tmp_path / "opening_probe.py").write_text(MODULE, encoding="utf-8")
    made = tmp_path / "speaker.fractal"
    made.write_text(DOCUMENT.strip(), encoding="utf-8")
    return made


def test_a_document_becomes_a_stopped_component(document: Path) -> None:
    made = load(document, arguments={"word": "moin"})
    assert isinstance(made, Primitive)
    assert (made.path, made.state) == ("/speaker", "stopped")
    with running(made):
        assert made.stub("run", Runnable).run() == "moin"


def test_a_document_with_faults_is_refused_with_all_of_them(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    document.write_text(text.replace("Speaker", "Speker").replace("value=", "valu="), "utf-8")
    with pytest.raises(AdlError, match=r"speaker\.fractal has 2 fault\(s\)") as caught:
        load(document)
    assert [found.location.line for found in caught.value.diagnostics] == [2, 3]
    assert "did you mean 'Speaker'?" in str(caught.value)
