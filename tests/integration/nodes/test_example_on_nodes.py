"""The example of components on nodes has the same result here and there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.integration.nodes.conftest import LONG
from tools.on_grids import ROOT

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

EXAMPLE = ROOT / "examples" / "12_components_on_nodes" / "farm.fractal"
DESCRIPTOR = ROOT / "descriptors" / "components-on-nodes.xml"


def test_the_farm_finds_the_same_here_and_on_five_nodes(field_of_work: Field) -> None:
    code, output, errors = field_of_work.run(str(EXAMPLE))
    assert (code, output) == (0, "primes below 20000: 2262\n")
    assert errors.count("lives on no node") == 5
    code, deployed, errors = field_of_work.deploy("--quiet", str(DESCRIPTOR)).end()
    assert (code, deployed) == (0, output)
    found = re.findall(r"^(.*) lives on (\S+): process (\d+) of", errors, re.MULTILINE)
    assert sorted((who, node) for who, node, _ in found) == [
        ("a worker", "lab/rack/blade01"),
        ("a worker", "lab/rack/blade02"),
        ("a worker", "lab/rack/blade03"),
        ("a worker", "office/desk/node1"),
        ("the farmer", "office/desk/node0"),
    ]
    assert len({pid for *_, pid in found}) == 5


def test_a_second_program_adds_a_worker_to_the_farm_that_runs(field_of_work: Field) -> None:
    document = DESCRIPTOR.read_text("utf-8").replace(
        '${descriptor.folder}/../examples/12_components_on_nodes/farm.fractal"',
        f'{EXAMPLE}" arguments="limit=1000000000"',
    )
    (field_of_work.folder / "long.xml").write_text(document)
    running = field_of_work.deploy("long.xml")
    program = [sys.executable, str(EXAMPLE.with_name("add_worker.py")), str(running.process.pid)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    deadline = time.monotonic() + LONG
    code, output, errors = 1, "", ""
    while code and time.monotonic() < deadline:  # it is starting
        done = subprocess.run(program, check=False, capture_output=True, text=True, env=environment)
        code, output, errors = done.returncode, done.stdout, done.stderr
    assert (code, output) == (0, "/worker lives on lab/rack/blade03\n"), errors
    running.interrupt()
    code, _, errors = running.end()
    assert code == 130, errors
    assert errors.count("a worker lives on lab/rack/blade03") == 2
    assert field_of_work.wait_until_gone() == []
