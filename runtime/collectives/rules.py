"""Rules that choose plans by name: the text of `plans` in descriptors, and what a tuning stores.

Each word is a rule, `OPERATION[:BYTES][@SHAPE]=PLAN[/SEGMENT]`, or only the plan, for all that have
it. A rule with `BYTES` is for messages from that size on; one with a `SHAPE`, the members of each
cluster as in `2+2|3`, for communicators of that shape. The last rule that fits is taken; its plan
may be `usual`, as if there were no rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gcm.records import dataclass
from gcm.suggestion import did_you_mean
from runtime.collectives.blocks import SEGMENT
from runtime.collectives.choice import (
    COMPONENTS,
    PLANS,
    SEGMENTED,
    Choice,
    PlanChoice,
    Sites,
)
from runtime.collectives.components import MOST_BYTES

_RULE = re.compile(
    r"(?:(?P<operation>\w+)(?::(?P<least>\d+))?(?:@(?P<shape>[\d+|]+))?=)?"
    r"(?P<plan>[\w-]+)(?:/(?P<segment>\d+))?",
    re.ASCII,
)
_LEAST_SEGMENT = 1024
_REDUCTIONS = {"Reduce", "Allreduce"}
USUAL = "usual"


class RuleFault(ValueError):
    """A word is no rule."""


@dataclass(frozen=True, slots=True)
class PlanRule:
    """One rule; an empty operation or shape stands for any."""

    plan: str
    operation: str = ""
    least: int = 0
    """The rule is for messages from this size on; only then has a size to be known."""
    shape: str = ""
    segment: int = SEGMENT

    def __str__(self) -> str:
        choice = str(Choice(self.plan, self.segment))
        if not self.operation:
            return choice
        least = f":{self.least}" if self.least else ""
        return f"{self.operation}{least}{self.shape and f'@{self.shape}'}={choice}"

    def fits(self, operation: str, size: int | None, shape: str, plans: Sequence[str]) -> bool:
        """Return whether it chooses for an operation."""
        return (
            self.plan in (USUAL, *plans)
            and self.operation.lower() in ("", operation.lower())
            and self.shape in ("", shape)
            and self.least <= (size or 0)
        )


def read_rules(text: str) -> tuple[PlanRule, ...]:
    """Return the rules of a text.

    >>> [str(rule) for rule in read_rules("flat bcast:65536@2+2|3=chain/65536")]
    ['flat', 'bcast:65536@2+2|3=chain/65536']

    Raises:
        RuleFault: there is no such operation, or it has no such plan.
    """
    return tuple(map(_read_rule, text.split()))


def beside_components(text: str) -> str:
    """Return what does not go through the components of the machine where rules name these.

    That is a sentence for the user, "" where no rule names them.

    >>> beside_components("bcast=tree")
    ''
    >>> beside_components("gather=components")[:46]
    'through components go Gather, in order of rank'
    """
    rules = [one for one in read_rules(text) if one.plan == COMPONENTS]
    if not rules:
        return ""
    asked = {one.operation.lower() for one in rules}
    through = [
        name for name, plans in PLANS.items() if COMPONENTS in plans and asked & {"", name.lower()}
    ]
    reductions = " (of reductions SUM, PROD, MAX and MIN)" if {*through} & _REDUCTIONS else ""
    return (
        f"through components go {', '.join(through)}{reductions}, in order of ranks and of up to"
        f" {MOST_BYTES >> 20} MiB of all members; all else goes between ranks as usual"
    )


def _read_rule(word: str) -> PlanRule:
    found = _RULE.fullmatch(word)
    if found is None:
        raise RuleFault(f"'{word}' is no rule; write OPERATION=PLAN, such as bcast=flat")
    operation, plan = found["operation"] or "", found["plan"]
    named = [name for name in PLANS if operation.lower() in ("", name.lower())]
    if not named:
        hint = (
            did_you_mean(operation.lower(), [name.lower() for name in PLANS])
            or f"there are: {', '.join(PLANS)}"
        )
        raise RuleFault(f"'{operation}' has no plans to choose from; {hint}")
    plans = dict.fromkeys((*(plan for name in named for plan in PLANS[name]), USUAL))
    if plan not in plans:
        whose = f"{operation} has no" if operation else "no operation has a"
        raise RuleFault(f"{whose} plan '{plan}'; there are: {', '.join(plans)}")
    segment = int(found["segment"] or SEGMENT)
    if found["segment"] and (segment < _LEAST_SEGMENT or not {*named} & {*SEGMENTED}):
        raise RuleFault(f"'{word}' has a segment of {segment} bytes, which serves no operation")
    return PlanRule(plan, operation, int(found["least"] or 0), found["shape"] or "", segment)


def shape_of(sites: Sites) -> str:
    """Return the shape of a communicator: the members of each cluster, by site.

    >>> shape_of((((0, 1), (2, 3)), ((4,),)))
    '2+2|1'
    """
    return "|".join("+".join(str(len(cluster)) for cluster in site) for site in sites)


class RuledPlans:
    """Chooses by rules, and where none fits as the next controller does.

    >>> from runtime.collectives.choice import UsualPlans
    >>> choice = RuledPlans(UsualPlans(), read_rules("Bcast=flat Bcast:1024=chain/65536"))
    >>> [choice.choose("Bcast", n, (((0,),),), PLANS["Bcast"]) for n in (8, 1024)]
    ['flat', 'chain/65536']
    """

    def __init__(self, usual: PlanChoice, rules: Iterable[PlanRule]) -> None:
        self._usual, self._rules = usual, tuple(rules)

    def choose(self, operation: str, size: int | None, sites: Sites, plans: Sequence[str]) -> str:
        """Return the plan of the last rule that fits if there is one."""
        shape = shape_of(sites)
        for rule in reversed(self._rules):
            if rule.fits(operation, size, shape, plans):
                if rule.plan == USUAL:
                    break
                return str(Choice(rule.plan, rule.segment if operation in SEGMENTED else SEGMENT))
        return self._usual.choose(operation, size, sites, plans)
