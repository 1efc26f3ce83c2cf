"""The keys of a run, derived from its secret so that each member can have its own alone. Pure.

```
secret of the run                                      the launcher
└─ key of an audience   H(secret, audience)            those who listen, to check who comes
   └─ key of an issuer  H(key of the audience, issuer) a front-end, for the members of its cluster
      └─ ticket         H(key of the issuer, subject)  one member, to be let in by that audience
```

H is HMAC-SHA256. A *subject* is the name of a member, its *issuer* the cluster that it belongs to.
An *audience* are the members that listen with one key: the launcher, a front-end, the ranks of a
cluster, or its nodes. The holder of a key can make those below it, and none above or beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.part_names import cluster_of, is_cluster, is_rank
from runtime.transport.keyed_hash import keyed_hash

NODES = "/nodes/"
"""How the name of a process for the components of a node begins; the cluster's path follows."""

FRONT_END = "front-end "
"""How the audience of a front-end begins, which may forward what members say to each other."""

MEMBER = "gcm:"
"""How the name of a member begins in its certificate, where hexadecimal digits follow."""

INCARNATION = "#"
"""What is between the identifier of a rank and its incarnation in its name: `0:1:2#3`."""


def member_name(rank: str, incarnation: int) -> str:
    """Return the name of a rank that was started for the so-manieth time.

    >>> member_name("0:1:2", 3)
    '0:1:2#3'
    """
    return f"{rank}{INCARNATION}{incarnation}"


def parsed(name: str) -> tuple[str, int]:
    """Return the identifier and the incarnation of a rank; 0 for a name without one.

    >>> parsed("0:1:2#3"), parsed("0:1")
    (('0:1:2', 3), ('0:1', 0))
    """
    identifier, _, number = name.partition(INCARNATION)
    return identifier, int(number) if number.isdecimal() else 0


def subject_of(name: str) -> str:
    """Return a name without the purpose behind it, for which a rank connects once more.

    >>> subject_of("0:1:2#3 lane")
    '0:1:2#3'
    """
    return name if name.startswith("/") else name.partition(" ")[0]


def issuer_of(name: str) -> str:
    """Return the cluster in whose name a member gets its tickets.

    >>> issuer_of("0:1:2#3"), issuer_of("0:1"), issuer_of("/nodes/lab/rack/blade07")
    ('0:1', '0:1', '/nodes/lab/rack')
    """
    if name.startswith("/"):
        return name.rpartition("/")[0]
    identifier, _ = parsed(subject_of(name))
    return cluster_of(identifier)


def audience_of(name: str) -> str:
    """Return to which audience a member belongs when it listens.

    >>> audience_of("0:1:2#3"), audience_of("0:1"), audience_of("/nodes/lab/rack/blade07")
    ('ranks 0:1', 'front-end 0:1', 'nodes /nodes/lab/rack')
    """
    if name.startswith(NODES):
        return f"nodes {issuer_of(name)}"
    identifier, _ = parsed(name)
    kind = "ranks " if is_rank(identifier) else FRONT_END if is_cluster(identifier) else ""
    return f"{kind}{issuer_of(name)}"


class Keyring:
    """The keys that one process has.

    `checks` has the keys of audiences to which it belongs, `issues` those with which it makes
    tickets for the members of its cluster, `tickets` its own ones; each by audience.

    >>> launcher = RunKeys(b"a secret of sixteen bytes")
    >>> listener = launcher.keyring(["ranks 0:1"])
    >>> front_end = launcher.keyring([], {"ranks 0:1": "0:0"})
    >>> rank = front_end.of("0:0:4#1", (), ("ranks ",))
    >>> rank.ticket("0:0:4#1", "ranks 0:1") == listener.ticket("0:0:4#1", "ranks 0:1")
    True
    """

    def __init__(
        self,
        checks: Mapping[str, bytes] | None = None,
        issues: Mapping[str, bytes] | None = None,
        tickets: Mapping[str, bytes] | None = None,
    ) -> None:
        self.checks = dict(checks or {})
        self.issues = dict(issues or {})
        self.tickets = dict(tickets or {})

    def ticket(self, subject: str, audience: str) -> bytes:
        """Return the ticket of a subject for an audience, as far as this process can know it.

        Raises:
            KeyError: it has no key for that audience.
        """
        if audience in self.checks:
            return keyed_hash(_derived(self.checks[audience], issuer_of(subject)), subject.encode())
        if audience in self.issues:
            return keyed_hash(self.issues[audience], subject.encode())
        return self.tickets[audience]

    def of(self, subject: str, checked: Iterable[str], kinds: tuple[str, ...]) -> Keyring:
        """Return what a member of this cluster gets.

        That are the keys of the audiences to which it belongs, to check others, and tickets for
        the other audiences whose names begin with one of `kinds`.
        """
        checks = {one: self.checks[one] for one in checked}
        others = [one for one in (*self.checks, *self.issues) if one not in checks]
        tickets = {one: self.ticket(subject, one) for one in others if one.startswith(kinds)}
        return Keyring(checks, None, tickets)


class RunKeys:
    """The secret of a run, of which all keys are made."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def keyring(self, audiences: Iterable[str], issued: Mapping[str, str] | None = None) -> Keyring:
        """Return the keys of a listener that belongs to `audiences`.

        For those in `issued` it gets what makes tickets in the name of an issuer.
        """
        issues = {one: self.issuer(one, issuer) for one, issuer in (issued or {}).items()}
        return Keyring({one: self.audience(one) for one in audiences}, issues)

    def audience(self, audience: str) -> bytes:
        """Return the key of an audience."""
        return _derived(self._secret, audience)

    def issuer(self, audience: str, issuer: str) -> bytes:
        """Return the key with which an issuer makes tickets for an audience."""
        return _derived(self.audience(audience), issuer)


def _derived(key: bytes, name: str) -> bytes:
    return keyed_hash(key, name.encode())
