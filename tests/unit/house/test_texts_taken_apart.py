"""Names are values: a text with colons is taken apart where it enters, in the places stated here.

`StepName`, `RankName` and `ClusterName` say what a name means; everything else asks them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.on_grids import ROOT

PARSERS = {
    "gcm/adl/classes.py": "module:Class in documents",
    "gcm/cli/command_table.py": "module:function in the rows of commands",
    "gcm/documents/foreign.py": "prefix:name of an element of XML",
    "runtime/allocations/lsf.py": "hosts as LSF prints them",
    "runtime/allocations/written.py": "hours:minutes:seconds as batch systems print them",
    "runtime/calls/table.py": "the columns of the table of MPI's calls",
    "runtime/deployment/machine_argument.py": "HOST:RANKS of -H, or the end of an IPv6 address",
    "runtime/doctor/records.py": "what a probe on another host says of a connection",
    "runtime/hosting/exposing.py": "the name of an object in a URI of Pyro5",
    "runtime/hosting/node.py": "module:Class that another process names",
    "runtime/hosting/remote_references.py": "scheme:address of a binding",
    "runtime/linked_mpi.py": "folders in the search path of a library",
    "runtime/machine/clustering.py": "the code and its incarnation before the name of a collective",
    "runtime/mpi/files/making.py": "cluster:path, the name of a file of the grid",
    "runtime/mpi/from_c/program.py": "call: error, as code in C says it",
    "runtime/part_names.py": "the names of parts of the machine",
    "runtime/peers/credentials/credential.py": "the head of a credential, which has several lines",
    "runtime/peers/model.py": "role:name of a member, HOST:PORT of one",
    "runtime/peers/watching/view.py": "program:digest, the name of an application",
    "runtime/ports/desk.py": "scheme:rank:number, the name of a port",
    "runtime/processes/front_end/memory_kills.py": "the lines of /proc/self/cgroup",
    "runtime/rank_name.py": "the names of ranks and clusters",
    "runtime/step_name.py": "the names of steps",
    "runtime/transport/passage.py": "host:port and unix:path, the addresses",
    "runtime/transport/transports.py": "the prefix of an address, which names its transport",
}
"""Who takes a text apart at a colon, and which text that is."""

_TAKE_APART = {"partition", "rpartition", "split", "rsplit"}
_PLANTED = ['step.partition(":")', 'rank.rsplit(":", 1)', "name.split(':')", 'line.split(": ")']


def taken_apart(source: str) -> list[int]:
    """Return the lines of a source in which a text is taken apart at a colon."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _TAKE_APART
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
        and node.args[0].value.strip() == ":"
    ]


def sources() -> dict[str, Path]:
    """Return the files of the packages by their paths."""
    files = (file for package in ("gcm", "runtime") for file in (ROOT / package).rglob("*.py"))
    return {str(file.relative_to(ROOT)): file for file in files}


def test_only_parsers_take_texts_apart_at_a_colon() -> None:
    found = {name: taken_apart(file.read_text("utf-8")) for name, file in sources().items()}
    assert {name: lines for name, lines in found.items() if lines and name not in PARSERS} == {}
    assert [name for name in PARSERS if not found[name]] == []


@pytest.mark.parametrize("planted", _PLANTED)
def test_a_text_that_is_taken_apart_is_found(planted: str) -> None:
    assert taken_apart(f"def planted(step, rank, name, line):\n    return {planted}\n") == [2]


def test_no_step_is_named_by_a_text() -> None:
    kinds = ("front-end:", "ranks:", "handshake:", "fetch:", "process:", "node:")
    found = [
        f"{name}:{node.lineno}"
        for name, file in sources().items()
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.JoinedStr)
        and len(node.values) == 2
        and isinstance(node.values[0], ast.Constant)
        and node.values[0].value in kinds
    ]
    assert found == []
