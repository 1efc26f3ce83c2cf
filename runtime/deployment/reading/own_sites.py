"""What a user has written once about a site, for all descriptors: `~/.config/gcm/sites.xml`.

A cluster with `site="lyon"` gets what that file says of lyon, before anything is checked. So faults
of the file are told with its own lines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from gcm.documents import Diagnostics, Location, XmlNode, did_you_mean, read_document

_MERGED = frozenset({"batch", "front-end", "mpi"})
"""Elements of which there is one: attributes of the descriptor win over those of the file."""

SITES = "sites.xml"


def with_own_sites(root: XmlNode, file: str, diagnostics: Diagnostics) -> XmlNode:
    """Return a descriptor in which clusters that name a site of the user have what it says.

    `file` is where the user's sites are; it is read only if a cluster names one.
    """
    if not any("site" in one.attributes for one in _clusters(root)):
        return root
    return _completed(root, _sites_of(file, diagnostics), file, diagnostics)


def _clusters(node: XmlNode) -> list[XmlNode]:
    if node.tag == "cluster":
        return [node]
    return [one for child in node.children for one in _clusters(child)]


def _sites_of(file: str, diagnostics: Diagnostics) -> Mapping[str, XmlNode] | None:
    """Return the sites of a file by their names; None after reporting that there are none."""
    path = os.path.expanduser(file)
    if not os.path.exists(path):
        return {}
    root = read_document(path, diagnostics=diagnostics)
    if root is None:
        return None
    if root.tag != "sites":
        what = f"the root of this file is <{root.tag}>"
        hint = "let its root be 'sites', with a <site name='...'> for each"
        diagnostics.report("bad-sites", what, root.location, hint=hint)
        return None
    return {one.attributes.get("name", ""): one for one in root.children if one.tag == "site"}


def _completed(
    node: XmlNode, sites: Mapping[str, XmlNode] | None, file: str, diagnostics: Diagnostics
) -> XmlNode:
    name = node.attributes.get("site", "")
    if node.tag == "cluster" and name:
        if sites is None:
            return node
        if name not in sites:
            _report_unknown(name, sites, file, node.location, diagnostics)
            # what the site should have completed has no faults of its own
            kept = tuple(one for one in node.children if one.tag not in _MERGED)
            return replace(node, children=kept)
        return _merged(node, sites[name])
    below = tuple(_completed(one, sites, file, diagnostics) for one in node.children)
    return replace(node, children=below)


def _merged(cluster: XmlNode, site: XmlNode) -> XmlNode:
    """Return a cluster with the elements of a site, where it has none of its own."""
    own = {one.tag: one for one in cluster.children}
    given = {one.tag: one for one in site.children if one.tag in _MERGED}
    before = [one for one in site.children if one.tag not in own]
    children = [
        replace(one, attributes={**given[one.tag].attributes, **one.attributes})
        if one.tag in given
        else one
        for one in cluster.children
    ]
    return replace(cluster, children=(*before, *children))


def _report_unknown(
    name: str,
    sites: Mapping[str, XmlNode],
    file: str,
    location: Location,
    diagnostics: Diagnostics,
) -> None:
    meant = did_you_mean(name, sites)
    none = f"write <site name='{name}'> there, within <sites>"
    known = meant or (f"it has {', '.join(sorted(sites))}" if sites else none)
    diagnostics.report("unknown-own-site", f"{file} has no site '{name}'", location, hint=known)
