"""Definitions are found, merged, given their arguments, and their cycles told."""

from __future__ import annotations

from typing import Any

import pytest

from gcm.adl.definitions.resolve import same_definition

Check = Any  # the fixture of conftest, which tests cannot import

WORKER = '<definition name="Worker"><content class="lib.Server"/></definition>'
COUNTING = """
<definition name="Counting" arguments="n,label='a,b'">
  <content class="lib.Server"/>
  <attributes>
    <attribute name="count" value="${n}"/><attribute name="prefix" value="${label}"/>
  </attributes>
</definition>"""


def using(*lines: str, extends: str = "") -> str:
    more = f' extends="{extends}"' if extends else ""
    return "\n".join([f'<definition name="app"{more}>', *lines, "</definition>"])


def test_a_component_is_made_from_a_definition(check: Check) -> None:
    done = check(using('<component name="w" definition="Worker"/>'), Worker=WORKER)
    (worker,) = done.root.components
    assert (worker.name, worker.content.__name__) == ("w", "Server")


def test_arguments_reach_the_attributes(check: Check) -> None:
    done = check(
        using(
            '<component name="a" definition="Counting(7)"/>',
            """<component name="b" definition="Counting(label=>'x', n=>8)"/>""",
        ),
        Counting=COUNTING,
    )
    assert [one.attributes for one in done.root.components] == [
        (("count", 7), ("prefix", "a,b")),
        (("count", 8), ("prefix", "x")),
    ]


def test_a_missing_argument_brings_on_nothing_else(check: Check) -> None:
    text = """
    <definition name="app">
      <component name="c" definition="Counting"/>
      <component name="d" definition="Box"/>
      <component name="e"><content class="lib.Nope"/></component>
    </definition>"""
    box = (
        '<definition name="Box" arguments="who,size">'
        '<component name="${who}" definition="Counting(${size})"/>'
        '<binding client="this.run" server="runner.run"/></definition>'
    )
    done = check(text, Counting=COUNTING, Box=box)
    assert sorted(done.codes) == ["2 missing-argument"] + ["3 missing-argument"] * 2 + [
        "4 missing-class"
    ]
    assert done.plan is None


def test_a_missing_argument_of_the_root_brings_on_nothing_else(check: Check) -> None:
    text = """
    <definition name="app" arguments="n">
      <component name="c" definition="Counting(${n})"/>
    </definition>"""
    assert check(text, Counting=COUNTING).codes == ["1 missing-argument"]
    assert check(text, {"n": "x"}, Counting=COUNTING).only.code == "bad-value"


def test_arguments_of_the_root_are_given_from_outside(check: Check) -> None:
    text = """
    <definition name="app" arguments="n=1">
      <component name="c" definition="Counting(${n},'${n}')"/>
    </definition>"""
    done = check(text, {"n": "3"}, Counting=COUNTING)
    assert done.root.components[0].attributes == (("count", 3), ("prefix", "3"))
    done = check(text, {"m": "3"}, Counting=COUNTING)
    assert (done.only.code, done.only.message) == (
        "unknown-argument",
        "'app' has no argument 'm'",
    )


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("Counting", "missing-argument"),
        ("Counting(1,2,3)", "too-many-arguments"),
        ("Counting(1,label=>2)", "malformed-reference"),
        ("Counting(m=>1,n=>2)", "unknown-argument"),
        ("Counting(n=>1,n=>2)", "duplicate-argument"),
        ("Counting(1", "malformed-reference"),
        ("Counting(1),", "malformed-reference"),
        ("Cuonting(1)", "missing-definition"),
    ],
)
def test_a_wrong_call_gives_one_diagnostic(check: Check, call: str, code: str) -> None:
    done = check(
        using(f'<component name="a" definition="{call}"/>'),
        Counting=COUNTING.replace('value="${n}"', 'value="1${n}"'),
    )
    assert done.codes == [f"2 {code}"]


def test_an_undeclared_argument_is_told_once_however_often_it_is_used(check: Check) -> None:
    worker = WORKER.replace("lib.Server", "lib.${clas}").replace(
        'name="Worker"', 'name="Worker" arguments="class=Server"'
    )
    done = check(
        using(*(f'<component name="w{n}" definition="Worker"/>' for n in range(3))), Worker=worker
    )
    found = [one for one in done.found if one.code == "unknown-argument"]
    assert [(one.message, one.hint) for one in found] == [
        (
            "<content> uses '${clas}', which is no argument of 'Worker'",
            "did you mean 'class'?",
        )
    ]


