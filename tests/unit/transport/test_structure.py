"""What of a message counts as values, before it is read."""

from __future__ import annotations

import pytest
import serpent

from runtime.transport.errors import FrameError
from runtime.transport.pyro.structure import MOST_STRUCTURE, check_structure
from runtime.transport.pyro_messages import JSON, MSGPACK, SERPENT

LARGE = 3_000_000
HIDDEN = b"1," * (LARGE // 2)


@pytest.mark.parametrize(
    "value",
    [
        "x" * LARGE,
        "it's" * LARGE,
        '"' * LARGE,
        "\\\n'\"" * LARGE,
        bytes(LARGE),
        ["a, [b]"] * 10_000,
    ],
)
def test_what_serpent_writes_of_large_texts_and_bytes_may_be_read(value: object) -> None:
    check_structure(SERPENT, serpent.dumps({"a": [1, None, value], "b": (True, 2.5)}))


@pytest.mark.parametrize(
    "payload",
    [
        b"(" + HIDDEN + b")",
        b"# serpent utf-8 python3.2\n(" + HIDDEN + b")",
        b"(1,# '\n" + HIDDEN + b"\n# ')",  # a comment with a quote
        b"('''a'b''', " + HIDDEN + b", '''a'b''')",  # several quotes
        b"f'{[" + HIDDEN + b"]}'",  # code in a text
        b"(1, '" + HIDDEN,  # a text without an end
        b"'\n" + HIDDEN + b"\n'",  # a line ends a text
    ],
)
def test_values_that_hide_behind_quotes_are_refused(payload: bytes) -> None:
    with pytest.raises(FrameError, match="bytes of values|that serpent does not write"):
        check_structure(SERPENT, payload)


def test_texts_of_json_do_not_count_and_its_values_do() -> None:
    check_structure(JSON, b'["' + HIDDEN + b'\\"", ' + b"1," * 1000 + b"1]")
    with pytest.raises(FrameError, match="at most 4194304 are allowed"):
        check_structure(JSON, b"[" + b"1," * MOST_STRUCTURE[JSON] + b"1]")


def test_msgpack_is_bounded_by_the_size_of_its_messages_alone() -> None:
    check_structure(MSGPACK, bytes(LARGE))
