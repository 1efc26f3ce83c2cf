"""Writes the commented descriptor for a program and a machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from gcm.records import dataclass
from runtime.allocations import JobRequest
from runtime.deployment.language.kinds import NAME_PATTERN
from runtime.deployment.machine_argument import Emulation, HostArgument, Machine, PeersArgument
from runtime.deployment.model import ProgramKind

_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
# `xml.sax.saxutils` has the same, but loads a web client with it.
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
    | {blank: f"&#{ord(blank)};" for blank in "\t\n\r"}
)
_DEFAULT_NAME = "program"

_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!--
  What to run, and the machine to run it on. With this file as DESCRIPTOR

      gcm-deploy DESCRIPTOR    runs it; its option dry-run shows the plan and starts nothing
      gcm check DESCRIPTOR     tells every fault of it

  Relative paths begin at the folder of this file. docs/descriptor.md has all elements.
-->
"""
_PROGRAM = "runs on every rank of every cluster"
_RESULTS = 'what the ranks write comes home when they have ended; only this with others="discard"'
_INPUTS = "files that the ranks find in their working directory"
_DETECTOR = "how the launcher and the clusters find out that one of them is gone"
_EMULATION = """\
all clusters are emulated on this machine; a <grid> in the place of this names real ones:
       <grid>
         <site>
           <cluster><ssh host="front.example.org"/><mpi ranks="4"/></cluster>
         </site>
       </grid>"""
_GRID = "each host is a cluster; those of one site are near each other"
_JOB = "the nodes of the job in which this was started"
_SHARED = "~/.cache/gcm/runs"
"""A folder that the nodes of a job see, as long as they share the home folder."""
_PEERS = "machines of the lab that have places when the run starts"
_HERE = "this machine"


@dataclass(frozen=True, slots=True)
class OneLineRequest:
    """A program to run and the machine to run it on.

    `program` is a path as the descriptor's folder sees it, the name of a module, or that of an
    executable on the search path. `folder` is the folder of the application, empty for the default
    one. `python` starts front-ends on other machines. `variables` are those of the environment,
    each `NAME` or `NAME=VALUE`, `results` the sources of files to bring home. `inputs` are pairs of
    a file and its path in the working directory, `attributes` further ones of `<application>`,
    `<peers>` and `<failure-detector>`, by the name of the element. With a `job` the ranks of an
    emulation run on its nodes instead.
    """

    name: str
    kind: ProgramKind
    program: str
    machine: Machine
    arguments: tuple[str, ...] = ()
    folder: str = ""
    python: str = ""
    variables: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    job: JobRequest | None = None

    def more(self, element: str) -> Iterable[tuple[str, str]]:
        """Return the further attributes of an element."""
        return self.attributes.get(element, {}).items()


def compose(request: OneLineRequest) -> str:
    """Return the descriptor as an XML document.

    Raises:
        ValueError: some text has a character that XML does not allow.
    """
    lines = [f"<deployment {_pairs(('name', _name(request.name, _DEFAULT_NAME)))}>"]
    lines += _indented(_comment(_PROGRAM), _application(request))
    if request.results:
        transfers = [
            f"<file-transfer {_pairs(('direction', 'out'), ('source', source))}/>"
            for source in request.results
        ]
        lines += ["", *_indented(_comment(_RESULTS), transfers)]
    if request.inputs:
        transfers = [
            f"<file-transfer {_pairs(('direction', 'in'), ('source', one), ('destination', to))}/>"
            for one, to in request.inputs
        ]
        lines += ["", *_indented(_comment(_INPUTS), transfers)]
    if "failure-detector" in request.attributes:
        detector = f"<failure-detector {_pairs(*request.more('failure-detector'))}/>"
        lines += ["", *_indented(_comment(_DETECTOR), [detector])]
    lines += ["", *_indented(_machine(request)), "</deployment>"]
    return _HEAD + "\n".join(lines) + "\n"


def _application(request: OneLineRequest) -> Iterator[str]:
    said = (request.kind, request.program), ("folder", request.folder)
    head = f"<application {_pairs(*said, *request.more('application'))}"
    inside = [f"<argument value={_quoted(argument)}/>" for argument in request.arguments]
    for variable in request.variables:
        name, equals, value = variable.partition("=")
        given = f" value={_quoted(value)}" if equals else ""
        inside.append(f"<environment name={_quoted(name)}{given}/>")
    if not inside:
        yield f"{head}/>"
        return
    yield f"{head}>"
    yield from _indented(inside)
    yield "</application>"


