"""Old descriptors of testdata/legacy in our language, and what has no counterpart there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.documents import Diagnostics, XmlNode, read_document
from runtime.deployment.legacy import convert
from tests.scripts import Script, same, scripts

LEGACY = Path(__file__).parent / "testdata" / "legacy"


def read(name: str) -> XmlNode | None:
    file = LEGACY / name
    return (
        read_document(file.read_bytes(), name=name, diagnostics=Diagnostics())
        if file.exists()
        else None
    )


@pytest.mark.parametrize("script", scripts(LEGACY))
def test_an_old_descriptor_becomes_one_of_ours(
    script: Script, request: pytest.FixtureRequest
) -> None:
    root = read(script.title)
    assert root is not None
    made = convert(root, read)
    losses = [f"{loss.location}: {loss.what}" for loss in made.losses]
    same(script, [*made.text.splitlines(), *losses], request)


def test_what_is_made_can_be_read() -> None:
    for file in LEGACY.glob("*.xml"):
        root = read(file.name)
        assert root is not None
        diagnostics = Diagnostics()
        text = convert(root, read).text
        assert read_document(text.encode(), diagnostics=diagnostics) is not None, diagnostics


def test_another_document_is_refused() -> None:
    root = read_document(b"<deployment/>", diagnostics=Diagnostics())
    assert root is not None
    with pytest.raises(ValueError, match="<deployment> is none of GCMApplication, "):
        convert(root, read)
