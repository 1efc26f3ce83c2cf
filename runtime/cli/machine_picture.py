"""Draws a machine: sites side by side, their clusters, hosts and ranks, and who dials whom."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from gcm.adl import Outline, outline_of, outline_of_plan
from gcm.cli.output import counted
from gcm.documents import Diagnostics
from gcm.drawing.metrics import text_width
from gcm.drawing.svg import document, rectangle, text
from gcm.records import dataclass
from runtime.deployment import DeployedCluster, DeployedSite, Deployment
from runtime.deployment.planning.spreading import spread_components
from runtime.routing.reach import clusters_by_reachability, ways
from runtime.topology import Node, Reachability

FRAME, GAP, HEADER, ROW, CELL = 28, 16, 30, 22, 26
FRONT_END_TOP = 42
RANKS_TOP = FRONT_END_TOP + ROW + 4
MIDDLE = ROW // 2 - 2
TRUNK, BRANCH = 18, 44
"""Where the network of a site is drawn, and the length of the lines from it to a cluster."""
CELLS = 8
"""Ranks side by side."""
MOST_CELLS = 32
"""More ranks of a host than this become one cell with the first and the last number."""
MOST_HOSTS = 8
"""More hosts than this with as many ranks each become one line."""
MOST_CLUSTERS = 6
"""More clusters of a site than this that are alike become one."""
MOST_BINDINGS = 40
"""More bindings between nodes than this are counted."""
SITES = 4
"""Sites side by side."""

_REACHED = {
    Reachability.DIRECT: "all can be reached",
    Reachability.FRONT_END: "only the front-end can be reached",
    Reachability.OUTWARDS: "only connects outwards",
    Reachability.ISOLATED: "connects to nobody",
}


@dataclass(frozen=True, slots=True)
class Hosts:
    """A line of a cluster: a host, or several that have equally many ranks.

    `first` is the number in COMM_WORLD of the first one, which has `world` ranks if replicas make
    them fewer than processes.
    """

    names: tuple[str, ...]
    first: int
    ranks: int
    world: int = 0
    labels: tuple[str, ...] = ()
    """What lives there, or may: components, or the virtual nodes of a spare node."""

    @property
    def label(self) -> str:
        """The name, or the first and the last one and how many there are."""
        if len(self.names) == 1:
            return self.names[0]
        return f"{len(self.names)} hosts {self.names[0]} … {self.names[-1]}"

    def cells(self) -> list[str]:
        """Return the texts of the cells: virtual nodes, the number of each rank or their range."""
        return [*self.labels, *self._numbers()]

    def _numbers(self) -> list[str]:
        every = range(self.first, self.first + self.ranks * len(self.names))
        numbers = [number % (self.world or len(every) + number) for number in every]
        if len(self.names) > 1 or self.ranks > MOST_CELLS:
            each = f", {self.ranks} each" if len(self.names) > 1 else ""
            return [f"{numbers[0]} … {numbers[-1]}{each}"] if self.ranks else []
        return list(map(str, numbers))


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of the picture with its size, drawn at its own origin."""

    width: int
    height: int
    lines: tuple[str, ...]

    def at(self, x: int, y: int) -> list[str]:
        """Return its lines, moved to a place."""
        return [f'<g transform="translate({x} {y})">', *self.lines, "</g>"]