def _machine(request: OneLineRequest) -> Iterator[str]:
    machine = request.machine
    if isinstance(machine, Emulation) and request.job is not None:
        yield from _in_job(request.job, machine.ranks)
        return
    if isinstance(machine, Emulation):
        yield from _comment(_EMULATION)
        numbers = {"sites": machine.sites, "clusters": machine.clusters, "ranks": machine.ranks}
        shape = [(name, str(number)) for name, number in numbers.items()]
        yield f"<emulate {_pairs(*shape, ('wan', machine.wan))}/>"
        return
    if isinstance(machine, PeersArgument):
        yield from _comment(_PEERS)
        yield f"<peers {_pairs(('ranks', str(machine.ranks)), *request.more('peers'))}/>"
        return
    yield from _comment(_GRID)
    led = [_first_elsewhere(hosts) for hosts in machine]
    site = next((number for number, leader in enumerate(led) if leader is not None), 0)
    yield f"<grid{_front_end(f'site{site}' if site else '')}>"
    for hosts, leader in zip(machine, led, strict=True):
        names = _names(hosts)
        yield f"  <site{_front_end(names[leader] if leader else '')}>"
        for host, name in zip(hosts, names, strict=True):
            yield from _indented(_cluster(host, name, request.python), by="    ")
        yield "  </site>"
    yield "</grid>"


def _in_job(job: JobRequest, ranks: int) -> Iterator[str]:
    yield from _comment(_JOB)
    places = {"nodes": job.nodes, "tasks-per-node": job.tasks_per_node}
    shape = [(name, str(number)) for name, number in places.items()]
    yield "<grid>"
    yield "  <site>"
    yield "    <cluster>"
    yield f"      <batch {_pairs(('system', job.system), ('job', job.job), *shape)}/>"
    yield f"      <front-end {_pairs(('python', sys.executable), ('folder', _SHARED))}/>"
    yield f"      <mpi {_pairs(('ranks', str(ranks)))}/>"
    yield "    </cluster>"
    yield "  </site>"
    yield "</grid>"


def _cluster(host: HostArgument, name: str, python: str) -> Iterator[str]:
    if host.is_local:
        yield from _comment(_HERE)
    yield f"<cluster {_pairs(('name', name))}>"
    if not host.is_local:
        yield f"  <ssh {_pairs(('host', host.name), ('user', host.user))}/>"
        if python:
            yield f"  <front-end {_pairs(('python', python))}/>"
    yield f"  <mpi {_pairs(('ranks', str(1 if host.ranks is None else host.ranks)))}/>"
    yield "</cluster>"


def _first_elsewhere(hosts: Iterable[HostArgument]) -> int | None:
    """Return the first host that others can connect to and that may not reach this machine."""
    return next((number for number, host in enumerate(hosts) if not host.is_local), None)


def _front_end(name: str) -> str:
    return f" front-end={_quoted(name)}" if name else ""


def _names(hosts: Iterable[HostArgument]) -> list[str]:
    """Return unique names for the cluster of each host."""
    names: dict[str, None] = {}
    counts: dict[str, int] = {}
    for number, host in enumerate(hosts):
        name = wanted = _name(host.name, f"cluster{number}")
        count = counts.get(wanted, 1)
        while name in names:
            count += 1
            name = f"{wanted}-{count}"
        counts[wanted] = count
        names[name] = None
    return list(names)


def _name(text: str, default: str) -> str:
    """Return the valid name nearest to a text."""
    name = _NO_NAME.sub("-", text).strip("-.")
    return name if re.fullmatch(NAME_PATTERN, name) else default


def _comment(text: str) -> list[str]:
    return f"<!-- {text} -->".splitlines()


def _indented(*blocks: Iterable[str], by: str = "  ") -> list[str]:
    return [f"{by}{line}" if line else line for block in blocks for line in block]


def _pairs(*attributes: tuple[str, str]) -> str:
    """Return the attributes that have a value."""
    return " ".join(f"{name}={_quoted(value)}" for name, value in attributes if value)


def _quoted(text: str) -> str:
    if bad := next((one for one in text if not _is_in_xml(one)), ""):
        raise ValueError(f"{text!r} has the character {bad!r}, which no descriptor can hold")
    return '"' + text.replace("${", "$${").translate(_ESCAPES) + '"'


def _is_in_xml(character: str) -> bool:
    # A regular expression of these would take milliseconds to compile.
    is_low = " " <= character <= "\ud7ff" or character in "\t\n\r"
    return is_low or "\ue000" <= character <= "\ufffd" or character >= "\U00010000"
