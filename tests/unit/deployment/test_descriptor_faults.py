"""Every fault a descriptor can have, with the exact messages, from the files in faults/.

A case is a title after `##`, a document, `=>`, and all messages in order. Files and modules whose
names hold `gone` do not exist, nor is anything in a file `flat`, and nothing can be written to
those with `readonly`; the assembly `known.fractal` uses the virtual nodes `used` and `w`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.scripts import Script, same, scripts


@pytest.mark.parametrize("script", scripts(Path(__file__).parent / "faults"))
def test_a_faulty_document_gives_exactly_these_messages(
    read: Any, script: Script, request: pytest.FixtureRequest
) -> None:
    document, arrow, _ = script.text.partition("\n=>\n")
    assert arrow, "the case has no =>"
    found = read(
        document,
        exists=lambda path: "gone" not in path and "flat/" not in path,
        is_installed=lambda name: "gone" not in name,
        cannot_hold=lambda path: f"{path} cannot be written to" if "readonly" in path else "",
        virtual_nodes=lambda file, *_: ["used", "w"] if file.endswith("known.fractal") else None,
    )
    messages = [str(fault) for fault in found.found]
    same(script, [*document.splitlines(), "=>", *messages], request)
    assert (found.deployment is None) == any(": error[" in message for message in messages)