def machine_picture(deployment: Deployment) -> str:
    """Return the picture of the machine of a deployment as an SVG document.

    Of an assembly it has the components on their nodes, and the bindings between nodes.
    """
    grid = deployment.grid()
    outline = _outline(deployment)
    where = {} if outline is None else spread_components(outline, deployment)
    drawn = _Drawn(deployment, _on_nodes(outline, where))
    sites = [_site(drawn, number) for number in range(len(deployment.sites))]
    lines = [text("heading", FRAME, FRAME + 17, deployment.name)]
    clusters = counted(len(list(deployment.clusters())), "cluster")
    nodes = counted(sum(len(one.nodes) for one in deployment.clusters()), "node")
    held = counted(grid.size, "rank")
    if deployment.assembly is not None:
        held = f"{held} and {nodes}" if grid.size else nodes
    counts = f"{held} on {clusters} of {counted(len(sites), 'site')}"
    lines.append(text("note", FRAME, FRAME + 34, counts))
    width, y = 420, FRAME + 34 + GAP
    for row in range(0, len(sites), SITES):
        x = FRAME
        beside = sites[row : row + SITES]
        tallest = max(site.height for site in beside)
        lines.append(_line("wire0", f"M{FRAME + TRUNK} {y}H{_last_trunk(beside)}"))
        for site in beside:
            lines.append(_line("wire0", f"M{x + TRUNK} {y}v{GAP}"))
            lines += site.at(x, y + GAP)
            x += site.width + GAP
        width = max(width, x - GAP + FRAME)
        y += GAP + tallest + GAP
    # where all clusters can be reached alike, a table of one cell says nothing
    tables = [_table(deployment)] if len(clusters_by_reachability(grid)) > 1 else []
    bindings = [] if outline is None else _between_nodes(outline, where)
    if bindings:
        tables.append(_bindings(bindings))
    for panel in (*tables, _key(has_components=deployment.assembly is not None)):
        lines += panel.at(FRAME, y)
        width = max(width, panel.width + 2 * FRAME)
        y += panel.height + GAP
    return document(
        lines,
        width=width,
        height=y,
        title=deployment.name,
        description=f"The machine {deployment.name}: {counts}.",
    )


def hosts_of(nodes: Sequence[Node], first: int = 0, world: int = 0) -> Iterator[Hosts]:
    """Yield the lines of a cluster: its hosts, those that are many and alike in one line.

    The number of its first rank is `first`.
    """
    for ranks, alike in groupby(nodes, key=lambda node: node.ranks):
        names = [node.host for node in alike]
        if len(names) > MOST_HOSTS:
            yield Hosts(tuple(names), first, ranks, world)
            first += ranks * len(names)
            continue
        for name in names:
            yield Hosts((name,), first, ranks, world)
            first += ranks


def _outline(deployment: Deployment) -> Outline | None:
    """Return the outline of the assembly, without running its modules."""
    assembly = deployment.assembly
    if assembly is None:
        return None
    if assembly.plan is not None:
        return outline_of_plan(assembly.plan.root)
    return outline_of(assembly.file, arguments=assembly.arguments, diagnostics=Diagnostics())


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A deployment, and the components on each node by its `site/cluster/node`."""

    deployment: Deployment
    components: Mapping[str, Sequence[str]]


def _on_nodes(outline: Outline | None, where: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the primitives on each node: a composite lives where the first of its parts does."""
    found: dict[str, list[str]] = {}
    for one in () if outline is None else outline.every():
        if one.path in where and not one.components:
            found.setdefault(where[one.path], []).append(_within(one.path))
    return found


def _within(path: str) -> str:
    """Return the path of a component, or of its interface, below the root of the assembly."""
    return path.removeprefix("/").partition("/")[2] or path.removeprefix("/")


