"""The constraints of a release: what it needs, each package in one version, by its hashes."""

from __future__ import annotations

import re
from configparser import ConfigParser

from packaging.requirements import Requirement

from tools.on_grids import ROOT

_PINNED = re.compile(
    r"^(\S+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def test_all_that_a_release_needs_is_pinned_by_hashes() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = {name: version for name, version, _ in _PINNED.findall(text)}
    assert _PINNED.sub("", text) == ""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    words = setup["options"]["install_requires"] + setup["options.extras_require"]["mpi"]
    needed = [Requirement(line) for line in words.splitlines() if line and line[0] != "#"]
    assert len(needed) > 5
    for one in needed:
        assert one.specifier.contains(pinned[one.name.lower()]), one
