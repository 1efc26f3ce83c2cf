"""What a conversion makes: elements of our language, and what has no counterpart in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from gcm.documents import Location, XmlNode
from gcm.records import dataclass
from runtime.deployment.elements import Element

Load = Callable[[str], XmlNode | None]
"""Returns the root of another file, whose path is relative to the first; None if there is none."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that has no counterpart: where it is written, and what becomes of it."""

    location: Location
    what: str


@dataclass(frozen=True, slots=True)
class Converted:
    """A descriptor of ours as text, and what it lacks of the old one."""

    text: str
    losses: tuple[Loss, ...]


@dataclass(slots=True)
class Conversion:
    """One conversion while it goes on."""

    load: Load
    losses: list[Loss] = field(default_factory=list)

    def lose(self, node: XmlNode, what: str) -> None:
        """Take note of something that has no counterpart."""
        self.losses.append(Loss(node.location, what))

    def lose_others(self, node: XmlNode, known: Iterable[str]) -> None:
        """Take note of all children that are not among the known ones."""
        names = frozenset(known)
        for child in node.children:
            if child.tag not in names:
                self.lose(child, f"<{child.tag}> has no counterpart and is left out")

    def variables(self, node: XmlNode | None) -> list[Element]:
        """Return the variables of an old descriptor; their contracts say who may set them."""
        found = []
        for one in () if node is None else node.children:
            name, value = one.attributes.get("name", ""), one.attributes.get("value", "")
            if one.tag not in _VARIABLES:
                self.lose(one, f"<{one.tag}> has no counterpart and is left out")
                continue
            setting = {"name": name, "value": value}
            if one.tag.startswith("javaProperty"):
                setting["environment"] = _ENVIRONMENT.get(name, "")
                if not setting["environment"]:
                    self.lose(one, f"the Java property '{name}' is not there; give it with --set")
            elif one.tag == "descriptorVariable":
                self.lose(one, f"'{name}' was fixed by its descriptor; now --set may change it")
            found.append(Element("variable", setting))
        return found


_VARIABLES = frozenset(
    f"{kind}Variable"
    for kind in ("descriptor", "descriptorDefault", "program", "programDefault", "javaProperty",
                 "javaPropertyDescriptorDefault", "javaPropertyProgramDefault")
)  # fmt: skip
_ENVIRONMENT = {"user.home": "HOME", "user.name": "USER", "user.dir": "PWD"}
"""Java properties that the environment has under another name."""


def local(node: XmlNode) -> str:
    """Return the name of an element without its prefix."""
    return node.tag.rpartition(":")[2]


def only(node: XmlNode | None, *path: str) -> XmlNode | None:
    """Return the first element at the end of a path; None where there is none."""
    for tag in path:
        found = () if node is None else node.children
        node = next((one for one in found if local(one) == tag), None)
    return node


def each(node: XmlNode | None, tag: str) -> list[XmlNode]:
    """Return the children with a tag."""
    return [] if node is None else [one for one in node.children if local(one) == tag]
