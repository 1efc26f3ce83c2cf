"""What is shown of a lab, and who may see it."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any
from xml.etree import ElementTree

import pytest

from runtime.peers.watching.page import page
from runtime.peers.watching.server import PageServer
from runtime.peers.watching.view import is_status_of, view_of


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
    assert [one.peers for one in view_of(own, others).runs] == [
        ("a (0.0, 1.1)", "b (0.1)", "c"),
        ("a (0)", "b (1)"),
    ]


def test_what_several_peers_tell_of_one_run_is_one_run() -> None:
    others = [status("near", runs=(run("a1", 4),)), status("far", runs=(run("b2", 1),))]
    view = view_of(OWN, others)
    assert [(one.application, one.processes, one.peers) for one in view.runs] == [
        ("a1", 6, ("me", "near")),
        ("b2", 1, ("far",)),
    ]
    assert [one.busy for one in view.peers] == ["1", "1", "1", "", ""]
    assert view.told == 3


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
    ],
)
def test_what_a_peer_tells_in_another_form_or_of_another_one_is_not_shown(told: Any) -> None:
    assert not is_status_of("peer:near", told)


def test_what_a_peer_tells_of_itself_is_shown() -> None:
    told = json.loads(json.dumps(status("near", runs=(run("a1", 4),))))
    assert is_status_of("peer:near", told)


def test_the_page_is_well_formed_takes_nothing_from_elsewhere_and_trusts_no_name() -> None:
    evil = host('<script src="http://evil">&', 3.0)
    text = page(view_of(status("me", evil, host("near", 0.4)), ()))
    assert "<script" not in text
    assert text.count("&lt;script") >= 2
    assert 'href="' not in text
    assert "src=" not in text.replace("&lt;script src=", "")
    begin, end = text.index("<svg"), text.index("</svg>") + len("</svg>")
    circles = ElementTree.fromstring(text[begin:end]).findall("{*}circle[@fill]")
    assert len(circles) == 2


def test_a_lab_of_which_nothing_was_measured_has_a_page_too() -> None:
    assert "<svg" not in page(view_of(status("me"), ()))


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer(lambda: "the page") as made:
        thread = threading.Thread(target=made.serve)
        thread.start()
        yield made
        made.close()
        thread.join()


def test_only_who_has_the_token_sees_the_page(server: PageServer) -> None:
    with urllib.request.urlopen(server.url, timeout=10) as answer:
        assert answer.read() == b"the page"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=10)
    assert caught.value.code == HTTPStatus.NOT_FOUND
    caught.value.close()


def test_a_page_of_somebody_else_cannot_read_it_under_another_name(server: PageServer) -> None:
    path = server.url.partition(str(server.port))[2]
    for name, expected in (
        (f"localhost:{server.port}", HTTPStatus.OK),
        ("evil.example", HTTPStatus.NOT_FOUND),
        ("", HTTPStatus.NOT_FOUND),
    ):
        assert server.answer(path, name)[0] is expected
