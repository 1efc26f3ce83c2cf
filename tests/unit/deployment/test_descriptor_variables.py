"""Variables of a descriptor: where their values come from, and what can be wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.deployment import render_variables

ONE = '<variable name="v" value="from the file" environment="V"/>'


def argument(read: Any, text: str, used: str, **options: Any) -> str:
    """Return what an argument that is written as `used` becomes."""
    found = read(
        f'<deployment>{text}<emulate/><application script="a.py"><argument value="{used}"/>'
        "</application></deployment>",
        **options,
    )
    arguments: tuple[str, ...] = found.good.applications[0].arguments
    return arguments[0]


def test_a_setting_wins_over_the_environment_and_that_over_the_default(read: Any) -> None:
    assert argument(read, ONE, "${v}") == "from the file"
    assert argument(read, ONE, "${v}", environment={"V": "from outside"}) == "from outside"
    both = argument(read, ONE, "${v}", environment={"V": "x"}, settings={"v": "set"})
    assert both == "set"


def test_an_empty_value_is_a_value(read: Any) -> None:
    assert argument(read, ONE, "[${v}]", environment={"V": ""}) == "[]"


def test_the_descriptor_knows_its_folder_and_its_name(read: Any) -> None:
    assert argument(read, "", "${descriptor.folder}/${descriptor.name}") == "/home/me/grid/test"


def test_any_environment_variable_can_be_used_directly(read: Any) -> None:
    assert argument(read, "", "${env.HOME}/x", environment={"HOME": "/home/me"}) == "/home/me/x"


def test_a_doubled_dollar_stands_for_itself(read: Any) -> None:
    assert argument(read, ONE, "$${v} $v $") == "${v} $v $"


def test_a_default_uses_variables_declared_later(read: Any) -> None:
    text = '<variable name="a" value="${b}${b}"/><variable name="b" value="1"/>'
    assert argument(read, text, "${a}") == "11"


def test_values_from_outside_are_taken_as_they_are(read: Any) -> None:
    assert argument(read, ONE, "${v}", settings={"v": "${v}"}) == "${v}"


def test_it_can_be_shown_where_each_value_came_from(read: Any) -> None:
    text = (
        '<deployment><emulate/><application script="a.py"/>\n<variable name="a" value="1"/>\n'
        '<variable name="b" environment="B"/>\n<variable name="c"/></deployment>'
    )
    found = read(text, environment={"B": "2"}, settings={"c": "3"})
    assert render_variables(found.good.variables) == (
        "descriptor.folder = /home/me/grid  (built in: test.xml)\n"
        "descriptor.name = test  (built in: test.xml)\n"
        "a = 1  (descriptor: test.xml:2)\n"
        "b = 2  (environment: B)\n"
        "c = 3  (--set: --set c)\n"
    )
    assert render_variables(()) == "no variables\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '<variable name="ranks" value="1"/>\n<emulate ranks="${rank}"/>',
            "test.xml:3: error[undefined-variable]: there is no variable 'rank'. "
            "did you mean 'ranks'?",
        ),
        (
            '<emulate ranks="${x}"/>',
            "test.xml:2: error[undefined-variable]: there is no variable 'x'. "
            'declare <variable name="x" value="..."/>',
        ),
        (
            '<emulate ranks="${env.X}"/>',
            "test.xml:2: error[undefined-variable]: the environment variable 'X' is not set. "
            'set it, or declare a <variable environment="X"> with a default value',
        ),
        (
            '<variable name="a"/><emulate ranks="${a}"/>',
            "test.xml:2: error[variable-without-value]: variable 'a' has no value. "
            "give one with --set a=..., or write a default value",
        ),
        (
            '<emulate ranks="${a"/>',
            "test.xml:2: error[unclosed-variable]: '${a' has a '${' without its '}'. "
            "write '$${' for a plain '${'",
        ),
        (
            '<variable name="a" value="${b}"/>\n<variable name="b" value="${a}"/>\n<emulate/>',
            "test.xml:2: error[cyclic-variable]: the value of variable 'a' needs itself; "
            "the variables involved: 'a', 'b'. give one of them a value of its own",
        ),
        (
            '<variable name="a" value="1"/>\n<variable name="a" value="2"/><emulate/>',
            "test.xml:3: error[duplicate-name]: variable 'a' is declared twice. "
            "the first one is at test.xml:2",
        ),
        (
            '<variable name="descriptor.folder" value="1"/><emulate/>',
            "test.xml:2: error[reserved-name]: 'descriptor.folder' cannot be the name of a "
            "variable. names that begin with 'env.' or 'descriptor.' have a meaning of their own, "
            "and names do not use variables",
        ),
        (
            '<variable name="-x" value="1"/><emulate/>',
            'test.xml:2: error[bad-name]: name="-x" of <variable> is not a name. '
            "use letters, digits, '_', '-' and '.', and do not begin with '-' or '.'",
        ),
    ],
)
def test_what_is_wrong_is_said_once(read: Any, text: str, message: str) -> None:
    found = read.body(text)
    assert [str(one) for one in found.found] == [message]
    assert found.deployment is None


def test_a_faulty_variable_is_reported_even_when_nothing_uses_it(read: Any) -> None:
    assert read.body('<variable name="a" value="${b}"/><emulate/>').codes == [
        ("undefined-variable", 2)
    ]


@pytest.mark.parametrize("name", ["rank", "descriptor.folder"])
def test_a_setting_needs_a_declared_variable(read: Any, name: str) -> None:
    found = read.body('<variable name="ranks" value="1"/><emulate/>', settings={name: "2"})
    hint = ". did you mean 'ranks'?" if name == "rank" else ""
    assert [str(one) for one in found.found] == [
        f"test.xml:1: error[unknown-setting]: --set {name}=... sets a variable that the descriptor "
        f"does not declare{hint}"
    ]


def test_a_setting_of_a_code_has_the_value_that_is_given_for_the_code(read: Any) -> None:
    text = (
        '<deployment><variable name="x" value="7"/><emulate/>'
        '<application name="sea" script="a"><setting name="depth" value="${x}"/>'
        '<setting name="note" value=""/></application></deployment>'
    )
    assert read(text).deployment.applications[0].settings == {"depth": "7", "note": ""}
    given = read(text, settings={"sea.depth": "40"}).deployment
    assert given.applications[0].settings == {"depth": "40", "note": ""}
    found = read(text, settings={"sea.dept": "40"})
    assert [str(one) for one in found.found] == [
        "test.xml:1: error[unknown-setting]: --set sea.dept=... sets a variable that the "
        "descriptor does not declare. did you mean 'sea.depth'?"
    ]
