"""What is shown of a lab, and who may see it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.peers.model import PeerMachine, is_status_of
from runtime.peers.watching.view import view_of


def host(name: str, milliseconds: float | None, **more: Any) -> dict[str, Any]:
    return {
        "name": f"peer:{name}",
        "addresses": [f"{name}:7700"],
        "applications": 1,
        "processes": 4,
        "milliseconds": milliseconds,
        "silent": False,
    } | more


def status(
    name: str,
    *hosts: dict[str, Any],
    runs: tuple[Any, ...] = (),
    ranks: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "name": f"peer:{name}",
        "lab": "ourlab",
        "membership": {
            "addresses": [f"{name}:7700"],
            "state": "its supernode knows it",
            "faults": [],
            "hosts": list(hosts),
        },
        "reservation": {"applications": 1, "processes": 4, "runs": list(runs), "owner": ""},
        "launch": {"guards": len(ranks or {}), "ranks": ranks or {}},
    }


def run(application: str, processes: int) -> dict[str, Any]:
    return {
        "user": "alice",
        "application": application,
        "processes": processes,
        "phase": "confirmed",
    }


OWN = status(
    "me",
    host("far", 17.1),
    host("near", 0.4),
    host("gone", None, silent=True),
    host("far2", 17.3),
    {**host("sup", None), "name": "supernode:sup"},
    runs=(run("a1", 2),),
)


def test_peers_are_shown_by_round_trip_and_sites_with_oneself_first() -> None:
    view = view_of(OWN, ())
    assert [(one.name, one.site, one.note) for one in view.peers] == [
        ("me", 1, ""),
        ("near", 1, ""),
        ("far", 2, ""),
        ("far2", 2, ""),
        ("gone", 0, "silent"),
    ]


def test_a_run_is_shown_with_its_ranks_and_their_replicas() -> None:
    own = status("a", runs=(run("r", 2), run("s", 1)), ranks={"r": [[1, 1], [0, 0]], "s": [[0, 0]]})
    others = [
        status("b", runs=(run("r", 1), run("s", 1)), ranks={"r": [[0, 1]], "s": [[1, 0]]}),
        status("c", runs=(run("r", 1),)),
    ]
    view = view_of(own, others)
    assert [one.peers for one in view.runs] == [
        ("a (0.0, 1.1)", "b (0.1)", "c"),
        ("a (0)", "b (1)"),
    ]
    assert [(one.phase, one.processes) for one in view.runs] == [("runs, starting", 4), ("runs", 2)]


def test_what_several_peers_tell_of_one_run_is_one_run() -> None:
    others = [status("near", runs=(run("a1", 4),)), status("far", runs=(run("b2", 1),))]
    view = view_of(OWN, others)
    assert [(one.application, one.processes, one.peers) for one in view.runs] == [
        ("a1", 6, ("me", "near")),
        ("b2", 1, ("far",)),
    ]
    busy = [one.busy for one in view.peers]
    assert busy == ["a1 of alice", "a1 of alice", "b2 of alice", "", ""]
    assert view.answered == 3


MACHINE = {
    "system": "Debian", "processor": "EPYC", "cores": 4, "memory": 8 << 30, "free": 1 << 30,
    "load": 2,
}  # fmt: skip


def test_the_machine_of_a_peer_is_shown_if_it_is_told_in_the_right_form() -> None:
    near, far = status("near") | {"machine": MACHINE}, status("far") | {"machine": {"cores": "4"}}
    machines = {one.name: one.machine for one in view_of(OWN, [near, far]).peers}
    assert machines["near"] == PeerMachine("Debian", "EPYC", 4, 8 << 30, 1 << 30, 2.0)
    assert (machines["near"].busy, machines["far"], machines["far"].busy) == (
        0.5,
        PeerMachine(),
        None,
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"load": 10**400}, {"load": -1}, {"load": float("nan")}, {"load": float("inf")},
        {"cores": 10**400}, {"cores": 0}, {"memory": 10**400, "free": 0}, {"free": -1},
        {"free": 9 << 30},
    ],
)  # fmt: skip
def test_figures_that_no_machine_has_tell_nothing(wrong: dict[str, Any]) -> None:
    (line,) = view_of(status("me") | {"machine": MACHINE | wrong}, ()).peers
    assert (line.machine, line.machine.busy) == (PeerMachine(), None)


@pytest.mark.parametrize("milliseconds", [10**400, -1, float("nan"), "1"])
def test_a_round_trip_that_nobody_can_have_measured_is_none(milliseconds: Any) -> None:
    liar = status("near", host("far", milliseconds))
    assert view_of(OWN, [liar]).peers == view_of(OWN, [status("near")]).peers
    none: list[Any] = [{}, [], None, {"hosts": 7}]
    for membership in none:
        told = liar | {"membership": membership}
        assert view_of(OWN, [told]).peers == view_of(OWN, [status("near")]).peers


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        status("me"),
        {"name": "peer:near", "reservation": {}},
        {"name": "peer:near", "reservation": []},
        status("near", runs=({**run("a1", 4), "processes": "many"},)),
        status("near", runs=(7,)),
        status("near", runs=(run("a1", -1),)),
        status("near", runs=(run("a1", 10**400),)),
    ],
)
def test_what_a_peer_tells_in_another_form_or_of_another_one_is_not_shown(told: Any) -> None:
    assert not is_status_of("peer:near", told)


def test_what_a_peer_tells_of_itself_is_shown() -> None:
    told = json.loads(json.dumps(status("near", runs=(run("a1", 4),))))
    assert is_status_of("peer:near", told)


def test_the_document_of_a_lab_is_json_with_the_names_of_programs() -> None:
    own = status("me", host("near", 0.4), runs=(run("ring.py:0123", 1),))
    told = json.loads(json.dumps(view_of(own, ()).document))
    assert (told["kind"], [one["name"] for one in told["peers"]]) == ("lab", ["me", "near"])
    assert [one["program"] for one in told["runs"]] == ["ring.py"]