def _between_nodes(outline: Outline, where: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the bindings that lead from node to node, and between which nodes."""
    found = []
    for one in outline.every():
        for ends in one.bindings:
            places = [where.get(end.rpartition(".")[0], "") for end in ends]
            if all(places) and places[0] != places[1]:
                found.append((" → ".join(map(_within, ends)), " → ".join(places)))
    return found


def _bindings(bindings: Sequence[tuple[str, str]]) -> Panel:
    """Return the list of the bindings between nodes."""
    shown = list(bindings[:MOST_BINDINGS])
    if len(bindings) > len(shown):
        shown.append((f"and {len(bindings) - len(shown)} more", ""))
    room = max(text_width(words, 11) for words, _ in shown) + 2 * GAP
    lines = [text("name", 0, 14, "Bindings between nodes")]
    y = 14
    for words, places in shown:
        y += ROW
        lines.append(text("label", 0, y, words))
        lines.append(text("key", room, y, places))
    return Panel(room + max(text_width(places, 11) for _, places in shown), y + 6, tuple(lines))


def _nodes_of(drawn: _Drawn, cluster: DeployedCluster, first: int) -> Iterator[Hosts]:
    """Yield a line for each node, by the name that an assembly is placed by."""
    mapped = {
        one.name: {drawn.deployment.path_of(node) for node in one.nodes}
        for one in drawn.deployment.virtual_nodes
    }
    for node in cluster.nodes:
        path = f"{cluster.path}/{node.name}"
        name = node.name if node.name == node.host else f"{node.name} ({node.host})"
        spare = (f"free for {one}" for one, paths in mapped.items() if path in paths)
        here = tuple(drawn.components.get(path) or spare)
        yield Hosts((name,), first, node.ranks, labels=here)
        first += node.ranks


def _last_trunk(sites: Sequence[Panel]) -> int:
    return FRAME + TRUNK + sum(site.width + GAP for site in sites[:-1])


def _site(drawn: _Drawn, number: int) -> Panel:
    site = drawn.deployment.sites[number]
    groups = list(_groups(site))
    inner = max((_cluster(drawn, group, 0).width for group in groups), default=0)
    panels = [_cluster(drawn, group, inner) for group in groups]
    width = max(TRUNK + BRANCH + inner + GAP, text_width(site.name, 13, bold=True) + 4 * GAP)
    lines: list[str] = []
    y = HEADER
    for panel in panels:
        lines += panel.at(TRUNK + BRANCH, y)
        y += panel.height + GAP
    lowest = y - GAP - panels[-1].height + RANKS_TOP + MIDDLE if panels else 0
    trunk = _line("wire0", f"M{TRUNK} 0V{lowest}")
    border = rectangle("box composite even", width, y, 10)
    return Panel(width, y, (border, trunk, text("name", TRUNK + 10, 20, site.name), *lines))


def _groups(site: DeployedSite) -> Iterator[list[DeployedCluster]]:
    """Yield the clusters of a site, grouped if many are alike."""

    def looks(cluster: DeployedCluster) -> tuple[object, ...]:
        leads = cluster.position[1] == site.leader
        return leads, cluster.reachability, tuple(node.ranks for node in cluster.nodes)

    for _, alike in groupby(site.clusters, key=looks):
        group = list(alike)
        yield from [group] if len(group) > MOST_CLUSTERS else [[one] for one in group]


def _cluster(drawn: _Drawn, group: list[DeployedCluster], least_width: int) -> Panel:
    """Draw a cluster, or the first one of several that are alike."""
    cluster, deployment = group[0], drawn.deployment
    table = deployment.replica_table
    first = deployment.rank_names().number(f"{cluster.identifier}:0") or 0
    hosts = (
        list(hosts_of(cluster.nodes, first, table.ranks if table else 0))
        if deployment.assembly is None
        else [*_nodes_of(drawn, cluster, first)]
    )
    name = f"{cluster.identifier} {cluster.name}"
    if len(group) > 1:
        name = f"{len(group)} × {name} … {group[-1].identifier} {group[-1].name}"
    note = _way_in(cluster)
    front_end = _front_end(deployment, cluster)
    names = max((text_width(one.label, 11) for one in hosts), default=0) + GAP
    rows = [(one, _in_rows(one.cells())) for one in hosts]
    width = max(
        least_width,
        names + max((_row_width(row) for _, some in rows for row in some), default=0) + 2 * GAP,
        text_width(name, 13, bold=True) + 2 * GAP,
        text_width(note, 10) + 2 * GAP,
        text_width(front_end, 11) + 3 * GAP,
    )
    lines = [text("name", 12, 19, name), text("note", 12, 33, note)]
    lines.append(rectangle("box clustering", width - 20, ROW - 4, 5, x=10, y=FRONT_END_TOP))
    lines.append(text("label", 18, FRONT_END_TOP + 13, front_end))
    lines.append(_branch(cluster, FRONT_END_TOP + MIDDLE, to_front_end=True))
    lines.append(_branch(cluster, RANKS_TOP + MIDDLE, to_front_end=False))
    y = RANKS_TOP
    for one, some in rows:
        lines.append(text("label", 12, y + 13, one.label))
        for row in some or [[]]:
            lines += _cells(row, 12 + names, y)
            y += ROW
        y += 2
    border = rectangle("box composite odd", width, y + 8, 8)
    behind = rectangle("box composite odd", width, y + 8, 8, x=4, y=-4) if len(group) > 1 else ""
    return Panel(width, y + 8, (behind, border, *lines))


def _cells(row: Iterable[str], x: int, y: int) -> Iterator[str]:
    for cell in row:
        room = _cell_width(cell)
        yield rectangle("box wrapper", room - 2, ROW - 4, 3, x=x, y=y)
        yield text("label", x + room // 2 - 1, y + 13, cell, "middle")
        x += room


def _way_in(cluster: DeployedCluster) -> str:
    """Return how the launcher reaches a cluster, and who else can reach what."""
    return f"{cluster.way.replace('->', '→')}; {_REACHED[cluster.reachability]}"


def _front_end(deployment: Deployment, cluster: DeployedCluster) -> str:
    site, number = cluster.position
    if deployment.sites[site].leader != number:
        return "front-end"
    return f"front-end, also of the site{' and the grid' if deployment.leader == site else ''}"


def _in_rows(cells: list[str]) -> list[list[str]]:
    """Break the cells of a host into rows of about equal length."""
    length = math.ceil(len(cells) / max(1, math.ceil(len(cells) / CELLS))) or 1
    return [cells[start : start + length] for start in range(0, len(cells), length)]


def _cell_width(cell: str) -> int:
    return max(CELL, text_width(cell, 11) + 8)


def _row_width(cells: Iterable[str]) -> int:
    return sum(map(_cell_width, cells))


def _branch(cluster: DeployedCluster, y: int, *, to_front_end: bool) -> str:
    """Return the line from the network to a front-end or ranks: heads where it can be dialled."""
    kind = cluster.reachability
    inwards = kind is Reachability.DIRECT or (to_front_end and kind is Reachability.FRONT_END)
    is_open = kind is not Reachability.ISOLATED
    outwards = is_open and (to_front_end or kind is not Reachability.FRONT_END)
    length = BRANCH + (10 if to_front_end else 0)
    return _arrow(-BRANCH, y, length, inwards=inwards, outwards=outwards)


def _arrow(x: int, y: int, length: int, *, inwards: bool, outwards: bool) -> str:
    """Return a line with a head at each end that can be dialled, and a bar where it cannot."""
    style = "port client" if inwards or outwards else "port control optional"
    start, end = x + 6, x + length
    marks = _line(style, f"M{start} {y}H{end}")
    for there, tip, back in ((inwards, end, -6), (outwards, start, 6)):
        if there:
            marks += _line("port client", f"M{tip + back} {y - 4}L{tip} {y}L{tip + back} {y + 4}")
        else:
            marks += _line("port server", f"M{tip + back // 2} {y - 6}V{y + 6}")
    return marks


def _line(style: str, path: str) -> str:
    classes = style if style.startswith("port") else f"wire {style}"
    return f'<path class="{classes}" d="{path}"/>'


def _table(deployment: Deployment) -> Panel:
    """Return the table of who opens the connections, for each two kinds of clusters."""
    grid = deployment.grid()
    kinds = clusters_by_reachability(grid)
    heads = {kind: f"{kind}: {_span(where)}" for kind, where in kinds.items()}
    found = {(way.source, way.target): way.words or "native MPI only" for way in ways(grid)}
    texts = [*heads.values(), *found.values()]
    room = max((text_width(words, 11) for words in texts), default=0) + 2 * GAP
    lines = [text("name", 0, 14, "Who opens connections (→ dials, ← is dialled)")]
    y = 14 + ROW
    for place, kind in enumerate(kinds, 1):
        lines.append(text("label", place * room, y, f"to {heads[kind]}"))
    for source in kinds:
        y += ROW
        lines.append(text("label", 0, y, f"from {heads[source]}"))
        for place, target in enumerate(kinds, 1):
            lines.append(text("key", place * room, y, found[source, target]))
    return Panel(room * (len(kinds) + 1), y + 6, tuple(lines))


def _span(where: list[tuple[int, int]]) -> str:
    names = [f"{site}:{number}" for site, number in where]
    if len(names) <= 3:
        return ", ".join(names)
    return f"{len(names)} clusters {names[0]} … {names[-1]}"


def _key(*, has_components: bool) -> Panel:
    """Return the legend of lines and boxes."""
    lines: list[str] = []
    x = 0
    for words, inwards, outwards in (
        ("both ways", True, True),
        ("only outwards", False, True),
        ("closed", False, False),
    ):
        lines.append(_arrow(x, 8, 40, inwards=inwards, outwards=outwards))
        lines.append(text("key", x + 48, 12, words))
        x += 48 + text_width(words, 11) + GAP
    for style, words in (
        ("clustering", "front-end"),
        (
            "wrapper",
            "component, or rank by its number in COMM_WORLD"
            if has_components
            else "rank, by its number in COMM_WORLD",
        ),
    ):
        lines.append(rectangle(f"box {style}", 18, 13, 3, x=x, y=1))
        lines.append(text("key", x + 24, 12, words))
        x += 24 + text_width(words, 11) + GAP
    return Panel(x, 20, tuple(lines))
