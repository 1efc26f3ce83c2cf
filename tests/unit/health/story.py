"""Scenario scripts of the detector: what happens to members, and the trace of what they say.

A script has commands, one on each line, then `----`, then the trace that they lead to:

    members a b c d  protocol dbrr  period 0.5  hang 1      # before everything else
    run 10                                                  # let so many seconds pass
    kill a | freeze a | thaw a | cut-off a | heal | restart a | closed a by b | lose 0.05
"""

from __future__ import annotations

from random import Random

from benchmarks.detectors.simulated_members import AnyDetector, World
from runtime.health import (
    Declare,
    DetectorProtocol,
    DetectorSettings,
    Effect,
    Expelled,
    Join,
    Send,
    Suspect,
    Trust,
)
from runtime.health.gossip import GossipDetector
from runtime.health.hierarchical import Groups, HierarchicalDetector

MARK = "----\n"


def in_words(effect: Effect) -> str:
    """Return what a member does, as a sentence."""
    match effect:
        case Suspect(member, silence):
            return f"suspects {member}, silent for {silence:.3g} s"
        case Trust(member):
            return f"hears of {member} again"
        case Declare(member, incarnation, why):
            return f"declares {member}{f' ({incarnation})' if incarnation else ''} dead: {why}"
        case Join(member, incarnation):
            return f"welcomes {member} ({incarnation})"
        case Expelled(by):
            return f"is expelled by {by} and ends"
        case Send(to, message):
            return f"sends {message} to {to}"


class Story:
    """One script while it is told."""

    def __init__(self, first_line: str) -> None:
        words = first_line.partition("#")[0].split()
        at = words.index("protocol")
        self.names = words[1:at]
        told = dict(zip(words[at::2], words[at + 1 :: 2], strict=True))
        self._settings = DetectorSettings(
            DetectorProtocol(told["protocol"]), float(told["period"]), float(told["hang"])
        )
        self._arbiter = told.get("arbiter", "")
        size = int(told.get("groups", "0")) or len(self.names)
        self._groups = Groups(
            [self.names[one : one + size] for one in range(0, len(self.names), size)]
        )
        self.trace: list[str] = []
        self._incarnations = dict.fromkeys(self.names, 0)
        phases = {name: number * 0.1 for number, name in enumerate(self.names)}
        self.world = World(
            {name: self._detector(name, phases[name]) for name in self.names},
            random=Random(0),
            latency=lambda _: 0.01,
            seen=lambda now, who, one: self.trace.append(f"{now:6.2f}  {who} {in_words(one)}"),
        )

    def _detector(self, name: str, now: float) -> AnyDetector:
        if self._settings.protocol is DetectorProtocol.HIERARCHICAL:
            return HierarchicalDetector(self._groups, name, self._settings, now)
        return GossipDetector(
            self.names, name, self._settings, now,
            incarnation=self._incarnations[name], arbiter=self._arbiter,
        )  # fmt: skip

    def do(self, line: str) -> None:
        """Carry out one line."""
        match line.partition("#")[0].split():
            case []:
                return
            case ["run", seconds]:
                self.world.run(float(seconds))
                return
            case ["restart", name]:
                self._incarnations[name] += 1
                self.world.restart(name, self._detector(name, self.world.now))
            case ["closed", name, "by", *watchers]:
                self.trace.append(f"{self.world.now:6.2f}  -- {line}")
                self.world.close(name, "its connection has ended", *watchers)
                return
            case ["lose", share]:
                self.world.loss = float(share)
            case ["heal"]:
                self.world.heal()
            case ["kill" | "freeze" | "thaw" | "cut-off" as what, *names]:
                self.trace.append(f"{self.world.now:6.2f}  -- {line}")
                for name in names:
                    getattr(self.world, what.replace("-", "_"))(name)
                return
            case _:
                raise ValueError(f"'{line}' is no command")
        self.trace.append(f"{self.world.now:6.2f}  -- {line}")


def told(script: str) -> list[str]:
    """Return the lines of a script, its commands with the trace that they lead to."""
    commands = script.partition(MARK)[0].splitlines()
    first, *others = (line for line in commands if not line.startswith("#"))
    story = Story(first)
    for line in others:
        story.do(line)
    return [*commands, MARK.strip(), *story.trace]
