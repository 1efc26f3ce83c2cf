"""How likely a run with replicas fails, and how many replicas are best.

A host fails until time t with f(t) = 1 - exp(-(λt)^δ) (Weibull; δ = 1: at a constant rate, δ < 1:
the longer it has been up, the less likely). A rank fails when all its r replicas do, and a run of p
ranks when any rank does: P(p, r) = 1 - (1 - f^r)^p. As r times as many processes share the hosts,
the run takes longer: t(r) = t·(1 + s·(r - 1)), with the slowdown s = 1 where the hosts are as many
as before, and near 0 where there are spare ones.
"""

from __future__ import annotations

from math import expm1, inf, log1p

from gcm.records import dataclass

MOST_REPLICAS = 64
"""More are not looked at."""


def rank_fails(host_fails: float, replicas: int) -> float:
    """Return the probability that all replicas of a rank fail: f^r."""
    return host_fails**replicas


def run_fails(host_fails: float, processes: int, replicas: int) -> float:
    """Return P(p, r); exact for the smallest probabilities too.

    >>> [f"{run_fails(0.05, 128, r):.5f}" for r in (1, 2, 3, 4)]
    ['0.99859', '0.27414', '0.01587', '0.00080']
    """
    if host_fails >= 1:
        return 1.0
    return -expm1(processes * log1p(-rank_fails(host_fails, replicas)))


def host_fails(rate: float, time: float, shape: float = 1.0) -> float:
    """Return f(t) for a rate λ in failures per unit of time, and the shape δ.

    >>> f"{host_fails(0.1, 1.0):.5f}", f"{host_fails(0.1, 1.0, shape=0.5):.5f}"
    ('0.09516', '0.27111')
    """
    return -expm1(-((rate * time) ** shape))


def rate_for(host_fails: float, time: float, shape: float = 1.0) -> float:
    """Return the rate λ at which a host fails within `time` with that probability.

    >>> round(rate_for(0.0951625819640404, 1.0), 9)
    0.1
    """
    return inf if host_fails >= 1 else (-log1p(-host_fails)) ** (1 / shape) / time


@dataclass(frozen=True, slots=True)
class RunRisk:
    """A run about which somebody asks: `processes` for `time` seconds, with hosts that fail.

    `rate` is λ in failures per second and host, `shape` δ, `slowdown` s.
    """

    processes: int
    time: float
    rate: float
    shape: float = 1.0
    slowdown: float = 1.0

    def at(self, replicas: int) -> Prospect:
        """Return what so many replicas bring.

        >>> risk = RunRisk(processes=10, time=1.0, rate=0.1)
        >>> [f"{risk.at(r).run_fails:.5f}" for r in (1, 2, 6, 7, 8)]
        ['0.63212', '0.28402', '0.08123', '0.07898', '0.08141']
        """
        time = self.time * (1 + self.slowdown * (replicas - 1))
        one = host_fails(self.rate, time, self.shape)
        return Prospect(replicas, time, one, run_fails(one, self.processes, replicas))


@dataclass(frozen=True, slots=True)
class Prospect:
    """What so many replicas bring: how long the run takes, and how likely a host and it fail."""

    replicas: int
    time: float
    host_fails: float
    run_fails: float


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer: the `best` number of replicas, and the `least` one that reaches a target."""

    prospects: tuple[Prospect, ...]
    best: Prospect
    least: Prospect | None


def advise(risk: RunRisk, target: float, most: int = MOST_REPLICAS) -> Advice:
    """Return which number of replicas is best, and the least with which the target is reached.

    More replicas help until the longer run costs more than they bring. A number that is not better
    by a thousandth, or where the chance is below one in 10⁹ anyway, is not better.

    >>> found = advise(RunRisk(processes=10, time=1.0, rate=0.1), target=0.1)
    >>> found.best.replicas, found.least.replicas
    (7, 5)
    """
    prospects = tuple(risk.at(replicas) for replicas in range(1, most + 1))
    best = prospects[0]
    for one in prospects[1:]:
        if one.run_fails < best.run_fails * 0.999 and best.run_fails > _NEGLIGIBLE:
            best = one
    least = next((one for one in prospects if one.run_fails <= target), None)
    return Advice(prospects, best, least)


_NEGLIGIBLE = 1e-9
