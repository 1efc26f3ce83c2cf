"""What a picture is drawn from: boxes with ports, boxes inside boxes, and links between ports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from gcm.errors import GcmError
from gcm.records import dataclass

THIS = "this"
"""The name by which links refer to the composite that contains them."""

ROLES = ("client", "server", "internal-client", "internal-server")
CARDINALITIES = ("singleton", "collection", "multicast", "gathercast")
KINDS = ("composite", "primitive", "active", "wrapper", "clustering", "controller")
MAX_DEPTH = 200
"""Levels of nesting that are drawn; the same bound as for documents."""


class SceneError(GcmError):
    """A scene that cannot be drawn; `faults` holds everything that is wrong with it."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("the scene cannot be drawn: " + "; ".join(self.faults))


@dataclass(frozen=True, slots=True)
class ScenePort:
    """An interface on the border of a box.

    `role` is one of `ROLES` (an internal interface has no outer face), `cardinality` one of
    `CARDINALITIES`. Plain strings, so that the string enums of the model fit as they are.
    `interceptors` names those that act on its calls, in order.
    """

    name: str
    role: str
    cardinality: str = "singleton"
    optional: bool = False
    control: bool = False
    interceptors: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        """Return the label of the port: its name, and the interceptors of its calls."""
        return f"{self.name} ◆ {', '.join(self.interceptors)}" if self.interceptors else self.name

    @property
    def on_left(self) -> bool:
        """Return whether the port sits on the left border, where calls enter."""
        return self.role in ("server", "internal-client")

    @property
    def is_internal(self) -> bool:
        """Return whether only the inside of the composite sees the port."""
        return self.role.startswith("internal-")

    @property
    def is_control(self) -> bool:
        """Return whether this is a control interface, by its flag or by its name."""
        return self.control or self.name == "component" or self.name.endswith("-controller")


@dataclass(frozen=True, slots=True)
class SceneLink:
    """A binding inside one composite, each end a (component name or "this", interface name).

    `count` is the number of bindings that a folded one stands for.
    """

    client: tuple[str, str]
    server: tuple[str, str]
    count: int = 1


@dataclass(frozen=True, slots=True)
class Box:
    """A component: its ports, its children and the bindings between those.

    `kind` is one of `KINDS`; `note` is a small second line, for example the content class or the
    virtual node; `shared` marks a component that several composites contain. `membrane` is what
    the component has in its membrane, as a box: its ports are the non-functional interfaces.
    `members` are the names of all components that a folded box stands for.
    """

    name: str
    ports: tuple[ScenePort, ...] = ()
    children: tuple[Box, ...] = ()
    links: tuple[SceneLink, ...] = ()
    kind: str = "primitive"
    note: str = ""
    shared: bool = False
    membrane: Box | None = None
    members: tuple[str, ...] = ()

    @property
    def outer_ports(self) -> tuple[ScenePort, ...]:
        """Return the interfaces that are seen from outside, those of the membrane included."""
        return (*self.ports, *(self.membrane.ports if self.membrane else ()))

    @property
    def title(self) -> str:
        """Return the name to show; for a folded box their number and the range of their names."""
        return f"{len(self.members)} × {span_of(self.members)}" if self.members else self.name


@dataclass(frozen=True, slots=True)
class Scene:
    """All that one picture shows.

    >>> greeter = ScenePort("greeter", "server")
    >>> link = SceneLink(("this", "greeter"), ("server", "greeter"))
    >>> app = Box("app", (greeter,), (Box("server", (greeter,)),), (link,), "composite")
    >>> list(faults_of(Scene(app)))
    []
    """

    root: Box


def span_of(names: tuple[str, ...]) -> str:
    """Return several names in short: the first and the last, in the order of their numbers.

    >>> span_of(("rank10", "rank2", "rank0"))
    'rank0 … rank10'
    """
    ordered = sorted(names, key=_by_number)
    return " … ".join(dict.fromkeys((ordered[0], ordered[-1])))


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a key by which `rank2` comes before `rank10`."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]


class PortFinder:
    """Finds the port an interface name means, members of collections included."""

    def __init__(self, ports: Iterable[ScenePort]) -> None:
        self._exact = {port.name: port for port in ports}
        self._collections = tuple(
            port for port in self._exact.values() if port.cardinality == "collection"
        )

    def find(self, name: str) -> ScenePort | None:
        """Return the port called `name`, or the collection that `name` is a member of."""
        if name in self._exact:
            return self._exact[name]
        owners = [port for port in self._collections if name.startswith(port.name)]
        return max(owners, key=lambda port: len(port.name), default=None)


def faults_of(scene: Scene) -> Iterator[str]:
    """Yield a sentence for every fault that keeps the scene from being drawn."""
    waiting = [(scene.root, f"/{scene.root.name}", 1)]
    while waiting:
        box, path, depth = waiting.pop()
        yield from _own_faults(box, path)
        yield from _link_faults(box, path)
        if depth == MAX_DEPTH and box.children:
            yield f"{path} is nested {MAX_DEPTH} levels deep, and still has children"
        else:
            waiting += [
                (child, f"{path}/{child.name}", depth + 1) for child in reversed(box.children)
            ]
        if box.membrane is not None:
            waiting.append((box.membrane, f"the membrane of {path}", depth))


def _own_faults(box: Box, path: str) -> Iterator[str]:
    if box.kind not in KINDS:
        yield f"{path} is of the unknown kind '{box.kind}' (known: {', '.join(KINDS)})"
    for port in box.ports:
        if port.role not in ROLES:
            yield f"{path}.{port.name} has the unknown role '{port.role}'"
        if port.cardinality not in CARDINALITIES:
            yield f"{path}.{port.name} has the unknown cardinality '{port.cardinality}'"
    for name in _repeated(port.name for port in box.outer_ports):
        yield f"{path} has several interfaces called '{name}'"
    for name in _repeated(child.name for child in box.children):
        yield f"{path} has several children called '{name}'"
    if any(child.name == THIS for child in box.children):
        yield f"{path} has a child called '{THIS}', which links use for the composite itself"


def _link_faults(box: Box, path: str) -> Iterator[str]:
    if not box.links:
        return
    finders = {child.name: PortFinder(child.outer_ports) for child in box.children}
    finders[THIS] = PortFinder(box.ports)
    for link in box.links:
        for component, interface in (link.client, link.server):
            if component not in finders:
                yield f"a link in {path} names '{component}', which is not there"
            elif finders[component].find(interface) is None:
                yield f"a link in {path} names '{component}.{interface}', which is not there"


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
