"""Routes: the longest prefix decides, and what was lost is remembered."""

from __future__ import annotations

from runtime.hosting.routes import Routes


def table(**ways: str) -> Routes[str]:
    routes: Routes[str] = Routes()
    for way, prefix in ways.items():
        routes.add(prefix, way)
    return routes


def test_the_longest_prefix_of_whole_names_decides() -> None:
    routes = table(top="/", a="/a", ab="/a/b")
    found = {path: routes.find(path) for path in ("/", "/x", "/a", "/a/b", "/a/b/c", "/a/bc")}
    assert found == {
        "/": "top", "/x": "top", "/a": "a", "/a/b": "ab", "/a/b/c": "ab", "/a/bc": "a",
    }  # fmt: skip


def test_nothing_leads_to_what_no_prefix_fits() -> None:
    routes = table(a="/a")
    assert routes.find("/b") is None
    assert routes.why_lost("/b") == ""


def test_a_prefix_can_be_led_elsewhere_and_dropped() -> None:
    routes = table(top="/", a="/a")
    routes.add("/a/", "other")
    assert routes.find("/a/b") == "other"
    routes.drop("/a")
    assert routes.find("/a/b") == "top"
    routes.drop("/never/there")
    assert routes.why_lost("/a") == ""


def test_what_is_lost_is_not_led_another_way_but_says_why() -> None:
    routes = table(top="/")
    way = "to a"
    routes.add("/a", way)
    routes.add("/b/c", way)
    routes.remove(way, "it died")
    assert routes.find("/a/x") is None
    assert routes.find("/b/c") is None
    assert routes.find("/b") == "top"
    assert routes.why_lost("/a/x") == "it died"
    assert routes.why_lost("/b") == ""


def test_a_new_way_replaces_a_lost_one() -> None:
    routes = table(a="/a")
    routes.remove("a", "it died")
    routes.add("/a", "again")
    assert routes.find("/a/b") == "again"
    assert routes.why_lost("/a/b") == ""


def test_a_more_exact_way_counts_in_spite_of_a_lost_one() -> None:
    routes = table(a="/a", ab="/a/b")
    routes.remove("a", "it died")
    assert routes.find("/a/b/c") == "ab"
    assert routes.find("/a/c") is None
