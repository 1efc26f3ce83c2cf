"""Failure probabilities, the best degree of replication, and the detector (000 4, 001 4.5, 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from benchmarks.detectors.reliability import PUBLISHED, failure_probability
from benchmarks.detectors.simulation import Case, Run
from benchmarks.evaluate.figure import Claim, Figure, Sample, Setting
from runtime.health import DetectorProtocol
from runtime.peers.advice import RunRisk, advise, host_fails, parallel_time, run_fails

PRINTED = {1: 0.99, 2: 0.27}
"""The chance that a run of 128 processes fails, by replicas, as printed (f = 0.05)."""
TRIALS = 5.8e9
RATE, SEQUENTIAL, PROCESSES = 0.1, 10.0, 10


def probability(_setting: Setting) -> Iterator[Sample]:
    """Yield the chance that runs of 2 to 1024 processes fail, with one to four replicas."""
    for replicas in range(1, 5):
        for power in range(1, 11):
            chance = run_fails(0.05, 1 << power, replicas)
            yield Sample("", 1 << power, f"r = {replicas}", chance)
            if power == 7 and replicas in PRINTED:
                off = abs(round(chance, 2) - PRINTED[replicas])
                yield Sample("", 128, "off what is printed", off + 1e-12)


def degree(_setting: Setting) -> Iterator[Sample]:
    """Yield the chance by replicas, if so much of the program is parallel: Amdahl's run time."""
    for parallel in (1.0, 0.95, 0.9, 0.5):
        risk = RunRisk(PROCESSES, parallel_time(SEQUENTIAL, parallel, PROCESSES), RATE)
        found = advise(risk, target=0.01)
        way = f"p = {parallel:g}"
        for one in found.prospects[:12]:
            yield Sample("", one.replicas, way, one.run_fails)
        yield Sample("", 0, f"best for {way}", found.best.replicas)


def bounds(protocol: DetectorProtocol, members: int, dead: float) -> tuple[float, float]:
    """Return between which bounds the probability lies that the detector fails (Bonferroni).

    The upper one adds up over all members that a living one has lost all its sources, the lower one
    subtracts what two of them have in common. Exact enumeration ends at 16 members.

    >>> low, high = bounds(DetectorProtocol.BRR, 16, 0.05)
    >>> low <= failure_probability(DetectorProtocol.BRR, 16, 0.05) <= high
    True
    """
    steps = {step % members for step in protocol.row.offsets(members)}
    sources = [frozenset((member - step) % members for step in steps) for member in range(members)]
    high = members * (1 - dead) * dead ** len(steps)
    both = sum(
        (1 - dead) ** 2 * dead ** len(sources[one] | sources[other])
        for one, other in combinations(range(members), 2)
        if one not in sources[other] and other not in sources[one]
    )
    return high - both, high


def reliability(_setting: Setting) -> Iterator[Sample]:
    """Yield the probability that the detector itself fails, for 4 to 256 members."""
    for dead, case in ((0.05, "f = 0.05"), (host_fails(RATE, 1.0), "Weibull, λt = 0.1")):
        for protocol in (DetectorProtocol.BRR, DetectorProtocol.DBRR):
            for members in (4, 8, 16, 32, 64, 128, 256):
                if members <= 8:
                    low = high = failure_probability(protocol, members, dead)
                else:
                    low, high = bounds(protocol, members, dead)
                yield Sample(case, members, f"{protocol}", high)
                yield Sample(case, members, f"{protocol}, from", low)
                told = PUBLISHED.get((members, str(protocol)))
                if told and dead == 0.05:
                    off = max(low / told, told / high)
                    yield Sample(case, members, f"{protocol}, off the published one", off)
                if protocol is DetectorProtocol.DBRR and dead == 0.05:
                    yield Sample(case, members, "failures in all trials", TRIALS * high)


TIMES, APART, MESSAGES, WRONG = "{}", "{}, apart", "{}, messages", "{}, wrong suspicions"


def gossip(setting: Setting) -> Iterator[Sample]:
    """Simulate groups whose heartbeats go in turn, and such in which they go to random members."""
    usual = Case(DetectorProtocol.DBRR, 0, 60.0, deaths=2, seed=setting.turn + 1)
    ways = {
        "DBRR": usual,
        "BRR": replace(usual, protocol=DetectorProtocol.BRR),
        "random": replace(usual, protocol=DetectorProtocol.RANDOM),
        "random as DBRR": replace(usual, at_random=True),
        "random as BRR": replace(usual, protocol=DetectorProtocol.BRR, at_random=True),
    }
    for members in (16,) if setting.short else (16, 64, 256):
        for way, case in ways.items():
            found = Run(replace(case, members=members)).found()
            yield Sample("", members, TIMES.format(way), found.mean)
            yield Sample("", members, APART.format(way), found.last - found.first)
            yield Sample("", members, MESSAGES.format(way), found.messages)
            yield Sample("", members, WRONG.format(way), found.suspicions)


def detection(setting: Setting) -> Iterator[Sample]:
    """Simulate groups in which members die; yield from a death to its verdict."""
    for members in (16, 32) if setting.short else (16, 32, 64, 128, 256):
        for protocol in (DetectorProtocol.BRR, DetectorProtocol.DBRR):
            case = Case(protocol, members, 60.0, deaths=2)
            found = Run(replace(case, seed=setting.turn + 1)).found()
            yield Sample(f"{protocol}", members, "observed", found.mean)
            yield Sample(f"{protocol}", members, "T_cleanup + 1 s", found.cleanup + 1.0)
            yield Sample(f"{protocol}", members, "wrong verdicts", found.false_verdicts)


