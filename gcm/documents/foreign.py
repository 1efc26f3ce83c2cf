"""Documents of GCM projects that are read elsewhere or not at all: what they are, and what to do.

People give them to the commands because they lie beside the architecture and are XML too.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class ForeignDocument(NamedTuple):
    """What a document is, and what to do with it."""

    kind: str
    hint: str


_CONVERT = "'gcm-deploy convert FILE' writes it as a descriptor of gcm-deploy"

_FOREIGN: Mapping[str, ForeignDocument] = MappingProxyType(
    {
        "GCMApplication": ForeignDocument(
            "a GCM application descriptor",
            f"{_CONVERT}; or write what it maps: <assembly> or <application>, and "
            '<virtual-node name="..." nodes="..."/> for its virtual nodes',
        ),
        "GCMDeployment": ForeignDocument(
            "a GCM deployment descriptor",
            f"{_CONVERT}; or write its hosts, groups and bridges as the <grid> of one: "
            "<site>, <cluster> and <nodes>",
        ),
        "ProActiveDescriptor": ForeignDocument("a deployment descriptor of ProActive", _CONVERT),
        "componentConfiguration": ForeignDocument(
            "a file that lists controllers of a membrane",
            'name it in a definition, <controller desc="...">, and check that: it is read then',
        ),
    }
)


def foreign_document(tag: str) -> ForeignDocument | None:
    """Return what a document with that root element is; None for one that nobody knows.

    >>> foreign_document("gcma:GCMApplication").kind
    'a GCM application descriptor'
    """
    return _FOREIGN.get(local_name(tag))


def local_name(tag: str) -> str:
    """Return the name of an element without its prefix.

    >>> local_name("gcma:GCMApplication"), local_name("grid")
    ('GCMApplication', 'grid')
    """
    return tag.rpartition(":")[2]
