"""How likely a run with replicas fails, and how many replicas are best.

A host fails until time t with f(t) = 1 - exp(-(λt)^δ) (Weibull; δ = 1: at a constant rate, δ < 1:
the longer it has been up, the less likely). A rank fails when all its r replicas do, and a run of p
ranks when any rank does: P(p, r) = 1 - (1 - f^r)^p. As r times as many processes share the hosts,
the run takes longer: t(r) = t·(1 + s·(r - 1)), with the slowdown s = 1 where the hosts are as many
as before, and near 0 where there are spare ones. Of a program that takes t₁ on one processor, and
whose share q can be computed in parallel, t = t₁·(1 - q + q/p) (Amdahl).

Below is how somebody writes how often hosts fail, and how times and chances are shown.
"""

from __future__ import annotations

import re
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


def parallel_time(alone: float, share: float, processes: int) -> float:
    """Return how long a program takes on so many processors, by Amdahl's law.

    >>> parallel_time(10.0, 0.5, 10), parallel_time(10.0, 1.0, 10)
    (5.5, 1.0)
    """
    return alone * (1 - share + share / processes)


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


UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31557600.0}

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(s|min|h|d|w|y)\s*")
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*/\s*(\d+(?:\.\d+)?|\.\d+)?\s*(s|min|h|d|w|y)\s*")
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*%\s*")


def duration(written: str) -> float:
    """Return seconds; raises ValueError.

    >>> duration("90min"), duration("2h")
    (5400.0, 7200.0)
    """
    found = _DURATION.fullmatch(written)
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not seconds:
        raise ValueError(f"'{written}' is not a duration; write it as 30s, 90min, 2h, 5d or 1y")
    return seconds


def rate(written: str) -> float:
    """Return failures per second; raises ValueError.

    >>> rate("1/h") * 3600, rate("2 / 10d") * 864000
    (1.0, 2.0)
    """
    found = _RATE.fullmatch(written)
    per = float(found[2] or 1) * UNITS[found[3]] if found else 0.0
    if not found or not per:
        raise ValueError(
            f"'{written}' is not a rate of failures; write how often a host fails as 1/30d or"
            " 0.01/h, or how likely it fails during the run as 5%"
        )
    return float(found[1]) / per


def chance(written: str) -> float:
    """Return a probability between 0 and 1; raises ValueError.

    >>> chance("5%"), chance("0.05")
    (0.05, 0.05)
    """
    found = _PERCENT.fullmatch(written)
    try:
        value = float(found[1]) / 100 if found else float(written)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ValueError(
            f"'{written}' is not a probability; write it as 5% or 0.05, between 0 and 1"
        )
    return value


def is_chance(written: str) -> bool:
    """Tell whether somebody writes a chance, and not a rate."""
    return "/" not in written


def shown_time(seconds: float) -> str:
    """Return a duration in its own unit.

    >>> [shown_time(one) for one in (45.0, 5400.0, 7200.0, 90000.0)]
    ['45 s', '90 min', '2 h', '25 h']
    """
    unit = next((one for one in ("y", "d", "h", "min") if seconds >= 2 * UNITS[one]), "s")
    return f"{seconds / UNITS[unit]:.3g} {unit}"


def shown_chance(value: float) -> str:
    """Return a probability as people read it.

    >>> [shown_chance(one) for one in (0.99999, 0.27414, 0.01, 0.0008, 1e-9, 0.0)]
    ['>99.9 %', '27.4 %', '1 %', '0.08 %', '1e-09', '0']
    """
    if _ALMOST < value < 1:
        return ">99.9 %"
    if not value:
        return "0"
    return f"{value:.0e}" if value < _SMALL else f"{100 * value:.3g} %"


_SMALL = 1e-5
_ALMOST = 0.9995
