"""The settings of ranks travel as plain data and come as they were."""

from __future__ import annotations

from runtime.machine.rank_settings import RankSettings


def test_settings_come_as_they_were_made() -> None:
    made = RankSettings(
        grid=b"g",
        named_classes=(("plan-choice", "own.Choice", (0, 1), "", "m.xml:3"),),
        plans="bcast=flat",
        explain_waits=2.5,
        is_traced=True,
        comm_world="cluster",
        failures="return",
        replicas=1,
    )
    assert RankSettings.parse(made.plain()) == made
    assert made.goes_on
    assert RankSettings(replicas=2).goes_on
    assert not RankSettings().goes_on
