"""What ranks report of their calls where a run is checked, and the faults that follow."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from runtime.checks import FaultFound
from runtime.machine.contracts import Facts
from runtime.machine.deaths import UnreadableReport
from runtime.topology import RankNames
from runtime.views.facts import MACHINE
from runtime.views.stream import FactStream

TYPE_CHECKING = False  # what compares calls is imported where a run is checked
if TYPE_CHECKING:
    from runtime.checks.comparison import CallComparison
    from runtime.machine.rank_states import Wait

MOST_FAULTS = 100
"""So many faults are told."""

_log = logging.getLogger(__name__)


class CheckReports:
    """Tells each fault once, as a fact and in the log. All methods are for the engine's thread."""

    def __init__(self, facts: FactStream, names: RankNames) -> None:
        self._facts = facts
        self._names = names
        self._compared: CallComparison | None = None
        self._reported = 0
        self.calls = 0
        """How many calls ranks have reported."""

    def take(self, rank: str, plain: Facts) -> None:
        """Take what a rank reports; raises UnreadableReport."""
        from runtime.checks.comparison import CallComparison
        from runtime.checks.reports import report_from

        if self._compared is None:
            self._compared = CallComparison(self._names)
        known = len(self._compared.choices)
        try:
            report = report_from(plain)
            faults = self._compared.add(rank, report)
        except (KeyError, TypeError, ValueError, IndexError) as fault:
            raise UnreadableReport(f"it is no report of calls: {fault!r}") from fault
        self.calls += report.count
        for text in [*self._compared.choices.values()][known:]:
            _log.info("%s, another one than without --check", text)
        self._tell(faults)

    def stuck(self, calls: Iterable[tuple[str, Wait]], *, in_collectives: bool) -> str:
        """Tell faults of ranks that wait for ever; return why the run has to end for them, or "".

        `calls` are ranks with what they wait in. A receive that lacks its message explains
        sends that nobody receives. Where calls did not fit, what waits for ever does so for that;
        if ranks may be out of step, those that have waited for long `in_collectives` do so in vain,
        too, or have wrong data.
        """
        if self._compared is None:
            return ""
        from runtime.checks.comparison import ORDER, OUT_OF_STEP

        compared = self._compared
        waiting = [(rank, wait.where.partition(" in ")[0], wait) for rank, wait in calls]
        if compared.first:
            is_in_vain = waiting or (in_collectives and compared.first in OUT_OF_STEP)
            return "calls of ranks do not fit" if is_in_vain else ""
        found = [
            compared.stuck(rank, where, for_sends_alone=wait.is_for_sends)
            for rank, where, wait in waiting
        ]
        faults = [one for one in found if one is not None]
        of_order = [one for one in faults if one.kind == ORDER]
        fresh = [one for one in of_order or faults if compared.is_new(one.kind, *one.calls)]
        self._tell(compared.told(fresh))
        if of_order:
            return "with --check receives from any source take other messages than usual"
        if faults or any(compared.may_rely_on_buffers(rank, where) for rank, where, _ in waiting):
            return "with --check sends wait until they are received"
        return ""

    def _tell(self, faults: Sequence[FaultFound]) -> None:
        for one in faults[: MOST_FAULTS - self._reported]:
            self._reported += 1
            self._facts.tell(MACHINE, one)
            _log.warning("a fault of the program (%s): %s", one.kind, one.text)