def test_malformed_parameters_are_told(check: Check) -> None:
    done = check(
        '<definition name="app" arguments="a,a"><content class="lib.Server"/></definition>'
    )
    assert done.codes == ["1 malformed-arguments"]


def test_later_definitions_win_and_the_component_itself_last(check: Check) -> None:
    def counting(name: str, count: int, prefix: str) -> str:
        return (
            f'<definition name="{name}"><content class="lib.Server"/><attributes>'
            f'<attribute name="count" value="{count}"/>'
            f'<attribute name="prefix" value="{prefix}"/></attributes></definition>'
        )

    done = check(
        using(
            '<component name="c" definition="One, Two"><attributes>'
            '<attribute name="prefix" value="own"/></attributes></component>'
        ),
        One=counting("One", 1, "one"),
        Two=counting("Two", 2, "two"),
    )
    assert done.root.components[0].attributes == (("count", 2), ("prefix", "own"))


def test_an_extending_definition_changes_what_its_base_refers_to(check: Check) -> None:
    done = check(
        using('<component name="w" definition="Other"/>', extends="Base"),
        Base='<definition name="Base"><component name="w" definition="Worker"/></definition>',
        Worker=WORKER,
        Other='<definition name="Other"><content class="lib.Loud"/></definition>',
    )
    assert done.root.components[0].content.__name__ == "Loud"
    assert done.root.components[0].component_type.interfaces == ()


def test_a_cycle_of_extends_is_told_with_its_chain(check: Check) -> None:
    done = check(
        '<definition name="app" extends="B"><content class="lib.Server"/></definition>',
        B='<definition name="B" extends="C"/>',
        C='<definition name="C" extends="B"/>',
    )
    assert (done.only.code, done.only.message) == ("extends-cycle", "B extends C extends B")


def test_a_definition_cannot_extend_itself(check: Check) -> None:
    done = check('<definition name="app" extends="app"><content class="lib.Server"/></definition>')
    assert (done.only.code, done.only.message) == ("extends-cycle", "app extends app")


def test_a_definition_cannot_contain_itself(check: Check) -> None:
    done = check(
        using('<component name="b" definition="B"/>'),
        B='<definition name="B"><component name="a" definition="app"/></definition>',
    )
    assert (done.only.code, done.only.message) == (
        "definition-cycle",
        "app contains B contains app",
    )


def test_a_definition_may_contain_itself_with_other_arguments(check: Check) -> None:
    done = check(
        using("""<component name="b" definition="Box('Box(''Worker'')')"/>"""),
        Box='<definition name="Box" arguments="inner">'
        '<component name="i" definition="${inner}"/></definition>',
        Worker=WORKER,
    )
    assert done.codes == []
    assert done.root.components[0].components[0].components[0].path == "/app/b/i/i"


def test_what_is_added_to_a_component_may_use_the_definition_of_the_component(
    check: Check,
) -> None:
    done = check(
        using(
            '<component name="box" definition="Type"><component name="w" definition="Type">'
            '<content class="lib.Loud"/></component></component>'
        ),
        Type='<definition name="Type"/>',
    )
    assert done.codes == []
    assert done.root.components[0].components[0].path == "/app/box/w"


def test_what_is_added_to_a_component_may_not_contain_itself(check: Check) -> None:
    done = check(
        using(
            '<component name="b" definition="Type"><component name="a" definition="app"/>'
            "</component>"
        ),
        Type='<definition name="Type"/>',
    )
    assert (done.only.code, done.only.message) == (
        "definition-cycle",
        "app contains Type contains app",
    )


def test_endless_nesting_is_told(check: Check) -> None:
    done = check(
        using('<component name="b" definition="Box(1)"/>'),
        Box='<definition name="Box" arguments="n">'
        '<component name="i" definition="Box(${n}1)"/></definition>',
    )
    assert [one.code for one in done.found] == ["too-deep"]


def test_a_long_chain_of_extends_is_told(check: Check) -> None:
    chain = {f"D{n}": f'<definition name="D{n}" extends="D{n + 1}"/>' for n in range(100)}
    done = check(using('<content class="lib.Server"/>', extends="D0"), **chain)
    assert [one.code for one in done.found] == ["too-deep"]


