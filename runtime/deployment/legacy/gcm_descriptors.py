"""`urn:gcm:application:1.0` and `urn:gcm:deployment:1.0`: applications, and resources for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gcm.documents import XmlNode
from gcm.records import dataclass
from runtime.deployment.elements import Element
from runtime.deployment.legacy.converting import Conversion, each, local, only

_BATCH = {"oarGroup": "oar", "pbsGroup": "pbs", "lsfGroup": "lsf", "gridEngineGroup": "grid-engine",
          "sgeGroup": "grid-engine"}  # fmt: skip
_GROUPS = frozenset({*_BATCH, "sshGroup"})


def application(root: XmlNode, conversion: Conversion) -> Element:
    """Return a deployment for an application; each of its node providers becomes a site."""
    variables = conversion.variables(only(root, "environment"))
    providers = {
        one.attributes.get("id", ""): one for one in each(only(root, "resources"), "nodeProvider")
    }
    sites = []
    for name, provider in providers.items():
        clusters = []
        for file in each(provider, "file"):
            found = conversion.load(file.attributes.get("path", ""))
            if found is None:
                conversion.lose(file, f"the file '{file.attributes.get('path')}' is not there")
                continue
            variables += conversion.variables(only(found, "environment"))
            clusters += _clusters(found, conversion)
        if clusters:
            sites.append(Element("site", {"name": name}, clusters))
    what = only(root, "application")
    made = [
        *(_executable(one, conversion) for one in each(what, "executable")),
        *(part for one in each(what, "proactive") for part in _proactive(one, conversion)),
    ]
    if what is not None:
        conversion.lose_others(what, ("executable", "proactive"))
    return Element(
        "deployment", {}, [*_first_of_each(variables), *made, Element("grid", {}, sites)]
    )


def resources_alone(root: XmlNode, conversion: Conversion) -> Element:
    """Return a deployment of which only the machine is known."""
    conversion.lose(root, "resources alone run nothing: add an <application>")
    variables = _first_of_each(conversion.variables(only(root, "environment")))
    site = Element("site", {}, _clusters(root, conversion))
    return Element("deployment", {}, [*variables, Element("grid", {}, [site])])


def _first_of_each(variables: list[Element]) -> list[Element]:
    return [*{one.attributes["name"]: one for one in reversed(variables)}.values()][::-1]


def _executable(node: XmlNode, conversion: Conversion) -> Element:
    command = only(node, "command")
    path = only(command, "path")
    name = "" if command is None else command.attributes.get("name", "")
    arguments = [Element("argument", {"value": one.attributes.get("value", "")})
                 for one in each(command, "arg")]  # fmt: skip
    instances = node.attributes.get("instances", "onePerCapacity")
    if instances != "onePerCapacity":
        conversion.lose(
            node, f"instances='{instances}': say the number of ranks in <mpi ranks='...'/>"
        )
    providers = [one.attributes.get("refid", "") for one in each(node, "nodeProvider")]
    for provider in each(node, "nodeProvider"):
        for transfer in each(provider, "fileTransfer"):
            conversion.lose(transfer, "the program folder is copied anyway; else <file-transfer>")
    given = {
        "executable": (path.attributes.get("relpath", "") if path is not None else "") or name,
        "clusters": ",".join(providers),
    }
    return Element("application", given, arguments)


def _proactive(node: XmlNode, conversion: Conversion) -> Iterator[Element]:
    conversion.lose(
        node, "its Java program has no counterpart: name an <assembly> or <application>"
    )
    conversion.lose_others(node, ("virtualNode", "configuration"))
    for one in each(node, "configuration"):
        conversion.lose(one, "the configuration of Java is left out")
    for one in each(node, "virtualNode"):
        nodes, own = [], []
        for provider in each(one, "nodeProvider"):
            name, count = (provider.attributes.get(key, "") for key in ("refid", "capacity"))
            if count in ("", "max"):
                nodes.append(name)
            else:
                own.append(Element("provider", {"nodes": name, "capacity": count}))
        yield Element(
            "virtual-node",
            {
                "name": one.attributes.get("id", ""),
                "nodes": ",".join(nodes),
                "capacity": one.attributes.get("capacity", "max" if nodes else ""),
            },
            own,
        )


@dataclass(frozen=True, slots=True)
class _Infrastructure:
    """The hosts, groups and bridges of a document, by their identifiers."""

    hosts: Mapping[str, XmlNode]
    groups: Mapping[str, XmlNode]
    bridges: Mapping[str, XmlNode]


def _clusters(root: XmlNode, conversion: Conversion) -> list[Element]:
    """Return the clusters that the resources of a document are, each with the hops to it."""
    infrastructure = only(root, "infrastructure")
    hosts, groups, bridges = (
        {
            one.attributes.get("id", ""): one
            for part in each(infrastructure, tag)
            for one in part.children
        }
        for tag in ("hosts", "groups", "bridges")
    )
    known = _Infrastructure(hosts, groups, bridges)
    resources = only(root, "resources")
    return [] if resources is None else [*_below(resources, (), known, conversion)]


def _below(
    node: XmlNode, hops: tuple[Element, ...], known: _Infrastructure, conversion: Conversion
) -> Iterator[Element]:
    for one in node.children:
        name = one.attributes.get("refid", "")
        match local(one):
            case "bridge" if name in known.bridges:
                hop = _bridge(known.bridges[name], conversion)
                yield from _below(one, hops if hop is None else (*hops, hop), known, conversion)
            case "group" if name in known.groups:
                hosts = [
                    known.hosts.get(host.attributes.get("refid", "")) for host in each(one, "host")
                ]
                cluster = _group(name, known.groups[name], next(iter(hosts), None), conversion)
                if cluster is not None:
                    yield replace(cluster, children=[*hops, *cluster.children])
            case "host" if name in known.hosts:
                mpi = Element("mpi", {"ranks": _slots(known.hosts[name])})
                yield Element("cluster", {"name": name}, [*hops, mpi])
            case _:
                conversion.lose(one, f"<{one.tag}> leads to '{name}', which is not described")


def _bridge(node: XmlNode, conversion: Conversion) -> Element | None:
    if local(node) != "sshBridge":
        conversion.lose(node, f"<{node.tag}> has no counterpart: hosts are reached over ssh")
        return None
    return _ssh(node)


def _ssh(node: XmlNode) -> Element:
    attributes = node.attributes
    given = {
        "host": attributes.get("hostname", ""),
        "user": attributes.get("username", ""),
        "key": attributes.get("privateKey", ""),
        "options": attributes.get("commandOptions", ""),
    }
    return Element("ssh", given)


def _group(
    name: str, node: XmlNode, host: XmlNode | None, conversion: Conversion
) -> Element | None:
    tag, attributes = local(node), node.attributes
    if tag not in _GROUPS:
        conversion.lose(node, f"<{node.tag}> has no counterpart: ssh and batch systems have one")
        return None
    if tag == "sshGroup":
        hosts = {"hosts": ",".join(attributes.get("hostList", "").split()), "slots": _slots(host)}
        for attribute in ("username", "commandOptions", "privateKey"):
            if attributes.get(attribute):
                what = f"{attribute}: mpiexec reaches these hosts as your ~/.ssh/config says"
                conversion.lose(node, what)
        return Element("cluster", {"name": name}, [Element("nodes", hosts)])
    asked = only(node, "resources")
    numbers = {} if asked is None else asked.attributes
    request = {
        "system": _BATCH[tag],
        "nodes": numbers.get("nodes", "") or attributes.get("processor", ""),
        "tasks-per-node": numbers.get("ppn", "") or numbers.get("core", "") or _slots(host),
        "walltime": numbers.get("walltime", ""),
        "queue": attributes.get("queue", ""),
    }
    for attribute in sorted({*attributes} - {"id", "queue", "processor"}):
        conversion.lose(node, f"{attribute}: add it to <batch options='...'/>")
    return Element("cluster", {"name": name}, [Element("batch", request)])


def _slots(host: XmlNode | None) -> str:
    """Return how many processes a host has place for, "" where that is not said."""
    attributes = {} if host is None else host.attributes
    numbers = [attributes.get("hostCapacity", ""), attributes.get("vmCapacity", "")]
    total = 1
    for one in numbers:
        total *= int(one) if one.isdecimal() else 1
    return str(total) if any(numbers) else ""
