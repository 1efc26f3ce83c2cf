"""Every fault a descriptor can have, with the exact messages, from the files in faults/.

A case is a title after `##`, a document, `=>`, and all messages in order. Files and modules whose
names hold `gone` do not exist, nor is anything in a file `flat`, and nothing can be written to
those with `readonly`; the assembly `known.fractal` uses the virtual nodes `used` and `w`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "faults"


def cases() -> Iterator[Any]:
    for file in sorted(FOLDER.glob("*.txt")):
        for number, block in enumerate(file.read_text(encoding="utf-8").split("## ")[1:]):
            title, _, rest = block.partition("\n")
            document, arrow, messages = rest.partition("\n=>\n")
            assert arrow, f"{file.name}: case '{title}' has no =>"
            expected = messages.strip().splitlines()
            yield pytest.param(document, expected, id=f"{file.stem} {number}: {title}")


@pytest.mark.parametrize(("document", "expected"), list(cases()))
def test_a_faulty_document_gives_exactly_these_messages(
    read: Any, document: str, expected: list[str]
) -> None:
    found = read(
        document,
        exists=lambda path: "gone" not in path and "flat/" not in path,
        is_installed=lambda name: "gone" not in name,
        cannot_hold=lambda path: f"{path} cannot be written to" if "readonly" in path else "",
        virtual_nodes=lambda file, *_: ["used", "w"] if file.endswith("known.fractal") else None,
    )
    assert [str(one) for one in found.found] == expected
    assert (found.deployment is None) == any(": error[" in message for message in expected)