def test_a_definition_has_the_name_it_is_loaded_by(check: Check) -> None:
    done = check(
        using('<component name="w" definition="Worker"/>'),
        Worker=WORKER.replace('name="Worker"', 'name="Other"'),
    )
    assert (done.only.code, done.only.location.line) == ("definition-name", 2)
    file = done.only.location.file.replace("app.fractal", "Worker.fractal")
    assert done.only.message == f"'Worker' is looked for in {file}, which holds 'Other'"
    assert done.only.hint == f'write name="Worker" in {file}:1, or rename that file'


def test_another_definition_is_told_once_however_often_it_is_referred_to(check: Check) -> None:
    worker = '<component name="{}" definition="Worker"/>'
    done = check(
        using(worker.format("v"), worker.format("w")),
        Worker=WORKER.replace('name="Worker"', 'name="Other"'),
    )
    assert [one.code for one in done.found] == ["definition-name"]


@pytest.mark.parametrize(
    ("asked", "found", "same"),
    [
        ("A", "A", True),
        ("a.A", "a.A", True),
        ("a.A", "A", True),
        ("A", "a.A", True),
        ("a.A", "b.A", False),
        ("A", "B", False),
    ],
)
def test_short_and_full_names_agree(asked: str, found: str, same: bool) -> None:
    assert same_definition(asked, found) is same


def test_a_missing_definition_brings_on_no_other_fault(check: Check) -> None:
    done = check(
        using(
            '<component name="w" definition="Worke"/>',
            '<component name="c"><content class="lib.Client"/></component>',
            '<binding client="c.greeter" server="w.greeter"/>',
        ),
        Worker=WORKER,
    )
    assert (done.only.code, done.only.hint) == ("missing-definition", "did you mean 'Worker'?")


def test_a_missing_base_brings_on_no_other_fault(check: Check) -> None:
    done = check(
        using('<binding client="c.greeter" server="w.greeter"/>', extends="Nowhere"), Worker=WORKER
    )
    assert done.codes == ["1 missing-definition"]


def test_names_may_not_be_repeated(check: Check) -> None:
    done = check(
        using(
            '<component name="w"><content class="lib.Server"/></component>',
            '<component name="w"><content class="lib.Server"/></component>',
        )
    )
    assert (done.only.code, done.only.location.line) == ("duplicate-name", 3)
    assert done.only.message == "<definition> has two components named 'w'"
    assert "line 2" in done.only.hint


SHARING = """
<definition name="app">
  <component name="a"><component name="s"><content class="lib.Server"/></component></component>
  <component name="b">
    <component name="c"><content class="lib.Client"/></component>
    <component name="s" definition="{}"/>
    <binding client="c.greeter" server="s.greeter"/>
  </component>
</definition>"""


@pytest.mark.parametrize("path", ["a/s", "./a/s", "/app/a/s"])
def test_a_path_shares_a_component(check: Check, path: str) -> None:
    done = check(SHARING.format(path))
    assert done.codes == []
    second = done.root.components[1]
    assert [(one.name, one.target) for one in second.shared] == [("s", "/app/a/s")]
    assert done.plan.count == 5


@pytest.mark.parametrize(
    ("path", "code", "hint"),
    [
        ("a/t", "missing-component", "known: s"),
        ("./aa/s", "missing-component", "did you mean 'a'?"),
        ("/other/a/s", "missing-component", "a path from the root begins with /app/"),
        ("b/s", "shared-cycle", ""),
        ("./b", "shared-cycle", "share it elsewhere"),
        ("/app", "shared-cycle", "share it elsewhere"),
    ],
)
def test_a_path_that_cannot_be_shared_gives_one_diagnostic(
    check: Check, path: str, code: str, hint: str
) -> None:
    done = check(SHARING.format(path).replace('server="s.greeter"', 'server="pyro:x"'))
    assert (done.only.code, done.only.hint, done.only.path) == (code, hint, "/app/b/s")


def test_a_component_may_be_shared_before_it_is_described(check: Check) -> None:
    done = check(
        using(
            '<component name="a"><component name="s" definition="./b/s"/></component>',
            '<component name="b"><component name="s"><content class="lib.Server"/></component>',
            "</component>",
        )
    )
    assert done.codes == []
    assert [(one.name, one.target) for one in done.root.components[0].shared] == [("s", "/app/b/s")]


