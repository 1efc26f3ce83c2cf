"""The figures and tables of the sources that no figure here shows, and why."""

from __future__ import annotations

SCHEME = "a scheme; "

ELSEWHERE: tuple[tuple[str, str], ...] = (
    ("004 3.1 to 3.6", "drawings of other systems"),
    ("004 4.1, 6.1 to 6.4, table 6.1",
     SCHEME + "docs/architecture.md, `gcm-deploy --dry-run --picture`"),
    ("004 7.10 to 7.13", SCHEME + "`examples/20_monte_carlo`, `examples/21_mergesort`"),
    ("004 table 7.1", "a comparison of features; what holds here is in the README and in "
     "docs/deploy.md, docs/ssh.md, docs/batch.md, docs/mpi.md"),
    ("000 1, 2, 2.1, 2.2, 3.1, 3.3, 3.4, 3.10",
     SCHEME + "docs/peers.md, docs/booking.md"),
    ("000 table 3.1", "the table that `co-allocation` books from"),
    ("000 3.8, 3.9", "screenshots: `gcm-peer hosts`, `gcm-peer top`"),
    ("000 3, 4, 5, 6, 9, 10, table 1", "the French summary of 3.5, 3.6, 3.7, 4.3, 5.10, 5.11, "
     "table 5.1"),
    ("000 4.1 to 4.8, 4.10 to 4.12, 4.14", SCHEME + "docs/replicas.md, "
     "docs/failures.md"),
    ("000 5.1 to 5.7, table 5.1; 001 table 1",
     SCHEME + "docs/mpi.md. 4-ary trees, butterflies and asynchronous "
     "rotation are no plans here; a single-port device is not either: all connections of a rank go "
     "through one port of its front-end where `reachability` says so"),
    ("000 D (JGF section 1)", "`examples/26_java_grande/operations.py` prints the table; MPJ "
     "Express and the Java devices cannot be run here"),
    ("001 1 to 3, 8, 11", SCHEME + "`examples/22_integration`, docs/peers.md, "
     "docs/replicas.md, docs/failures.md"),
    ("002 1", SCHEME + "docs/booking.md"),
    ("003 1, 5, 6", SCHEME + "docs/failures.md. Trees are not re-ordered by readiness"),
    ("003 7 to 9", "views of a communicator: healthy, with an exited process, rebuilt by SHRINK; "
     "`gcm-deploy` shows the states of ranks (docs/surviving.md), not measured"),
)  # fmt: skip
"""In the order of the sources."""
