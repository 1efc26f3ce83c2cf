"""The older `<ProActiveDescriptor>`: virtual nodes mapped to machines that processes create."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gcm.documents import XmlNode
from runtime.deployment.elements import Element
from runtime.deployment.legacy.converting import Conversion, each, local, only

_BATCH = {"pbsProcess": "pbs", "oarProcess": "oar", "lsfProcess": "lsf",
          "gridEngineProcess": "grid-engine", "oarGridProcess": "oar"}  # fmt: skip
_DEEPEST = 50
"""Nested processes, at most: those of a document may refer to themselves."""


def whole(root: XmlNode, conversion: Conversion) -> Element:
    """Return a deployment; each mapped machine becomes a cluster of one site."""
    variables = conversion.variables(only(root, "variables"))
    processes = {
        one.attributes.get("id", ""): one.children[0]
        for one in each(only(root, "infrastructure", "processes"), "processDefinition")
        if one.children
    }
    machines = {
        one.attributes.get("name", ""): one for one in each(only(root, "deployment", "jvms"), "jvm")
    }
    clusters: dict[str, Element] = {}
    made: list[Element] = []
    for mapped in each(only(root, "deployment", "mapping"), "map"):
        names = [one.attributes.get("value", "") for one in each(only(mapped, "jvmSet"), "vmName")]
        for name in names:
            machine = machines.get(name)
            reference = only(machine, "creation", "processReference")
            if reference is None:
                conversion.lose(mapped, f"the machine '{name}' is created by no process")
                continue
            parts = [*_parts(reference, processes, conversion, 0)]
            made += [one for one in parts if one.tag == "application"]
            below = [one for one in parts if one.tag != "application"]
            clusters[name] = Element("cluster", {"name": name}, below)
        nodes = ",".join(f"site/{name}" for name in names if name in clusters)
        virtual = mapped.attributes.get("virtualNode", "")
        made.append(Element("virtual-node", {"name": virtual, "nodes": nodes}))
    known = ("variables", "componentDefinition", "deployment", "infrastructure")
    conversion.lose_others(root, known)
    site = Element("site", {"name": "site"}, [*clusters.values()])
    return Element("deployment", {}, [*variables, *made, Element("grid", {}, [site])])


def _parts(
    reference: XmlNode, processes: Mapping[str, XmlNode], conversion: Conversion, depth: int
) -> Iterator[Element]:
    """Yield the hops, nodes, requests and programs of a process and of those that it starts."""
    process = processes.get(reference.attributes.get("refid", ""))
    if process is None or depth > _DEEPEST:
        conversion.lose(reference, "it refers to no process that is described")
        return
    attributes = process.attributes
    match local(process):
        case "sshProcess" if attributes.get("hostname"):
            yield Element(
                "ssh", {"host": attributes["hostname"], "user": attributes.get("username", "")}
            )
        case "processList" | "processListbyHost" | "sshProcess":
            yield Element("nodes", {"hosts": _hosts(attributes)})
        case "mpiProcess":
            yield from _mpi(process, conversion)
        case "jvmProcess":
            conversion.lose(process, "its Java program has no counterpart: name an <assembly>")
        case tag if tag in _BATCH:
            yield _request(process, conversion)
        case tag:
            conversion.lose(process, f"<{tag}> has no counterpart")
    for below in each(process, "processReference"):
        yield from _parts(below, processes, conversion, depth + 1)


def _hosts(attributes: Mapping[str, str]) -> str:
    """Return the hosts of a list of processes: names with a number, or names in full."""
    if "hostlist" in attributes:
        return ",".join(attributes["hostlist"].split())
    domain = f".{attributes['domain']}" if attributes.get("domain") else ""
    return f"{attributes.get('fixedName', '')}{attributes.get('list', '')}{domain}"


def _mpi(process: XmlNode, conversion: Conversion) -> Iterator[Element]:
    options = only(process, "mpiOptions")
    number = only(options, "processNumber")
    command = only(process, "commandPath")
    program = process.attributes.get("mpiFileName", "")
    given = {
        "command-path": "" if command is None else command.attributes.get("value", ""),
        "ranks": "" if number is None else number.text,
        "options": process.attributes.get("mpiCommandOptions", ""),
    }
    folder = only(options, "localRelativePath")
    remote = only(options, "remoteAbsolutePath")
    if remote is not None:
        what = f"'{remote.text}': the program folder is copied to a folder made for the run"
        conversion.lose(remote, what)
    yield Element("mpi", given)
    yield Element(
        "application",
        {"executable": program, "folder": "" if folder is None else folder.text},
    )


def _request(process: XmlNode, conversion: Conversion) -> Element:
    tag = local(process)
    options = next((one for one in process.children if local(one).endswith("Option")), None)
    nodes, each_node = only(options, "hostsNumber"), only(options, "processorPerNode")
    time = only(options, "bookingDuration")
    for one in () if options is None else options.children:
        if local(one) not in ("hostsNumber", "processorPerNode", "bookingDuration"):
            conversion.lose(one, f"<{one.tag}>: add it to <batch options='...'/>")
    return Element(
        "batch",
        {
            "system": _BATCH[tag],
            "nodes": "" if nodes is None else nodes.text,
            "tasks-per-node": "" if each_node is None else each_node.text,
            "walltime": "" if time is None else time.text,
            "queue": process.attributes.get("queue", ""),
        },
    )