def test_why_a_component_cannot_be_shared_is_told(check: Check) -> None:
    text = SHARING.replace('server="s.greeter"', 'server="pyro:x"')
    reasons = {
        "/app": "the component would contain itself",
        "/other/a/s": "'other' is not the root",
    }
    for path, reason in reasons.items():
        assert check(text.format(path)).only.message == f"'s' cannot share {path}: {reason}"


def test_a_shared_component_keeps_its_name(check: Check) -> None:
    text = SHARING.format("a/s").replace('name="s" definition', 'name="x" definition')
    done = check(text.replace('server="s.greeter"', 'server="x.greeter"'))
    assert done.codes == ["5 shared-name"]
    assert done.only.message == (
        "'x' cannot share ./../a/s: the component is named 's' and keeps that name"
    )
    assert done.only.hint == 'write name="s", or rename the component where it is made'
    assert done.only.path == "/app/b/x"


def test_a_shared_component_is_changed_only_where_it_is_made(check: Check) -> None:
    text = SHARING.format("a/s").replace(
        'definition="a/s"/>', 'definition="a/s"><logger name="x"/></component>'
    )
    assert check(text).codes == ["5 shared-with-body"]


def test_a_path_is_relative_to_the_definition_it_stands_in(check: Check) -> None:
    inner = SHARING.format("a/s").replace('name="app"', 'name="Inner"')
    done = check(using('<component name="x" definition="Inner"/>'), Inner=inner)
    assert done.codes == []
    assert done.root.components[0].components[1].shared[0].target == "/app/x/a/s"


def test_a_shared_client_is_bound_in_one_of_its_places(check: Check) -> None:
    done = check(
        using(
            '<component name="a"><component name="c"><content class="lib.Client"/></component>',
            "</component>",
            '<component name="s"><content class="lib.Server"/></component>',
            '<component name="c" definition="a/c"/>',
            '<binding client="c.greeter" server="s.greeter"/>',
        )
    )
    assert done.codes == []


def test_two_composites_cannot_share_each_other(check: Check) -> None:
    done = check(
        using(
            '<component name="a"><component name="x" definition="./b"/></component>',
            '<component name="b"><component name="y" definition="./a"/></component>',
        )
    )
    assert [one.code for one in done.found] == ["shared-cycle"]


def test_one_definition_used_ten_thousand_times_is_read_once(check: Check) -> None:
    lines = [f'<component name="w{n}" definition="Counting(7)"/>' for n in range(10_000)]
    done = check(using(*lines), Counting=COUNTING)
    assert done.plan.count == 10_001
    components = done.root.components
    assert components[0].attributes is components[9_999].attributes


def test_one_fault_in_a_definition_used_often_is_told_once(check: Check) -> None:
    lines = [f'<component name="w{n}" definition="Worker"/>' for n in range(50)]
    done = check(using(*lines), Worker=WORKER.replace("lib.Server", "lib.Nope"))
    assert (done.only.code, done.only.path) == ("missing-class", "/app/w0")


def test_deep_documents_are_told_not_recursed_into(check: Check) -> None:
    def nested(depth: int) -> str:
        content = '<content class="lib.Server"/>'
        return '<component name="c">' * depth + content + "</component>" * depth

    assert check(using(nested(62))).codes == []
    assert check(using(nested(63))).codes == ["2 too-deep"]
    done = check(using('<component name="c">' * 100_000))
    assert done.codes == ["2 too-deep"]


def test_the_depth_limit_of_components_is_inclusive(check: Check) -> None:
    def chain(length: int) -> dict[str, str]:
        links = {
            f"D{n}": f'<definition name="D{n}"><component name="c" definition="D{n + 1}"/>'
            "</definition>"
            for n in range(length)
        }
        return {**links, f"D{length}": WORKER.replace("Worker", f"D{length}")}

    app = using('<component name="c" definition="D0"/>')
    assert check(app, **chain(62)).codes == []
    assert check(app, **chain(63)).only.code == "too-deep"


def test_components_nested_through_definitions_count_together(check: Check) -> None:
    def nest(name: str, inner: str) -> str:
        deep = '<component name="c">' * 50 + inner + "</component>" * 50
        return f'<definition name="{name}">{deep}</definition>'

    done = check(
        nest("app", '<component name="d" definition="D"/>'),
        D=nest("D", '<content class="lib.Server"/>'),
    )
    assert [one.code for one in done.found] == ["too-deep"]
