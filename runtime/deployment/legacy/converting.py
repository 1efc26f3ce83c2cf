"""What a conversion reads of old documents, and what it makes: elements of our language.

All reading goes through a `Conversion`, which remembers each element, attribute and text that was
read. What nobody has read has no counterpart, and is a `Loss`, without anybody having to think of
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from gcm.documents import Location, XmlNode, local_name
from gcm.records import dataclass
from runtime.deployment.elements import Element

Load = Callable[[str], XmlNode | None]
"""Returns the root of another file, whose path is relative to the first; None if there is none."""

MOST_SHOWN = 200
"""So many characters of an element are shown where it is lost."""

_VARIABLE = re.compile(r"\$\{([^${}]+)\}")
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that has no counterpart: where it is written, and what becomes of it.

    If it `is_whole`, it stands for the element there with all that is in it.
    """

    location: Location
    what: str
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Converted:
    """A descriptor of ours as text, and what it lacks of the old one."""

    text: str
    losses: tuple[Loss, ...]


class Conversion:
    """One conversion while it goes on.

    Elements are found by `only` and `each`, attributes by `attribute`, texts by `text`: that counts
    as read. `drop` leaves out an element with a reason, `lose` tells of something that was read.
    """

    def __init__(self, root: XmlNode, load: Load) -> None:
        self._load = load
        self._roots = [root]
        self._losses: list[Loss] = []
        self._read: set[int] = set()
        self._attributes: set[tuple[int, str]] = set()
        self._texts: set[int] = set()
        self._values: dict[str, str] = {}

    # --- reading ----------------------------------------------------------------------------------

    def load(self, path: str) -> XmlNode | None:
        """Return the root of another file, whose path may have variables."""
        found = self._load(self._expanded(path))
        if found is not None:
            self._roots.append(found)
        return found

    def read(self, node: XmlNode) -> XmlNode:
        """Return an element, which counts as read."""
        self._read.add(id(node))
        return node

    def only(self, node: XmlNode | None, *path: str) -> XmlNode | None:
        """Return the first element at the end of a path; None where there is none."""
        for tag in path:
            node = next(iter(self.each(node, tag, most=1)), None)
        return node

    def each(self, node: XmlNode | None, *tags: str, most: int | None = None) -> list[XmlNode]:
        """Return the children with one of these tags, at most so many."""
        found = [] if node is None else [one for one in node.children if local(one) in tags]
        return [self.read(one) for one in found[:most]]

    def attribute(self, node: XmlNode | None, name: str) -> str:
        """Return the value of an attribute, "" without it."""
        if node is None:
            return ""
        self._attributes.add((id(node), name))
        return _unescaped(node.attributes.get(name, ""))

    def is_said(self, node: XmlNode, name: str, *usual: str) -> bool:
        """Return whether an attribute has a value that changes nothing; any other one is lost."""
        if node.attributes.get(name, "") not in usual:
            return False
        self._attributes.add((id(node), name))
        return True

    def text(self, node: XmlNode | None) -> str:
        """Return the text of an element, "" without one."""
        if node is None:
            return ""
        self._texts.add(id(node))
        return _unescaped(node.text)

    # --- losses -----------------------------------------------------------------------------------

    def lose(self, node: XmlNode, what: str) -> None:
        """Take note of something that has no counterpart."""
        self._losses.append(Loss(node.location, what))

    def drop(self, node: XmlNode, what: str) -> None:
        """Leave out an element with all that is in it, for a reason."""
        self._losses.append(Loss(node.location, what, is_whole=True))
        self._pass_over(node)

    def losses(self) -> list[Loss]:
        """Return all that was lost, by file and line: what was told, and what nobody has read."""
        unread = [one for root in self._roots for one in self._unread(root)]
        return sorted(
            {*self._losses, *unread},
            key=lambda one: (one.location.file, one.location.line, one.what),
        )

    def _pass_over(self, node: XmlNode) -> None:
        self._read.add(id(node))
        self._texts.add(id(node))
        self._attributes |= {(id(node), name) for name in node.attributes}
        for child in node.children:
            self._pass_over(child)

    def _unread(self, node: XmlNode) -> Iterator[Loss]:
        tag = local(node)
        if id(node) not in self._read:
            inside = " with all that is in it" if node.children else ""
            what = f"{shown(node)}{inside} has no counterpart and is left out"
            yield Loss(node.location, what, is_whole=True)
            return
        for name, value in node.attributes.items():
            if (id(node), name) not in self._attributes and not _is_of_xml_or_java(name, value):
                what = f"<{tag}>: {name}='{value[:MOST_SHOWN]}' has no counterpart and is left out"
                yield Loss(node.location, what)
        if node.text and id(node) not in self._texts:
            what = f"<{tag}>: the text '{node.text[:MOST_SHOWN]}' is left out"
            yield Loss(node.location, what)
        for child in node.children:
            yield from self._unread(child)

    # --- variables --------------------------------------------------------------------------------

    def variables(self, node: XmlNode | None) -> list[Element]:
        """Return the variables of an old descriptor that no earlier one has.

        Their contracts say who may set them.
        """
        found = []
        for one in self.each(node, *_VARIABLES):
            name, value = self.attribute(one, "name"), self.attribute(one, "value")
            if name in self._values:
                if value not in ("", self._values[name]):
                    self.lose(one, f"'{name}' has a value already; '{value}' is left out")
                continue
            self._values[name] = value
            setting = {"name": name, "value": value}
            if local(one).startswith("javaProperty"):
                setting["environment"] = _ENVIRONMENT.get(name, "")
                if not setting["environment"]:
                    self.lose(one, f"the Java property '{name}' is not there; give it with --set")
            elif local(one) == "descriptorVariable":
                self.lose(one, f"'{name}' was fixed by its descriptor; now --set may change it")
            found.append(Element("variable", setting))
        return found

    def _expanded(self, text: str) -> str:
        """Return a text with the variables whose values are known."""
        for _ in range(_DEEPEST):
            found = _VARIABLE.sub(lambda one: self._values.get(one[1]) or one[0], text)
            if found == text or len(found) > MOST_SHOWN * MOST_SHOWN:
                break
            text = found
        return text


