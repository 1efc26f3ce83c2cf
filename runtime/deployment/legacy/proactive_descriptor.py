"""The older `<ProActiveDescriptor>`: virtual nodes mapped to machines that processes create."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from gcm.documents import XmlNode
from gcm.records import dataclass
from runtime.deployment.elements import Element
from runtime.deployment.legacy.converting import (
    Conversion,
    Described,
    local,
    shown,
    transfers,
)

_BATCH = {"pbsProcess": "pbs", "oarProcess": "oar", "lsfProcess": "lsf", "bsubProcess": "lsf",
          "gridEngineProcess": "grid-engine", "oarGridProcess": "oar"}  # fmt: skip
_ASKED = {
    "nodes": ("hostsNumber",),
    "tasks-per-node": ("processorPerNode",),
    "walltime": ("bookingDuration",),
}
_LISTS = ("processList", "processListbyHost")
_SITE = "site"
_DEEPEST = 50
"""Nested processes, at most: those of a document may refer to themselves."""


def whole(root: XmlNode, conversion: Conversion) -> Element:
    """Return a deployment; each mapped machine becomes a cluster of one site.

    A document that maps none has a cluster for each process to which no other one refers.
    """
    variables = conversion.variables(conversion.only(root, "variables"))
    known = _Known.of(root, conversion)
    made = _Made()
    mapped = conversion.each(conversion.only(root, "deployment", "mapping"), "map")
    for one in mapped:
        made.virtual_nodes += _mapped(one, known, made, conversion)
    if not mapped:
        for name in known.first_processes():
            made.clusters[name] = _Machine(name, known, conversion, made).started(name)
    return Element("deployment", {}, [*variables, *made.elements()])


@dataclass(slots=True)
class _Made:
    """What was made until now; `sequences` have the names of programs that start in turn."""

    clusters: dict[str, list[Element]] = field(default_factory=dict)
    programs: list[tuple[str, str, Element]] = field(default_factory=list)
    """The program of a process, the machine where it runs, and what it becomes."""
    transfers: list[Element] = field(default_factory=list)
    virtual_nodes: list[Element] = field(default_factory=list)
    sequences: list[list[str]] = field(default_factory=list)

    def copy(self, node: XmlNode, attribute: str, way: str, *names: str, known: _Known) -> None:
        """Copy to the clusters of these names, or from them, what an attribute refers to.

        If that is not described, the attribute is left out.
        """
        name = node.attributes.get(attribute, "")
        found = known.transfers.find(name) if name else None
        if found is None:
            return
        known.conversion.attribute(node, attribute)
        clusters = self.places(names)
        for one in transfers(found, known.conversion, {"direction": way}):
            given = {**one.attributes, "clusters": clusters}
            if Element(one.tag, given) not in self.transfers:
                self.transfers.append(Element(one.tag, given))

    def places(self, machines: Iterable[str]) -> str:
        """Return the paths of the clusters of some machines."""
        names = (
            one.attributes["name"] if known else machine
            for machine in machines
            for known in [machine in self.clusters]
            for one in self.clusters.get(machine, [Element("cluster")])
        )
        return ",".join(f"{_SITE}/{name}" for name in names)

    def elements(self) -> Iterator[Element]:
        """Yield the parts of a deployment, in the order of our language."""
        are_several = len(self.programs) > 1
        for name, machine, program in self.programs:
            own = {"name": name, "clusters": f"{_SITE}/{machine}"} if are_several else {}
            yield Element("application", {**own, **program.attributes}, program.children)
        yield from self.virtual_nodes
        for members in self.sequences:
            references = [Element("process-reference", {"refid": one}) for one in members]
            yield Element("dependent-sequence", {}, references)
        yield from self.transfers
        clusters = [one for many in self.clusters.values() for one in many]
        yield Element("grid", {}, [Element("site", {"name": _SITE}, clusters)])


@dataclass(frozen=True, slots=True)
class _Known:
    """The definitions of a document."""

    conversion: Conversion
    processes: Described
    machines: Described
    virtual_nodes: Described
    transfers: Described
    references: frozenset[str]

    @staticmethod
    def of(root: XmlNode, conversion: Conversion) -> _Known:
        """Return those of a document."""
        infrastructure = conversion.only(root, "infrastructure")
        processes = conversion.only(infrastructure, "processes")
        nodes = conversion.only(root, "componentDefinition", "virtualNodesDefinition")
        copies = conversion.only(root, "fileTransferDefinitions")
        return _Known(
            conversion,
            Described(conversion, _children(processes)),
            Described(conversion, _children(conversion.only(root, "deployment", "jvms")), "name"),
            Described(conversion, _children(nodes), "name"),
            Described(conversion, _children(copies)),
            frozenset(_references(processes)),
        )

    def first_processes(self) -> list[str]:
        """Return the processes to which no other one refers."""
        return [name for name in self.processes if name not in self.references]


def _mapped(node: XmlNode, known: _Known, made: _Made, conversion: Conversion) -> Iterator[Element]:
    """Yield the virtual node of a `<map>`, and make the clusters of its machines."""
    names = []
    for vm in conversion.each(conversion.only(node, "jvmSet"), "vmName"):
        name = conversion.attribute(vm, "value")
        machine = known.machines.find(name)
        reference = conversion.only(machine, "creation", "processReference")
        if reference is None:
            conversion.lose(vm, f"the machine '{name}' is created by no process")
            continue
        names.append(name)
        if name not in made.clusters:
            process = conversion.attribute(reference, "refid")
            started = _Machine(name, known, conversion, made).started(process, reference)
            made.clusters[name] = started
    virtual = conversion.attribute(node, "virtualNode")
    declared = known.virtual_nodes.find(virtual)
    if declared is not None:
        conversion.is_said(declared, "property", "", "multiple")
        if len(names) == 1:
            conversion.is_said(declared, "property", "unique")
        for way, attribute in (("in", "fileTransferDeploy"), ("out", "fileTransferRetrieve")):
            made.copy(declared, attribute, way, *names, known=known)
    if names:
        places = made.places(names)
        yield Element("virtual-node", {"name": virtual, "nodes": places})
    else:
        conversion.lose(node, f"the virtual node '{virtual}' is mapped to no machine")


@dataclass(slots=True)
class _Machine:
    """A machine whose cluster is made of the processes that create it, one in the other."""

    name: str
    known: _Known
    conversion: Conversion
    made: _Made

    def started(self, process: str, reference: XmlNode | None = None) -> list[Element]:
        """Return the clusters that a process creates: one for each program that it starts."""
        before = len(self.made.programs)
        parts = [*self._parts(process, reference, 0)]
        of_mpi = [one for one in parts if one.tag == "mpi"]
        alike = [one for one in parts if one.tag != "mpi"]
        for more in [one for one in alike if one.tag == "batch"][1:]:
            alike.remove(more)
            lines = " ".join(map(str.strip, more.lines()))
            if reference is not None:
                what = f"a cluster has one request: left out {lines}"
                self.conversion.lose(reference, what)
        if len(of_mpi) < 2:
            return [_cluster(self.name, [*alike, *of_mpi])]
        for place in range(before, len(self.made.programs)):
            name, _, program = self.made.programs[place]
            self.made.programs[place] = name, name, program
        names = (name for name, _, _ in self.made.programs[before:])
        return [_cluster(name, [*alike, mpi]) for name, mpi in zip(names, of_mpi, strict=True)]

    def _parts(self, name: str, reference: XmlNode | None, depth: int) -> Iterator[Element]:
        """Yield the hops, nodes and requests of a process and of those that it starts."""
        conversion = self.conversion
        definition = self.known.processes.find(name)
        process = definition.children[0] if definition is not None and definition.children else None
        if process is None or depth > _DEEPEST:
            if reference is not None:
                conversion.lose(reference, f"'{name}' is no process that is described")
            return
        conversion.read(process)
        yield from self._itself(name, process, depth)
        for way, kind in (("in", "fileTransferDeploy"), ("out", "fileTransferRetrieve")):
            for one in conversion.each(process, kind):
                self.made.copy(one, "refid", way, self.name, known=self.known)
        is_sequence = local(process) == "dependentProcessSequence"
        for below in () if is_sequence else conversion.each(process, "processReference"):
            yield from self._parts(conversion.attribute(below, "refid"), below, depth + 1)

    def _itself(self, name: str, process: XmlNode, depth: int) -> Iterator[Element]:
        """Yield the parts of a process without those that it refers to."""
        conversion, tag = self.conversion, local(process)
        has_list = tag in _LISTS or "hostlist" in process.attributes
        if tag == "sshProcess" and process.attributes.get("hostname"):
            host, user = (conversion.attribute(process, one) for one in ("hostname", "username"))
            yield Element("ssh", {"host": host, "user": user})
        elif has_list:
            yield Element("nodes", {"hosts": self._hosts(process)})
        elif tag == "mpiProcess":
            yield self._mpi(name, process)
        elif tag == "dependentProcessSequence":
            yield from self._in_turn(process, depth)
        elif tag == "jvmProcess":
            conversion.drop(process, "its Java program has no counterpart: name an <assembly>")
        elif tag in _BATCH:
            yield self._request(process)
        else:
            conversion.lose(process, f"<{tag}> has no counterpart")

    def _in_turn(self, process: XmlNode, depth: int) -> Iterator[Element]:
        """Yield the parts of members that start one after the other, and note in which order."""
        conversion, sequence = self.conversion, []
        for member in conversion.each(process, "processReference"):
            name = conversion.attribute(member, "refid")
            before = len(self.made.programs)
            yield from self._parts(name, member, depth + 1)
            own = [one for one, _, _ in self.made.programs[before:]]
            sequence += own
            if not own:
                conversion.lose(
                    member,
                    f"'{name}' starts no program: if its nodes are for an <assembly>, that starts"
                    " after others in <dependent-sequence> with <process-reference"
                    " refid='assembly'/>",
                )
        if len(sequence) > 1:
            self.made.sequences.append(sequence)

    def _hosts(self, process: XmlNode) -> str:
        """Return the hosts of a list of processes: names with a number, or names in full."""
        conversion = self.conversion
        domain = conversion.attribute(process, "domain")
        domain = f".{domain}" if domain else ""
        if "hostlist" in process.attributes:
            return ",".join(
                f"{one}{domain}" for one in conversion.attribute(process, "hostlist").split()
            )
        fixed, numbers = (conversion.attribute(process, one) for one in ("fixedName", "list"))
        return f"{fixed}{numbers}{domain}"

    def _mpi(self, name: str, process: XmlNode) -> Element:
        conversion = self.conversion
        options = conversion.only(process, "mpiOptions")
        command = conversion.only(process, "commandPath")
        if hosts := conversion.attribute(process, "hostsFileName"):
            what = f"hostsFileName='{hosts}': name its hosts in <nodes hosts='...'/>"
            conversion.lose(process, what)
        remote = conversion.only(options, "remoteAbsolutePath")
        if remote is not None:
            what = f"'{self._path(remote)}': the program folder is copied to a folder of the run"
            conversion.lose(remote, what)
        folder = self._path(conversion.only(options, "localRelativePath"))
        file = conversion.attribute(process, "mpiFileName")
        path = f"{folder.rstrip('/')}/{file}" if folder and "/" not in file else file
        # They were called options of its command, and followed the program there.
        arguments = conversion.attribute(process, "mpiCommandOptions")
        program = Element("application", {"executable": path, "arguments": arguments})
        self.made.programs.append((name, self.name, program))
        given = {
            "command-path": conversion.attribute(command, "value"),
            "ranks": conversion.text(conversion.only(options, "processNumber")),
        }
        return Element("mpi", given)

    def _path(self, node: XmlNode | None) -> str:
        """Return a path: a text, or an element with a value that says where it begins."""
        conversion = self.conversion
        for one in conversion.each(node, "absolutePath", "relativePath"):
            value = conversion.attribute(one, "value")
            if local(one) == "relativePath" and conversion.is_said(one, "origin", "user.home"):
                return f"${{env.HOME}}/{value}"
            return value
        return conversion.text(node)

    def _request(self, process: XmlNode) -> Element:
        conversion, tag = self.conversion, local(process)
        kinds = {local(one) for one in process.children if local(one).endswith("Option")}
        options = conversion.only(process, *sorted(kinds)[:1]) if kinds else None
        asked = {
            ours: "".join(conversion.text(conversion.only(options, old)) for old in names)
            for ours, names in _ASKED.items()
        }
        for one in () if options is None else options.children:
            if local(one) not in {name for names in _ASKED.values() for name in names}:
                conversion.drop(one, f"{shown(one)}: add it to <batch options='...'/>")
        queue = conversion.attribute(process, "queue")
        return Element("batch", {"system": _BATCH[tag], **asked, "queue": queue})


def _cluster(name: str, parts: list[Element]) -> Element:
    order = ("ssh", "batch", "mpi", "nodes")
    in_order = sorted(parts, key=lambda one: order.index(one.tag))
    return Element("cluster", {"name": name}, in_order)


def _children(node: XmlNode | None) -> list[XmlNode]:
    return [] if node is None else [*node.children]


def _references(node: XmlNode | None) -> Iterator[str]:
    """Yield the names of the processes to which others refer."""
    for one in () if node is None else node.children:
        if local(one) == "processReference":
            yield one.attributes.get("refid", "")
        yield from _references(one)
