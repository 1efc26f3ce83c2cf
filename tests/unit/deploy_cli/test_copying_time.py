"""A start that copies much has more time, so that what was agreed to can also be done."""

from __future__ import annotations

from gcm.documents import Diagnostics
from runtime.cli.run import copying_time
from runtime.deployment import DescriptorContext, make_plan, read_descriptor
from runtime.deployment.planning.program_files import ProgramFiles

TEXT = (
    b'<deployment><application script="a.py"/><grid><site><cluster/><cluster><ssh host="h"/>'
    b'</cluster><cluster><ssh host="i"/></cluster></site></grid></deployment>'
)


def test_each_copy_of_a_megabyte_gives_a_second_more() -> None:
    around = DescriptorContext("/home/me")
    found = read_descriptor(TEXT, name="d", surroundings=around, diagnostics=Diagnostics())
    assert found is not None
    assert copying_time(make_plan(found)) == 0
    files = ProgramFiles((("a", 150_000_000),))
    assert copying_time(make_plan(found, {"application": files})) == 300
