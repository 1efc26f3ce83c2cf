"""Arguments of definitions: reading, binding and substituting them, also for any text."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.adl.definitions.arguments import (
    ArgumentSyntaxError,
    DefinitionCall,
    DefinitionParameter,
    bind_arguments,
    escape,
    parse_calls,
    parse_parameters,
    quoted,
    split_values,
    substitute,
    substitute_call,
)

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


def test_parameters_are_names_with_optional_defaults() -> None:
    assert parse_parameters(" a, b=5 ,c='x,y', d=") == (
        DefinitionParameter("a"),
        DefinitionParameter("b", "5"),
        DefinitionParameter("c", "x,y"),
        DefinitionParameter("d", ""),
    )
    assert parse_parameters("  ") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,,b", "'' is not an argument name"),
        ("1a", "'1a' is not an argument name"),
        ("a,a=1", "argument 'a' is declared twice"),
        ("a='x", "the quote ' is not closed in 'a='x'"),
        ("a='x'y", "text behind the closing quote in 'x'y"),
    ],
)
def test_malformed_parameters_are_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentSyntaxError) as caught:
        parse_parameters(text)
    assert str(caught.value) == message


def test_calls_take_values_by_position_or_by_name() -> None:
    assert parse_calls("A, b.B(1,'q, (r)') ,C(x=>1, y => \"it's\"),D()") == (
        DefinitionCall("A"),
        DefinitionCall("b.B", ("1", "q, (r)")),
        DefinitionCall("C", (), (("x", "1"), ("y", "it's"))),
        DefinitionCall("D"),
    )


def test_quoted_calls_nest() -> None:
    outer = parse_calls("A('B(''C(1)'',2)')")[0]
    middle = parse_calls(outer.positional[0])[0]
    assert middle == DefinitionCall("B", ("C(1)", "2"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A(1", "'(' without ')' in 'A(1'"),
        ("A)", "')' without '(' in 'A)'"),
        ("A,", "the name of a definition is missing"),
        ("(1)", "the name of a definition is missing"),
        ("A(1)b", "text behind the ')' of 'A(1)b'"),
        ("'A'", "'A' is not a definition name"),
        ("A(1,b=>2)", "values by position and by name are mixed in 'A(1,b=>2)'"),
        ("A('x)", "the quote ' is not closed in 'A('x)'"),
    ],
)
def test_malformed_calls_are_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentSyntaxError) as caught:
        parse_calls(text)
    assert str(caught.value) == message


def test_arguments_are_bound_by_position_by_name_and_by_default() -> None:
    parameters = parse_parameters("a,b=5,c=")
    assert bind_arguments(parameters, DefinitionCall("D", ("1",))) == (
        {"a": "1", "b": "5", "c": ""},
        [],
    )
    assert bind_arguments(parameters, DefinitionCall("D", (), (("c", "x"), ("a", "")))) == (
        {"a": "", "b": "5", "c": "x"},
        [],
    )


def test_every_fault_of_a_call_is_listed() -> None:
    parameters = parse_parameters("alpha,beta")
    call = DefinitionCall("D", (), (("alhpa", "1"), ("beta", "2"), ("beta", "3")))
    values, faults = bind_arguments(parameters, call)
    assert values == {"alpha": "${alpha}", "beta": "2"}
    assert [(one.code, one.message, one.hint) for one in faults] == [
        ("unknown-argument", "'D' has no argument 'alhpa'", "did you mean 'alpha'?"),
        ("duplicate-argument", "argument 'beta' of 'D' is given twice", "keep one of them"),
        (
            "missing-argument",
            "argument 'alpha' of 'D' has no value",
            "write D(alpha=>...) or give it a default",
        ),
    ]


def test_too_many_arguments_are_counted() -> None:
    _, faults = bind_arguments(parse_parameters("a"), DefinitionCall("D", ("1", "2")))
    assert [(one.code, one.message, one.hint) for one in faults] == [
        ("too-many-arguments", "'D' takes 1 argument, 2 are given", "declared: a")
    ]
    _, faults = bind_arguments((), DefinitionCall("D", ("1",)))
    assert [(one.message, one.hint) for one in faults] == [
        ("'D' takes 0 arguments, 1 are given", "it is declared without arguments")
    ]


def test_values_are_put_in_and_unknown_names_told() -> None:
    assert substitute("x${a}y${ b }${c}$d", {"a": "1", "b": "$2"}) == ("x1y$2${c}$d", ["c"])


def test_doubled_dollars_are_plain_ones() -> None:
    assert substitute("$${a} $$${a}", {"a": "1"}) == ("${a} $${a}", [])


def test_a_value_between_quotes_stays_between_them() -> None:
    assert substitute_call("D('${a}',${a})", {"a": "it's"}) == ("D('it''s',it's)", [])
    assert substitute("'${a}'", {"a": "it's"}) == ("'it's'", [])


@given(st.text())
def test_any_value_survives_quotes(text: str) -> None:
    assert split_values(quoted(text)) == [text]


@given(NAMES, st.lists(st.text()))
def test_any_call_by_position_is_read_as_it_was_written(name: str, values: list[str]) -> None:
    text = f"{name}({','.join(map(quoted, values))})"
    assert parse_calls(text) == (DefinitionCall(name, tuple(values)),)


@given(NAMES, st.dictionaries(NAMES, st.text()))
def test_any_call_by_name_is_read_as_it_was_written(name: str, values: dict[str, str]) -> None:
    given = ",".join(f"{key}=>{quoted(value)}" for key, value in values.items())
    assert parse_calls(f"{name}({given})") == (DefinitionCall(name, (), tuple(values.items())),)


@given(st.text(alphabet="${}ab'"), st.dictionaries(st.sampled_from("ab"), st.text()))
def test_an_escaped_text_is_never_substituted(text: str, values: dict[str, str]) -> None:
    assert substitute(escape(text), values) == (text, [])


@given(st.text())
def test_any_value_passes_through_nested_calls(value: str) -> None:
    text, missing = substitute_call("D('${a}', \"${a}\")", {"a": value})
    assert missing == []
    assert parse_calls(text) == (DefinitionCall("D", (value, value)),)


@given(st.text(alphabet="a,()'\"=> $"))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (parse_calls, parse_parameters, split_values):
        with contextlib.suppress(ArgumentSyntaxError):
            assert read(text) is not None
