"""What is opened as plain data: no name, nothing that costs more memory than it has bytes."""

from __future__ import annotations

import pickle
import pickletools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.transport.messages import PLAIN_DATA
from runtime.transport.plain_data import MOST_NESTED, fault_of

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
)
VALUES = st.recursive(
    LEAVES,
    lambda inside: (
        st.lists(inside) | st.tuples(inside, inside) | st.dictionaries(st.text(), inside)
    ),
)


@given(VALUES)
def test_plain_data_comes_back_as_it_was(value: object) -> None:
    assert PLAIN_DATA.load(PLAIN_DATA.dump(value)) == value


@pytest.mark.parametrize("size", [0, 255, 256, 70_000])
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_bytes_of_any_length_come_back(kind: type[bytes | bytearray], size: int) -> None:
    whole = [kind(size), {"large": pickle.PickleBuffer(kind(size))}, 1 << 9000, "x" * size]
    opened = PLAIN_DATA.load(PLAIN_DATA.dump(whole))
    assert [bytes(opened[0]), bytes(opened[1]["large"])] == [bytes(size)] * 2
    assert opened[2:] == [1 << 9000, "x" * size]


@pytest.mark.parametrize(
    "far",
    [b"Nr\xff\xff\xff\x00.", b"Np9999999\n.", b"\x80\x05\x95\x07\0\0\0\0\0\0\0Nr\xff\xff\xff\0."],
    ids=["binary", "text", "in a frame"],
)
def test_nobody_is_made_to_keep_a_value_far_away(far: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match="begins no plain data"):
        PLAIN_DATA.load([far])


@pytest.mark.parametrize("operation", [b"B", b"X", b"\x8b", b"\x8d", b"\x8e", b"\x96"])
def test_what_says_to_be_longer_than_it_is_makes_no_room(operation: bytes) -> None:
    size = 8 if operation >= b"\x8c" else 4
    with pytest.raises(pickle.UnpicklingError, match="but says more"):
        PLAIN_DATA.load([operation + b"\xff" * (size - 1) + b"\x7f" + b"short."])


def nested(depth: int) -> bytes:
    """Return the pickle of a dictionary with a key of that many tuples in each other."""
    return b"\x80\x05})" + b"\x85" * (depth - 1) + b"Ns."


@pytest.mark.parametrize(
    "deep",
    [
        nested(300_000),
        b"\x80\x05})" + b"\x94\x85" * 300_000 + b"Ns.",
        b"\x80\x05}" + b"(" * 300_000 + b"t" * 300_000 + b"Ns.",
        b"\x80\x05}K\x01\x94" + b"".join(
            b"(j" + n.to_bytes(4, "little") + b"K\x02t\x94" for n in range(2000)
        ) + b"Ns.",
    ],
    ids=["one by one", "remembered", "between marks", "taken up again"],
)  # fmt: skip
def test_a_key_of_tuples_nested_too_deep_does_not_crash_who_opens_it(deep: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"its tuples are nested \d+ deep"):
        PLAIN_DATA.load([deep])


def test_many_tuples_that_are_not_nested_too_deep_come_back() -> None:
    same = (1, frozenset([(2, 3)]), {4}, 1 << 9000, "x" * 300, bytearray(3))
    many = [{(n, (n,)): [same] for n in range(MOST_NESTED)}, pickle.PickleBuffer(bytes(9))]
    assert PLAIN_DATA.load(PLAIN_DATA.dump(many)) == [many[0], bytes(9)]
    assert len(PLAIN_DATA.load([nested(MOST_NESTED)])) == 1


def test_many_tuples_of_nothing_are_refused() -> None:
    with pytest.raises(pickle.UnpicklingError, match="values that it does not have"):
        PLAIN_DATA.load([b"\x80\x05" + b"\x86" * 2000 + b"."])


def test_a_name_is_refused_with_the_name() -> None:
    with pytest.raises(pickle.UnpicklingError, match="and not pathlib"):
        PLAIN_DATA.load(PLAIN_DATA.dump(Path()))


COUNTS = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}


@pytest.mark.parametrize("one", pickletools.opcodes, ids=lambda one: one.name)
def test_every_operation_has_the_length_that_pickle_gives_it_or_is_refused(
    one: pickletools.OpcodeInfo,
) -> None:
    found = fault_of(one.code.encode("latin-1") + bytes(20))
    if one.name in ("STOP", "GLOBAL", "STACK_GLOBAL"):
        assert found == ""
    elif found != "its byte 0 begins no plain data":
        size = one.arg.n if one.arg else 0
        assert found == f"its byte {1 + COUNTS.get(size, size)} begins no plain data"


@pytest.mark.parametrize(
    ("begin", "end"), [(b"}", b"K\x01s."), (b"\x8f(", b"\x90."), (b"(", b"\x91."), (b"]", b"a.")]
)
def test_tuples_that_double_with_each_level_are_neither_hashed_nor_kept(
    begin: bytes, end: bytes
) -> None:
    doubled = b")\x94" + b"".join(b"h%c\x86\x94" % level for level in range(30))
    fault = fault_of(b"\x80\x05" + begin + doubled + end)
    assert fault == "its tuples stand for 2147483647 values to be hashed"


def test_a_tuple_that_is_a_key_many_times_is_plain_data() -> None:
    key = ("host", 1)
    assert fault_of(pickle.dumps({n: {key: key} for n in range(1000)}, protocol=5)) == ""


MODULUS = 2**61 - 1


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (
            {n * MODULUS: None for n in range(50)},
            "one of its keys is an integer of more than 8 bytes",
        ),
        ({(1, 1 << 80)}, "one of its keys is an integer of more than 8 bytes"),
        ([1 << 80, (1 << 80,)], ""),
        ({(n, n): None for n in range(10_001)}, "10001 of its keys are tuples"),
        ({(n, n): None for n in range(10_000)}, ""),
        ({n * MODULUS: None for n in range(5)}, ""),
    ],
    ids=["long-keys", "in-a-tuple", "long-values", "tuples", "not-too-many", "in-a-word"],
)
def test_keys_whose_hashes_can_be_made_alike_are_bounded(value: object, fault: str) -> None:
    assert fault_of(pickle.dumps(value, protocol=5)) == fault
