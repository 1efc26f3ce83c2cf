"""What a rank gives to the components of the machine, and what comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.machine.calls import DispatchTable
from runtime.machine.wrapper import RankWrapper
from runtime.mpi.errors import ComponentFault
from runtime.mpi.progress.component_calls import ComponentCalls

GROUP = ["0:0:0", "0:0:1"]


@pytest.mark.parametrize(
    ("came", "done"),
    [
        (("air#2:call", b"result"), (b"result", None)),
        (("air#2:call", "there is no room"), (None, "there is no room")),
        (("air#1:call", b"of its former incarnation"), None),
        (("sea#2:call", b"of another code"), None),
    ],
)
def test_a_call_ends_with_its_own_result_or_the_reason_why_there_is_none(
    came: tuple[str, Any], done: tuple[bytes | None, str | None] | None
) -> None:
    dispatch, sent = DispatchTable(), []
    wrapper = RankWrapper("0:0:1#2", dispatch, lambda *call: sent.append(call))
    wrapper.code = "air"
    calls = ComponentCalls(wrapper)
    wrapper.on_results(calls.arrived)
    begun = calls.begin("call", ("join", ""), GROUP, b"own")
    call = "0:0:1", "air#2:call", ("join", ""), GROUP, b"own"
    assert sent == [("membership", "contribute", call)]
    name, data = came
    dispatch.call("views", "collected", (name, "", GROUP, data))
    assert begun.done == (done is not None)
    if done is not None:
        cause = begun.error.cause if isinstance(begun.error, ComponentFault) else begun.error
        assert (begun.data, cause) == done
