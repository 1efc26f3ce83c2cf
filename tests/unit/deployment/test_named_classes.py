"""Controllers and interceptors in a descriptor: where they count, and what is wrong with them."""

from __future__ import annotations

from typing import Any

PLANS = '<controller role="plan-choice" class="plans.Chain"/>'
COUNT = '<interceptor class="count.Count"/>'
TWO_CLUSTERS = "<cluster/><cluster/>"


def test_a_class_belongs_to_the_part_of_the_machine_in_which_it_is_named(read: Any) -> None:
    found = read.body(
        f"<grid>{PLANS}{COUNT}<site>{TWO_CLUSTERS}</site>\n"
        f'<site>{PLANS}<cluster/><cluster><interceptor class="a.B" between="sites"/></cluster>'
        "</site></grid>"
    ).good
    assert [
        (one.role, one.name, one.scope, one.between, one.location.line)
        for one in found.named_classes
    ] == [
        ("plan-choice", "plans.Chain", (), "", 2),
        ("interceptor", "count.Count", (), "clusters", 2),
        ("plan-choice", "plans.Chain", (1,), "", 3),
        ("interceptor", "a.B", (1, 1), "sites", 3),
    ]


def test_an_emulated_grid_names_classes_too(read: Any) -> None:
    found = read.body(f'<emulate sites="2">{PLANS}</emulate>')
    assert not found.found
    assert [one.scope for one in found.good.named_classes] == [()]


def test_a_cluster_has_no_choice_of_plans(read: Any) -> None:
    found = read.body(f"<grid><site><cluster>{PLANS}</cluster><cluster/></site></grid>")
    assert found.codes == [("controller-level", 2)]


def test_what_has_nobody_to_speak_to_has_no_effect(read: Any) -> None:
    found = read.body(
        f"<grid>{PLANS}\n<site>{COUNT}<cluster/></site></grid>",
    )
    assert found.codes == [("named-for-nothing", 2), ("named-for-nothing", 3)]
    found = read.body(
        f"<grid><site><cluster/></site>\n<site>{PLANS}{COUNT}<cluster/></site></grid>"
    )
    assert found.codes == [("named-for-nothing", 3)]
    found = read.body(
        f'<grid>{COUNT}\n<interceptor class="a.B" between="sites"/>'
        f"<site>{TWO_CLUSTERS}</site></grid>"
    )
    assert found.codes == [("named-for-nothing", 3)]


def test_the_ranks_of_one_cluster_may_have_a_tensioning_controller_of_their_own(read: Any) -> None:
    named = '<controller role="tensioning" class="a.B"/>'
    found = read.body(f"<grid><site><cluster>{named}</cluster><cluster/></site></grid>")
    assert not found.found
    assert [one.scope for one in found.good.named_classes] == [(0, 0)]


def test_a_program_whose_world_is_its_cluster_is_not_concerned(read: Any) -> None:
    text = (
        '<deployment><application script="a.py" comm-world="cluster"/>\n'
        f'<emulate sites="2">{COUNT}</emulate></deployment>'
    )
    found = read(text, named_classes=lambda *_: ["never asked"])
    assert found.codes == [("named-for-nothing", 2)]


def test_each_class_that_cannot_be_used_is_reported_where_it_is_named(read: Any) -> None:
    asked = []

    def look(search: str, wanted: Any) -> list[str]:
        asked.append((search, wanted))
        return ["there is no module 'plans'", "", "it is not a class, but 5"]

    found = read.body(
        f'<emulate sites="2">{PLANS}\n{COUNT}\n<interceptor class="a.B"/></emulate>',
        named_classes=look,
    )
    wanted = (
        ("plan-choice", "plans.Chain"), ("interceptor", "count.Count"), ("interceptor", "a.B"),
    )  # fmt: skip
    assert asked == [("/home/me/grid", wanted)]
    assert found.codes == [("bad-class", 2), ("bad-class", 4)]
    assert "plan-choice 'plans.Chain' cannot be used: there is no module 'plans'" in str(
        found.found[0]
    )


LAUNCHER = '<launcher class="boxes.Box" arguments="-u \'two words\'" host="node7"/>'


def test_a_cluster_behind_a_launcher_is_on_the_machine_that_it_leads_to(read: Any) -> None:
    found = read.body(f"<grid><site><cluster>{LAUNCHER}</cluster><cluster/></site></grid>").good
    there, here = found.clusters()
    assert there.launcher.arguments == ("-u", "two words")
    assert (there.is_local, there.host, there.front_end.address) == (False, "node7", "node7")
    assert there.way == "through boxes.Box -u two words"
    assert here.is_local
    assert here.reachability == "outwards"


def test_a_cluster_has_one_way_to_it(read: Any) -> None:
    for site, cluster in (("", '<ssh host="x"/>'), ('<ssh host="x"/>', "")):
        found = read.body(
            f"<grid><site>{site}<cluster>{cluster}\n{LAUNCHER}</cluster></site></grid>"
        )
        assert found.codes == [("two-ways", 3)]


def test_a_launcher_that_cannot_be_used_is_reported_where_it_is_named(read: Any) -> None:
    found = read.body(
        f"<grid><site><cluster>\n{LAUNCHER}</cluster></site></grid>",
        named_classes=lambda *_: ["there is no module 'boxes'"],
    )
    assert found.codes == [("bad-class", 3)]
