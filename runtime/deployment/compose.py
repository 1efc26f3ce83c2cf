"""Makes the descriptor for a program and a machine, and writes it with comments."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from gcm.records import dataclass
from runtime.allocations import JobRequest, written_places
from runtime.deployment.elements import Element, comment
from runtime.deployment.language.kinds import NAME_PATTERN
from runtime.deployment.machine_argument import Emulation, HostArgument, Machine, PeersArgument
from runtime.deployment.model import ProgramKind

_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
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
_QUEUE = """nodes that the queue grants, as many as the job had in which this was written;
       walltime, queue and account say more of them, and job="NUMBER" names one that runs"""
_SHARED = "~/.cache/gcm/runs"
"""A folder that the nodes of a job see, as long as they share the home folder."""
_PEERS = "machines of the lab that have places when the run starts"
_HERE = "this machine"


@dataclass(frozen=True, slots=True)
class OneLineRequest:
    """A program to run and the machine to run it on.

    `program` is a path as the descriptor's folder sees it, the name of a module, or that of an
    executable on the search path. `folder` is the folder of the application, empty for the default
    one. `python` starts front-ends on other machines, and `mpi` is the kind of MPI, where a host
    has none of its own. `variables` are those of the environment, each `NAME` or `NAME=VALUE`,
    `results` the sources of files to bring home. `inputs` are pairs of a file and its path in the
    working directory, `attributes` further ones of `<application>`, `<peers>` and
    `<failure-detector>`, by the name of the element. With a `job` the ranks of an emulation run on
    its nodes instead.
    """

    name: str
    kind: ProgramKind
    program: str
    machine: Machine
    arguments: tuple[str, ...] = ()
    folder: str = ""
    python: str = ""
    mpi: str = ""
    variables: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    job: JobRequest | None = None

    def more(self, element: str) -> Mapping[str, str]:
        """Return the further attributes of an element."""
        return self.attributes.get(element, {})


_Parts = list[Element | str]


def compose(request: OneLineRequest) -> Element:
    """Return the root of the descriptor: `node` reads it as it is, `document_text` writes it.

    Raises:
        ValueError: some text has a character that XML does not allow.
    """
    parts: _Parts = [*comment(_PROGRAM), _application(request)]
    results = [{"direction": "out", "source": one} for one in request.results]
    inputs = [{"direction": "in", "source": one, "destination": to} for one, to in request.inputs]
    for text, transfers in ((_RESULTS, results), (_INPUTS, inputs)):
        if transfers:
            parts += ["", *comment(text), *(_element("file-transfer", one) for one in transfers)]
    if "failure-detector" in request.attributes:
        detector = _element("failure-detector", request.more("failure-detector"))
        parts += ["", *comment(_DETECTOR), detector]
    parts += ["", *_machine(request)]
    return _element("deployment", {"name": _name(request.name, _DEFAULT_NAME)}, parts)


def document_text(root: Element) -> str:
    """Return a composed descriptor as an XML document."""
    return _HEAD + "\n".join(root.lines()) + "\n"


def _element(
    tag: str, attributes: Mapping[str, str], children: Sequence[Element | str] = ()
) -> Element:
    """Return an element whose text is meant as it is, whatever looks like a variable in it."""
    return Element(tag, {name: _plain(one) for name, one in attributes.items()}, children)


def _plain(text: str) -> str:
    return text.replace("${", "$${")


def _application(request: OneLineRequest) -> Element:
    inside = [_element("argument", {"value": argument}) for argument in request.arguments]
    for variable in request.variables:
        name, equals, value = variable.partition("=")
        given = {"value": _plain(value)} if equals else {}
        inside.append(Element("environment", {"name": _plain(name), **given}, keeps_empty=True))
    attributes = {str(request.kind): request.program, "folder": request.folder}
    return _element("application", {**attributes, **request.more("application")}, inside)


def _machine(request: OneLineRequest) -> _Parts:
    machine = request.machine
    if isinstance(machine, Emulation) and request.job is not None:
        return _in_job(request.job, machine.ranks, request.mpi)
    if isinstance(machine, Emulation):
        numbers = {"sites": machine.sites, "clusters": machine.clusters, "ranks": machine.ranks}
        emulated = {name: str(number) for name, number in numbers.items()} | {"wan": machine.wan}
        return [*comment(_EMULATION), _element("emulate", emulated, _mpi(request.mpi))]
    if isinstance(machine, PeersArgument):
        peers = {"ranks": str(machine.ranks), **request.more("peers")}
        return [*comment(_PEERS), _element("peers", peers)]
    led = [_first_elsewhere(hosts) for hosts in machine]
    site = next((number for number, leader in enumerate(led) if leader is not None), 0)
    sites = []
    for hosts, leader in zip(machine, led, strict=True):
        names = _names(hosts)
        clusters = [
            part
            for host, name in zip(hosts, names, strict=True)
            for part in _cluster(host, name, request.python)
        ]
        sites.append(_element("site", {"front-end": names[leader] if leader else ""}, clusters))
    front_end = f"site{site}" if site else ""
    grid = _element("grid", {"front-end": front_end}, [*_mpi(request.mpi), *sites])
    return [*comment(_GRID), grid]


def _mpi(flavour: str) -> list[Element]:
    """Return what gives all clusters a kind of MPI, if there is one to give."""
    return [_element("mpi", {"flavour": flavour})] if flavour else []


def _in_job(job: JobRequest, ranks: int, flavour: str) -> _Parts:
    places = {"nodes": str(job.nodes), "tasks-per-node": str(job.tasks_per_node)}
    if job.places:
        places = {"nodes": str(job.nodes), "places": written_places(job.places)}
    parts = [
        _element("batch", {"system": job.system, "job": job.job, **places}),
        _element("front-end", {"python": sys.executable, "folder": _SHARED}),
        _element("mpi", {"flavour": flavour, "ranks": str(ranks)}),
    ]
    site = _element("site", {}, [_element("cluster", {}, parts)])
    return [*comment(_JOB if job.job else _QUEUE), _element("grid", {}, [site])]


def _cluster(host: HostArgument, name: str, python: str) -> _Parts:
    ranks = str(1 if host.ranks is None else host.ranks)
    parts = [_element("mpi", {"flavour": host.mpi, "ranks": ranks})]
    if host.is_local:
        return [*comment(_HERE), _element("cluster", {"name": name}, parts)]
    python = host.python or python
    if python:
        parts.insert(0, _element("front-end", {"python": python}))
    parts.insert(0, _element("ssh", {"host": host.name, "user": host.user}))
    return [_element("cluster", {"name": name}, parts)]


def _first_elsewhere(hosts: Iterable[HostArgument]) -> int | None:
    """Return the first host that others can connect to and that may not reach this machine."""
    return next((number for number, host in enumerate(hosts) if not host.is_local), None)


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
