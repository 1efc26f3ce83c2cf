"""Who can prove to be whom, with the keys that each member of a run has."""

from __future__ import annotations

import pytest

from runtime.transport.credentials import NONCE, Credentials, Dialler, ListeningEnd
from runtime.transport.errors import AuthenticationFailed
from runtime.transport.keys import Keyring, RunKeys, audience_of, issuer_of

RUN = RunKeys(b"the secret of a run")
LAUNCHER = RUN.keyring(["launcher"])
CLUSTERS = ("0:0", "0:1", "1:0")
NODES = {one: f"/nodes/lab/c{one[0]}{one[2]}" for one in CLUSTERS}


def front_end(cluster: str) -> Keyring:
    others = [one for one in CLUSTERS if one != cluster]
    issued = {"launcher": cluster}
    issued |= {audience_of(f"{one}:0"): cluster for one in others}
    issued |= {audience_of(one): cluster for one in others}
    issued |= {audience_of(f"{NODES[one]}/n"): NODES[cluster] for one in others}
    own = [cluster, f"{cluster}:0", f"{NODES[cluster]}/n"]
    return RUN.keyring([audience_of(one) for one in own], issued)


def rank(name: str) -> Keyring:
    return front_end(issuer_of(name)).of(name, (audience_of(name),), ("front-end ", "ranks "))


def node(name: str, cluster: str) -> Keyring:
    return front_end(cluster).of(name, (audience_of(name),), (audience_of(cluster), "nodes "))


def meet(dialler: Keyring, name: str, listener: Keyring, peer: str) -> tuple[str | None, ...]:
    """Return whom each end takes the other one for; raises AuthenticationFailed."""
    there = Dialler(Credentials(dialler, name), b"1" * NONCE, peer)
    here = ListeningEnd(Credentials(listener, peer), b"2" * NONCE)
    there.feed(here.feed(there.feed(here.feed(there.begin()))))
    return here.peer, there.peer


@pytest.mark.parametrize(
    ("dialler", "name", "listener", "peer"),
    [
        (front_end("0:1"), "0:1", LAUNCHER, "launcher"),
        (rank("0:1:2#1"), "0:1:2#1", front_end("0:1"), "0:1"),
        (rank("0:1:2#1"), "0:1:2#1", rank("1:0:0#4"), "1:0:0#4"),
        (rank("0:1:2#1"), "0:1:2#1 lane", rank("1:0:0#4"), "1:0:0#4"),
        (rank("0:1:2#1"), "0:1:2#1", rank("0:1:3#1"), "0:1:3#1"),
        (rank("0:1:2#1"), "0:1:2#1", front_end("1:0"), "1:0"),
        (front_end("0:1"), "0:1", front_end("1:0"), "1:0"),
        (node("/nodes/lab/c01/n", "0:1"), "/nodes/lab/c01/n", front_end("0:1"), "0:1"),
        (
            node("/nodes/lab/c01/n", "0:1"),
            "/nodes/lab/c01/n",
            node("/nodes/lab/c10/m", "1:0"),
            "/nodes/lab/c10/m",
        ),
    ],
)
def test_members_that_deal_with_each_other_prove_their_names(
    dialler: Keyring, name: str, listener: Keyring, peer: str
) -> None:
    assert meet(dialler, name, listener, peer) == (name, peer)


@pytest.mark.parametrize(
    ("dialler", "name", "listener", "peer"),
    [
        # a rank as another one of its cluster, in another incarnation, or of another cluster
        (rank("0:1:2#1"), "0:1:3#1", rank("1:0:0#1"), "1:0:0#1"),
        (rank("0:1:2#1"), "0:1:2#2", rank("1:0:0#1"), "1:0:0#1"),
        (rank("0:1:2#1"), "0:0:2#1", rank("1:0:0#1"), "1:0:0#1"),
        (rank("0:1:2#1"), "0:1:3#1", front_end("0:1"), "0:1"),
        (rank("0:1:2#1"), "0:1:2#2", front_end("0:1"), "0:1"),
        # a rank as a front-end, or at the launcher
        (rank("0:1:2#1"), "0:1", front_end("1:0"), "1:0"),
        (rank("0:1:2#1"), "0:1", LAUNCHER, "launcher"),
        (rank("0:1:2#1"), "0:1:2#1", LAUNCHER, "launcher"),
        # a whole cluster as another one, or as the launcher
        (front_end("0:1"), "0:0", LAUNCHER, "launcher"),
        (front_end("0:1"), "0:0:0#1", rank("1:0:0#1"), "1:0:0#1"),
        (front_end("0:1"), "0:0", front_end("1:0"), "1:0"),
        (front_end("0:1"), "launcher", front_end("1:0"), "1:0"),
        (front_end("0:1"), "/nodes/lab/c00/n", node("/nodes/lab/c10/m", "1:0"), "/nodes/lab/c10/m"),
        (front_end("0:1"), "/", node("/nodes/lab/c10/m", "1:0"), "/nodes/lab/c10/m"),
        # one that listens in the place of another
        (rank("0:1:2#1"), "0:1:2#1", front_end("0:0"), "1:0"),
        (rank("0:1:2#1"), "0:1:2#1", rank("0:0:0#1"), "1:0:0#1"),
        (rank("0:1:2#1"), "0:1:2#1", rank("0:1:3#1"), "0:1"),
        (front_end("0:1"), "0:1", front_end("0:0"), "launcher"),
    ],
)
def test_nobody_proves_a_name_that_is_not_its_own(
    dialler: Keyring, name: str, listener: Keyring, peer: str
) -> None:
    with pytest.raises(AuthenticationFailed):
        meet(dialler, name, listener, peer)


def test_what_is_above_a_key_cannot_be_made_of_it() -> None:
    keys = rank("0:1:2#1")
    assert not keys.issues
    assert list(keys.checks) == ["ranks 0:1"]
    with pytest.raises(KeyError):
        keys.ticket("0:1", "launcher")
    with pytest.raises(KeyError):
        keys.ticket("0:1:2#1", "nodes /nodes/lab/c01")
