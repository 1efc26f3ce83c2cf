"""The figures and tables of the sources that no figure here shows, and why."""

from __future__ import annotations

SCHEME = "a scheme; "

ELSEWHERE: tuple[tuple[str, str], ...] = (
    ("004 3.1 to 3.6", "drawings of other systems"),
    ("004 4.1, 6.1 to 6.4, table 6.1",
     SCHEME + "docs/architecture.md, `gcm-deploy --dry-run --draw FILE`"),
    ("004 7.10 to 7.13", SCHEME + "`examples/20_monte_carlo`, `examples/21_mergesort`"),
    ("004 table 7.1", "a comparison of features: docs/features.md, with a test behind each cell "
     "of ours"),
    ("004 A.1 to A.7, table A.1", "3.2, 3.3, 4.1, 6.1 to 6.4 and table 6.1, in Portuguese"),
    ("000 1, 2, 2.1 to 2.2, 3.1, 3.3 to 3.4, 3.10",
     SCHEME + "docs/peers.md, docs/booking.md"),
    ("000 table 3.1", "the table that `co-allocation` books from"),
    ("000 3.8 to 3.9", "screenshots: `gcm-peer hosts`, `gcm-peer top`"),
    ("000 3 to 6, 9 to 10, table 1", "the French summary of 3.5, 3.6, 3.7, 4.3, 5.10, 5.11, "
     "table 5.1"),
    ("000 4.1 to 4.8, 4.10 to 4.12, 4.14", SCHEME + "docs/replicas.md, "
     "docs/failures.md"),
    ("000 5.1 to 5.2", "devices with one port and with many, as processes see them: "
     "`java-grande` has all messages of a cluster through the one port of its front-end"),
    ("000 5.3", "a rendezvous: without one, a pair of ranks has 8 MiB in transit at most before "
     "receives are posted (docs/mpi.md)"),
    ("000 A.1", "a map of Grid'5000"),
    ("000 table B.1, table C.1, table C.2", "classes, settings and a program of P2P-MPI: "
     "docs/mpi.md, docs/peers.md, `examples/22_integration`"),
    ("000 D.1 to D.4", "operations of the JGF by P2P-MPI and MPJ Express, which cannot be run "
     "here: `examples/26_java_grande/operations.py` prints the table of ours, and of MPI under "
     "`mpiexec`"),
    ("001 1 to 3, 8, 11", SCHEME + "`examples/22_integration`, docs/peers.md, "
     "docs/replicas.md, docs/failures.md"),
    ("002 1", SCHEME + "docs/booking.md"),
    ("003 1, 6", SCHEME + "docs/failures.md"),
    ("003 7 to 9", "COMINFO: states of processes and communicators; `gcm-deploy ps` prints them "
     "(docs/surviving.md)"),
)  # fmt: skip
"""In the order of the sources."""