FIGURES = (
    Figure(
        "failure-probability", "The chance that a run fails, by processes and replicas (f = 0.05)",
        ("000 4.9",),
        "128 processes: 99 % without replicas, 27 % with two of each.",
        (Claim("off what is printed by ≤ 0.01", "off what is printed", 0.0101, exact=True),),
        probability, across="processes", unit="probability", factor=1, turns=1, needs_grid=False,
        drawn=tuple(f"r = {replicas}" for replicas in range(1, 5)),
        remark="Computed.",
    ),
    Figure(
        "best-degree", "The chance that a run fails, by replicas, which take time",
        ("001 10",),
        "10 processes, λ = 0.1, 10 s of sequential work: the curve is convex, and its minimum is "
        "at about 7 replicas.",
        (
            Claim("all parallel: the best degree is at most 7", "best for p = 1", 7, exact=True),
            Claim("5 % sequential: it is lower than 7", "best for p = 0.95", 6, exact=True),
        ),
        degree, across="replicas", unit="probability", factor=1, turns=1, needs_grid=False,
        remark="Computed, with the run time of Amdahl's law times the replicas.",
    ),
    Figure(
        "detector-reliability", "The chance that the detector itself fails",
        ("000 4.13", "000 7", "001 12"),
        "BRR 9.5·10⁻³, 9.5·10⁻⁴, 9.5·10⁻⁵ and DBRR 4.8·10⁻⁴, 2.3·10⁻⁶, 1.2·10⁻⁸ for 4, 8 and 16 "
        "members; for more than 16, DBRR never failed in 5.8·10⁹ trials.",
        (
            Claim("BRR: off the published ones by ≤ 1 %", "brr, off the published one", 1.01,
                  exact=True),
            Claim("DBRR, up to 16 members: off the published ones by ≤ 1 %",
                  "dbrr, off the published one", 1.01, exact=True),
            Claim("DBRR, 32 members: ≤ 1 failure in 5.8·10⁹ trials", "failures in all trials", 1.0,
                  sizes=(32,), exact=True),
        ),
        reliability, across="members", unit="probability", factor=1, turns=1, needs_grid=False,
        drawn=("brr", "dbrr"),
        remark="Exact for up to 8 members, beyond by Bonferroni's bounds, which agree to four "
        "digits. So it shows what more trials would have found for more than 16 members.",
    ),
    Figure(
        "detection-time", "From a death to its verdict, T_gossip = 0.5 s",
        ("000 4.15", "000 8", "001 13"),
        "as T_cleanup says (BRR 4 to 8 s, DBRR 6 to 12 s for 16 to 256 members), and some 0.5 s "
        "more for the ping and rounding; no wrong verdict.",
        (
            Claim("BRR: ≤ T_cleanup + 1 s", "observed", 1.0, "T_cleanup + 1 s", ("brr",)),
            Claim("DBRR: ≤ T_cleanup + 1 s", "observed", 1.0, "T_cleanup + 1 s", ("dbrr",)),
            Claim("no wrong verdict", "wrong verdicts", 0.0),
        ),
        detection, across="members", unit="s", factor=1, seconds=120, needs_grid=False,
        drawn=("observed", "T_cleanup + 1 s"),
        remark="The detector's own code, simulated; each repetition has another seed.",
    ),
    Figure(
        "random-gossip", "From a death to its verdict: heartbeats in turn and to random members",
        ("000 4.6 (text)", "001 5.1 (text)"),
        "random gossip spreads the load as evenly, but its time to a verdict is not determined, "
        "and a member may be suspected that lives, unless T_cleanup is longer; not measured.",
        (
            Claim("the time to a verdict: DBRR ≤ 1.0 × random", "DBRR", 1.0, "random"),
            Claim("between first and last verdict: DBRR ≤ 1.0 × random",
                  APART.format("DBRR"), 1.0, APART.format("random")),
            Claim("messages: DBRR ≤ 1.05 × random",
                  MESSAGES.format("DBRR"), 1.05, MESSAGES.format("random")),
            Claim("nobody is suspected wrongly: DBRR", WRONG.format("DBRR"), 0.0),
            Claim("nobody is suspected wrongly: random", WRONG.format("random"), 0.0),
            Claim("random with the T_cleanup of DBRR suspects the living",
                  WRONG.format("random as DBRR"), 0.0, above=True),
            Claim("random with the T_cleanup of BRR suspects the living",
                  WRONG.format("random as BRR"), 0.0, above=True),
        ),
        gossip, across="members", unit="s", factor=1, seconds=120, needs_grid=False,
        why_not="first and last verdicts are equally far apart. The T_cleanup of DBRR is long "
        "enough for random gossip in most seeds.",
        drawn=("DBRR", "BRR", "random"),
        remark="The detector's own code, simulated, T_gossip = 0.5 s; each repetition has another "
        "seed. T_cleanup of random gossip is that at which a heartbeat has not reached a member "
        "with a chance of 10⁻⁹. In runs: `<failure-detector protocol=\"random\">`.",
    ),
)  # fmt: skip
