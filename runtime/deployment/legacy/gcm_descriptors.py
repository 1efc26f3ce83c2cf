"""`urn:gcm:application:1.0` and `urn:gcm:deployment:1.0`: applications, and resources for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

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

_BATCH = {"oarGroup": "oar", "pbsGroup": "pbs", "lsfGroup": "lsf", "gridEngineGroup": "grid-engine",
          "sgeGroup": "grid-engine"}  # fmt: skip
_ASKED = {
    "nodes": ("nodes",),
    "tasks-per-node": ("ppn", "core"),
    "walltime": ("walltime",),
}
"""What is asked of a batch system, and what attributes of old requests were called."""


def application(root: XmlNode, conversion: Conversion) -> Element:
    """Return a deployment for an application; each of its node providers becomes a site."""
    variables = conversion.variables(conversion.only(root, "environment"))
    sites = []
    for provider in conversion.each(conversion.only(root, "resources"), "nodeProvider"):
        clusters = []
        for file in conversion.each(provider, "file"):
            path = conversion.attribute(file, "path")
            found = conversion.load(path)
            if found is None:
                conversion.lose(file, f"the file '{path}' is not there")
                continue
            conversion.read(found)
            variables += conversion.variables(conversion.only(found, "environment"))
            clusters += _clusters(found, conversion)
        if clusters:
            sites.append(Element("site", {"name": conversion.attribute(provider, "id")}, clusters))
    what = conversion.only(root, "application")
    made = [
        *(part for one in conversion.each(what, "executable") for part in _run(one, conversion)),
        *(
            part
            for one in conversion.each(what, "proactive")
            for part in _java(one, [site.attributes["name"] for site in sites], conversion)
        ),
    ]
    made.sort(key=lambda one: one.tag == "file-transfer")
    return Element("deployment", {}, [*variables, *made, Element("grid", {}, sites)])


def resources_alone(root: XmlNode, conversion: Conversion) -> Element:
    """Return a deployment of which only the machine is known."""
    conversion.lose(root, "resources alone run nothing: add an <application>")
    variables = conversion.variables(conversion.only(root, "environment"))
    site = Element("site", {}, _clusters(root, conversion))
    return Element("deployment", {}, [*variables, Element("grid", {}, [site])])


def _run(node: XmlNode, conversion: Conversion) -> Iterator[Element]:
    """Yield the program of an `<executable>`, and the files that go there before."""
    command = conversion.only(node, "command")
    arguments = (
        " ".join(filter(None, (conversion.attribute(one, "value"), conversion.text(one))))
        for one in conversion.each(command, "arg")
    )
    if not conversion.is_said(node, "instances", "onePerCapacity"):
        instances = conversion.attribute(node, "instances") or "onePerHost"
        what = f"instances='{instances}': say the number of ranks in <mpi ranks='...'/>"
        conversion.lose(node, what)
    providers = conversion.each(node, "nodeProvider")
    clusters = ",".join(filter(None, (conversion.attribute(one, "refid") for one in providers)))
    given = {
        "executable": _program(command, conversion),
        "arguments": " ".join(arguments),
        "clusters": clusters,
    }
    yield Element("application", given)
    for place in (command, *providers):
        for transfer in conversion.each(place, "fileTransfer", "filetransfer"):
            where = {"direction": "in"}
            made = transfers(transfer, conversion, where)
            to = conversion.attribute(place, "refid") if place is not command else clusters
            for one in made:
                yield replace(one, attributes={**one.attributes, "clusters": to})


def _program(command: XmlNode | None, conversion: Conversion) -> str:
    """Return the program of a command: its name, in the folder of its path."""
    name, path = conversion.attribute(command, "name"), conversion.only(command, "path")
    if path is None:
        return name
    folder = conversion.attribute(path, "relpath")
    match path.attributes.get("base", ""):
        case "root":
            conversion.attribute(path, "base")
            folder = folder if folder.startswith(("/", "$")) else f"/{folder}"
        case "home":
            conversion.attribute(path, "base")
            folder = f"~/{folder.lstrip('/')}"
    return f"{folder.rstrip('/')}/{name}" if name else folder


def _java(node: XmlNode, sites: list[str], conversion: Conversion) -> Iterator[Element]:
    """Yield the virtual nodes; those without a provider are of all `sites`."""
    conversion.lose(
        node, "its Java program has no counterpart: name an <assembly> or <application>"
    )
    for one in conversion.each(node, "configuration"):
        conversion.drop(one, "the configuration of Java is left out")
    for one in conversion.each(node, "virtualNode"):
        own: list[Element] = []
        providers = conversion.each(one, "nodeProvider")
        nodes = [] if providers else [*sites]
        for provider in providers:
            name = conversion.attribute(provider, "refid")
            count = conversion.attribute(provider, "capacity")
            if count in ("", "max"):
                nodes.append(name)
            else:
                own.append(Element("provider", {"nodes": name, "capacity": count}))
        capacity = conversion.attribute(one, "capacity") or ("max" if nodes else "")
        yield Element(
            "virtual-node",
            {
                "name": conversion.attribute(one, "id"),
                "nodes": ",".join(nodes),
                "capacity": capacity,
            },
            own,
        )


@dataclass(frozen=True, slots=True)
class _Infrastructure:
    """The hosts, groups and bridges of a document."""

    hosts: Described
    groups: Described
    bridges: Described


def _clusters(root: XmlNode, conversion: Conversion) -> list[Element]:
    """Return the clusters that the resources of a document are, each with the hops to it."""
    infrastructure = conversion.only(root, "infrastructure")
    known = _Infrastructure(
        *(
            Described(
                conversion,
                [one for part in conversion.each(infrastructure, tag) for one in part.children],
            )
            for tag in ("hosts", "groups", "bridges")
        )
    )
    resources = conversion.only(root, "resources")
    return [] if resources is None else [*_below(resources, (), known, conversion)]


def _below(
    node: XmlNode, hops: tuple[Element, ...], known: _Infrastructure, conversion: Conversion
) -> Iterator[Element]:
    for one in node.children:
        name = one.attributes.get("refid", "")
        tag = local(one)
        described = {"bridge": known.bridges, "group": known.groups, "host": known.hosts}.get(tag)
        found = None if described is None else described.find(name)
        if found is None:
            conversion.drop(one, f"<{tag}> leads to '{name}', which is not described")
            continue
        conversion.attribute(conversion.read(one), "refid")
        if tag == "bridge":
            hop = _bridge(found, conversion)
            yield from _below(one, hops if hop is None else (*hops, hop), known, conversion)
        elif tag == "group":
            cluster = _group(name, one, found, known, conversion)
            if cluster is not None:
                yield replace(cluster, children=[*hops, *cluster.children])
        else:
            mpi = Element("mpi", {"ranks": _slots(found, conversion)})
            yield Element("cluster", {"name": name}, [*hops, mpi])


def _bridge(node: XmlNode, conversion: Conversion) -> Element | None:
    if local(node) != "sshBridge":
        conversion.drop(node, f"{shown(node)} has no counterpart: hosts are reached over ssh")
        return None
    given = {"host": "hostname", "user": "username", "key": "privateKey"}
    options = conversion.attribute(node, "commandOptions").split()
    if "-2" in options:
        conversion.lose(node, "commandOptions: '-2' is left out, ssh speaks nothing else")
    return Element(
        "ssh",
        {ours: conversion.attribute(node, old) for ours, old in given.items()}
        | {"options": " ".join(one for one in options if one != "-2")},
    )


def _group(
    name: str, asked: XmlNode, node: XmlNode, known: _Infrastructure, conversion: Conversion
) -> Element | None:
    tag = local(node)
    if tag not in (*_BATCH, "sshGroup"):
        conversion.drop(node, f"{shown(node)} has no counterpart: ssh and batch systems have one")
        conversion.drop(
            asked, f"{shown(asked)} is left out with all that is in it, as that group is"
        )
        return None
    slots = ""
    for reference in conversion.each(asked, "host"):
        host = known.hosts.find(conversion.attribute(reference, "refid"))
        if host is None:
            conversion.lose(reference, "it refers to no host that is described")
            continue
        number = _slots(host, conversion)
        if slots not in ("", number):
            conversion.lose(host, f"all hosts of '{name}' have {slots} slots; {number} is left out")
        slots = slots or number
    if tag == "sshGroup":
        hosts = {"hosts": ",".join(conversion.attribute(node, "hostList").split()), "slots": slots}
        for attribute in ("username", "commandOptions", "privateKey"):
            if value := conversion.attribute(node, attribute):
                what = (
                    f"mpiexec reaches these hosts as your ~/.ssh/config says: {attribute}='{value}'"
                )
                conversion.lose(node, what)
        return Element("cluster", {"name": name}, [Element("nodes", hosts)])
    request = {"system": _BATCH[tag], **_request(conversion.only(node, "resources"), conversion)}
    request["nodes"] = request["nodes"] or conversion.attribute(node, "processor")
    request["tasks-per-node"] = request["tasks-per-node"] or slots
    request["queue"] = conversion.attribute(node, "queue")
    for attribute, value in node.attributes.items():
        if attribute not in ("id", "queue", "processor", "class"):
            conversion.attribute(node, attribute)
            conversion.lose(node, f"{attribute}='{value}': add it to <batch options='...'/>")
    return Element("cluster", {"name": name}, [Element("batch", request)])


def _request(node: XmlNode | None, conversion: Conversion) -> dict[str, str]:
    """Return what is asked of a batch system, the first attribute for each that is there."""
    given = {} if node is None else node.attributes
    return {
        ours: next((conversion.attribute(node, old) for old in names if given.get(old)), "")
        for ours, names in _ASKED.items()
    }


def _slots(host: XmlNode, conversion: Conversion) -> str:
    """Return how many processes a host has place for, "" where that is not said."""
    conversion.is_said(host, "os", "", "unix")
    total, is_said = 1, False
    for name in ("hostCapacity", "vmCapacity"):
        if (number := host.attributes.get(name, "")).isdecimal():
            conversion.attribute(host, name)
            total, is_said = total * int(number), True
    return str(total) if is_said else ""