class Described:
    """The definitions of a document, by the attribute that names them.

    One that nothing refers to is never read, and so it is lost.
    """

    def __init__(self, conversion: Conversion, nodes: list[XmlNode], name: str = "id") -> None:
        self._conversion = conversion
        self._name = name
        self._nodes: dict[str, XmlNode] = {
            one.attributes[name]: one for one in reversed(nodes) if one.attributes.get(name)
        }

    def __iter__(self) -> Iterator[str]:
        return reversed(self._nodes)

    def find(self, name: str) -> XmlNode | None:
        """Return the definition of that name, which counts as read then."""
        found = self._nodes.get(name)
        if found is not None:
            self._conversion.read(found)
            self._conversion.attribute(found, self._name)
        return found


_VARIABLES = frozenset(
    f"{kind}Variable"
    for kind in ("descriptor", "descriptorDefault", "program", "programDefault", "javaProperty",
                 "javaPropertyDescriptorDefault", "javaPropertyProgramDefault")
) | {"javaPropertyDescriptorDefault", "javaPropertyProgramDefault"}  # fmt: skip
_ENVIRONMENT = {"user.home": "HOME", "user.name": "USER", "user.dir": "PWD"}
"""Java properties that the environment has under another name."""


def local(node: XmlNode) -> str:
    """Return the name of an element without its prefix."""
    return local_name(node.tag)


def transfers(node: XmlNode, conversion: Conversion, where: Mapping[str, str]) -> list[Element]:
    """Return the copies that a `<fileTransfer>` asks for; `where` says in which direction."""
    made = []
    for one in [node, *conversion.each(node, "file", "dir")]:
        source = _first(one, conversion, "source", "src")
        if source:
            destination = _first(one, conversion, "destination", "dest", "dst")
            given = {**where, "source": source, "destination": destination}
            made.append(Element("file-transfer", given))
    return made


def _first(node: XmlNode, conversion: Conversion, *names: str) -> str:
    return next(filter(None, (conversion.attribute(node, name) for name in names)), "")


def _unescaped(value: str) -> str:
    return value.replace("\\${", "${")  # as descriptors are printed in papers


def shown(node: XmlNode) -> str:
    """Return an element as a message shows it, without what is in it."""
    given = "".join(f" {name}='{value}'" for name, value in node.attributes.items())
    text = f">{node.text}</{local(node)}>" if node.text else ">"
    text = f"<{local(node)}{given}{text}"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _is_of_xml_or_java(name: str, value: str) -> bool:
    """Return whether an attribute says what the document, or the class of an element, is."""
    is_class = name == "class" and value.startswith(("org.objectweb.proactive.", "org.ow2."))
    return is_class or name.startswith(("xmlns", "xsi:", "xml:"))
