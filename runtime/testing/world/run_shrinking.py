"""Finds a smaller run that fails, too: fewer faults, clusters and ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runtime.testing.world.run_load import RunKind, RunScenario


def smaller_runs(run: RunScenario) -> Iterator[RunScenario]:
    """Yield what is smaller, in one step."""
    faults, clusters = run.faults, run.clusters
    for at in range(len(faults)):
        yield replace(run, faults=faults[:at] + faults[at + 1 :])
    if run.kind is not RunKind.REPLICAS:
        for at in range(1, len(clusters)):
            left = clusters[:at] + clusters[at + 1 :]
            sites = sorted({one.site for one in left})
            yield replace(
                run, clusters=tuple(replace(one, site=sites.index(one.site)) for one in left)
            )
        for at, one in enumerate(clusters):
            if len(one.scripts) > 1:
                fewer = replace(one, scripts=one.scripts[:-1], hosts=min(one.hosts, 1) and
                                len(one.scripts) - 1)  # fmt: skip
                yield replace(run, clusters=(*clusters[:at], fewer, *clusters[at + 1 :]))
