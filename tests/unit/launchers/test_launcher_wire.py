from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from runtime.launchers import bootstrap, wire

MESSAGES = st.lists(
    st.tuples(
        st.sampled_from([wire.START, wire.OUTPUT]), st.integers(0, 2**32 - 1), st.binary(max_size=9)
    ),
    max_size=6,
)


@given(MESSAGES, st.integers(1, 30))
def test_messages_do_not_depend_on_how_the_bytes_arrive(
    messages: list[tuple[bytes, int, bytes]], step: int
) -> None:
    data = b"".join(wire.frame(*message) for message in messages)
    buffer = bytearray()
    got = []
    for start in range(0, len(data), step):
        buffer += data[start : start + step]
        got += list(wire.frames(buffer))
    assert got == messages
    assert buffer == b""


def test_the_loader_is_harmless_to_every_login_shell() -> None:
    assert not set("'!$`\\\n\t*?~#&|{}") & set(bootstrap.loader())


def test_the_guard_needs_only_what_every_python_has() -> None:
    code = (
        "import sys; sys.argv[1:] = ['gcm-guard', 'a', 'b']\n"
        + bootstrap.source().decode()
        + "\nprint(sorted(n for n in sys.modules if n.startswith('runtime')))\n"
        "print(sorted({'typing', 're', 'json', 'subprocess', 'socket'} & set(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-"], input=code.encode(), capture_output=True, check=True
    )
    assert ended.stdout.startswith(b"\nab\nh")
    last = ended.stderr.decode().splitlines()[-2:]
    parts = [f"runtime.launchers.{part}" for part in sorted(bootstrap.PARTS)]
    assert last == [str(["runtime", "runtime.launchers", *parts]), "[]"]


def test_no_two_markers_are_the_same() -> None:
    assert bootstrap.new_marker() != bootstrap.new_marker()
