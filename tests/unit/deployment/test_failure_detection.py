"""How a descriptor chooses the failure detector, and who then watches whom."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.deployment import make_plan
from runtime.health import DetectorProtocol
from runtime.processes.watch import WatchedGroups, watch_of

FAR = '<site><cluster><ssh host="h"/></cluster></site>'
NEAR = "<site><cluster/></site>"


def group_of(read: Any, text: str) -> WatchedGroups | None:
    program = '<application script="a.py"/>'
    return watch_of(make_plan(read(f"<deployment>{program}{text}</deployment>").good))


def test_on_one_machine_nobody_watches_unless_it_is_asked_for(read: Any) -> None:
    assert group_of(read, "<emulate/>") is None
    assert group_of(read, "<emulate/><failure-detector/>") is not None


def test_where_ssh_leads_to_a_cluster_all_watch_by_dbrr_within_three_seconds(read: Any) -> None:
    found = group_of(read, f"<grid>{NEAR}{FAR}</grid>")
    assert found is not None
    assert found.groups == (("launcher", "0:0", "1:0"),)
    assert found.settings.protocol is DetectorProtocol.DBRR
    assert found.settings.cleanup(3) + found.settings.max_hang == 3.0


def test_who_is_silent_on_this_machine_is_only_suspected_unless_it_is_asked_for(read: Any) -> None:
    grid = f"<grid>{NEAR}{FAR}</grid>"
    found = group_of(read, grid)
    assert found is not None
    assert found.only_suspected == ("0:0",)
    found = group_of(read, f'{grid}<failure-detector frozen="lost"/>')
    assert found is not None
    assert found.only_suspected == ()


def test_in_a_hierarchy_each_site_is_a_group_with_the_launcher(read: Any) -> None:
    chosen = '<failure-detector protocol="hierarchical"/>'
    found = group_of(read, f'<emulate sites="2" clusters="3"/>{chosen}')
    assert found is not None
    assert found.groups == (
        ("launcher", "0:0", "0:1", "0:2"), ("launcher", "1:0", "1:1", "1:2"),
    )  # fmt: skip
    assert found.settings.cleanup(4) + found.settings.max_hang == 3.0


def test_the_period_of_a_hierarchy_has_to_fit_its_largest_site_alone(read: Any) -> None:
    def codes(protocol: str) -> list[tuple[str, int]]:
        chosen = f'<failure-detector protocol="{protocol}" period="0.375"/>'
        program = '<application script="a.py"/><emulate sites="3" clusters="3"/>'
        found: list[tuple[str, int]] = read(f"<deployment>{program}{chosen}</deployment>").codes
        return found

    assert codes("hierarchical") == []
    assert [code for code, _ in codes("dbrr")] == ["unfit-detector"]


def test_a_detector_can_be_switched_off(read: Any) -> None:
    assert group_of(read, f'<grid>{FAR}</grid><failure-detector protocol="none"/>') is None


@pytest.mark.parametrize("protocol", ["brr", "dbrr", "round-robin"])
def test_protocol_timeout_and_period_are_those_of_the_descriptor(read: Any, protocol: str) -> None:
    chosen = f'<failure-detector protocol="{protocol}" timeout="10" period="0.25s"/>'
    found = group_of(read, f"<emulate/>{chosen}")
    assert found is not None
    assert (found.settings.protocol, found.settings.period) == (protocol, 0.25)
    assert found.settings.cleanup(2) + found.settings.max_hang == 10.0
    assert found.timeout == 10.0


def test_a_period_that_cannot_keep_to_the_timeout_is_a_fault_with_one_that_can(read: Any) -> None:
    found = read(
        '<deployment><application script="a.py"/><emulate sites="3"/>\n'
        '<failure-detector period="0.5"/></deployment>'
    )
    assert found.codes == [("unfit-detector", 2)]
    assert "the period to 0.375 s or less, or the timeout to 4 s or more" in found.found[0].hint


@pytest.mark.parametrize("timeout", ["0", "0.0", "1.2345", "-1", "soon"])
def test_a_timeout_is_a_duration_above_zero(read: Any, timeout: str) -> None:
    found = read(
        '<deployment><application script="a.py"/><emulate/>'
        f'<failure-detector timeout="{timeout}"/></deployment>'
    )
    assert [code for code, _ in found.codes] == ["bad-duration"]
