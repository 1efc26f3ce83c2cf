"""Components that are alike become one box, and only those."""

from __future__ import annotations

from gcm.drawing import Box, Scene, SceneLink, ScenePort, draw
from gcm.drawing.folding import folded
from gcm.drawing.scene import span_of

WORK = ScenePort("work", "server")
MAIN = Box(
    "main",
    (ScenePort("workers", "client", "multicast"), ScenePort("spare", "client", "collection")),
)


def farm(*workers: Box, links: tuple[SceneLink, ...] = ()) -> Box:
    return Box("farm", (), (MAIN, *workers), links, "composite")


def bound(*names: str) -> tuple[SceneLink, ...]:
    return tuple(SceneLink(("main", "workers"), (name, "work")) for name in names)


def workers(count: int) -> tuple[Box, ...]:
    return tuple(Box(f"worker{number}", (WORK,)) for number in range(count))


def test_alike_components_become_one_with_their_number_and_the_range_of_their_names() -> None:
    names = tuple(worker.name for worker in workers(12))
    found = folded(farm(*workers(12), links=bound(*names)))
    assert [child.title for child in found.children] == ["main", "12 × worker0 … worker11"]
    assert found.children[1].members == names
    assert found.links == (SceneLink(("main", "workers"), ("worker0", "work"), 12),)


def test_two_are_drawn_as_two() -> None:
    root = farm(*workers(2), links=bound("worker0", "worker1"))
    assert folded(root) == root


def test_members_of_a_collection_count_as_bound_alike() -> None:
    links = tuple(
        SceneLink(("main", f"spare{number}"), (f"worker{number}", "work")) for number in range(4)
    )
    found = folded(farm(*workers(4), links=links))
    assert found.links == (SceneLink(("main", "spare"), ("worker0", "work"), 4),)


def test_components_that_are_bound_differently_stay_apart() -> None:
    found = folded(farm(*workers(7), links=bound("worker0", "worker1", "worker2", "worker6")))
    assert [child.title for child in found.children] == [
        "main",
        "4 × worker0 … worker6",
        "3 × worker3 … worker5",
    ]


def test_components_with_another_class_stay_apart() -> None:
    odd = Box("odd", (WORK,), note="demo.Odd")
    found = folded(farm(*workers(3), odd))
    assert [child.name for child in found.children] == ["main", "worker0", "odd"]


def test_a_few_components_that_are_bound_to_each_other_stay_apart() -> None:
    ring = tuple(Box(f"r{n}", (WORK, ScenePort("next", "client"))) for n in range(4))
    links = tuple(SceneLink((f"r{n}", "next"), (f"r{(n + 1) % 4}", "work")) for n in range(4))
    assert len(folded(farm(*ring, links=links)).children) == 5


def in_a_row(count: int, *, closed: bool) -> Box:
    nodes = tuple(Box(f"r{n}", (WORK, ScenePort("next", "client"))) for n in range(count))
    links = tuple(
        SceneLink((f"r{n}", "next"), (f"r{(n + 1) % count}", "work"))
        for n in range(count if closed else count - 1)
    )
    return Box("row", (), nodes, links, "composite")


def test_a_ring_of_many_becomes_one_that_is_bound_to_itself() -> None:
    found = folded(in_a_row(192, closed=True))
    assert [child.title for child in found.children] == ["192 × r0 … r191"]
    assert found.links == (SceneLink(("r0", "next"), ("r0", "work"), 192),)
    assert "(192 bindings)" in draw(Scene(in_a_row(192, closed=True)))


def test_a_line_of_many_keeps_its_two_ends() -> None:
    found = folded(in_a_row(192, closed=False))
    assert [child.title for child in found.children] == ["r0", "190 × r1 … r190", "r191"]
    assert {link.count for link in found.links} == {1, 189}


def test_many_pairs_become_one_pair() -> None:
    clients = tuple(Box(f"c{n}", (ScenePort("work", "client"),)) for n in range(12))
    links = tuple(SceneLink((f"c{n}", "work"), (f"worker{n}", "work")) for n in range(12))
    found = folded(Box("pairs", (), (*clients, *workers(12)), links, "composite"))
    assert [child.title for child in found.children] == ["12 × c0 … c11", "12 × worker0 … worker11"]
    assert found.links == (SceneLink(("c0", "work"), ("worker0", "work"), 12),)


def test_many_that_are_bound_to_two_that_are_drawn_apart_stay_apart() -> None:
    logs = Box("log0", (WORK,)), Box("log1", (WORK,))
    clients = tuple(Box(f"c{n}", (ScenePort("work", "client"),)) for n in range(24))
    links = tuple(SceneLink((f"c{n}", "work"), (f"log{n % 2}", "work")) for n in range(24))
    found = folded(Box("logged", (), (*logs, *clients), links, "composite"))
    titles = [child.title for child in found.children]
    assert titles == ["log0", "log1", "12 × c0 … c22", "12 × c1 … c23"]


def test_composites_are_folded_after_what_is_in_them() -> None:
    clusters = tuple(Box(f"cluster{n}", (), workers(192), (), "composite") for n in (10, 2, 1))
    (cluster,) = folded(Box("grid", (), clusters, (), "composite")).children
    assert cluster.title == "3 × cluster1 … cluster10"
    assert [child.title for child in cluster.children] == ["192 × worker0 … worker191"]


def test_many_links_between_two_folded_groups_become_one() -> None:
    clients = tuple(Box(f"c{n}", (ScenePort("work", "client", "multicast"),)) for n in range(3))
    links = tuple(
        SceneLink((f"c{c}", "work"), (f"worker{w}", "work")) for c in range(3) for w in range(5)
    )
    found = folded(farm(*clients, *workers(5), links=links))
    assert found.links == (SceneLink(("c0", "work"), ("worker0", "work"), 15),)


def test_what_is_in_a_membrane_is_folded_too() -> None:
    membrane = Box("membrane", (), workers(5), (), "composite")
    found = folded(Box("guarded", membrane=membrane)).membrane
    assert found is not None
    assert [part.title for part in found.children] == ["5 × worker0 … worker4"]


def test_a_range_of_names_follows_their_numbers() -> None:
    assert span_of(("r10", "r9", "r2")) == "r2 … r10"
    assert span_of(("ben", "ada", "eve")) == "ada … eve"


def test_a_picture_tells_what_it_folds_and_draws_all_where_that_is_asked_for() -> None:
    root = farm(*workers(12), links=bound(*(worker.name for worker in workers(12))))
    picture = draw(Scene(root))
    assert "12 × worker0 … worker11" in picture
    assert "(12 bindings)" in picture
    assert "14 components on 2 levels, 12 bindings" in picture
    assert draw(Scene(root), fold=False).count('class="wire') == 12


def test_a_picture_of_many_alike_is_small() -> None:
    large = Box("cluster", (), workers(5000), (), "composite")
    assert len(draw(Scene(large))) < 6000
