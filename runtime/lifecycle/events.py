"""What can happen to a run, and what is to be done about it: the words of the run's machine."""

from __future__ import annotations

from gcm.records import dataclass
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName
from runtime.step_name import StepName

# --- events -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begin:
    """Nothing has been done yet; it may begin."""


@dataclass(frozen=True, slots=True)
class StepUp:
    """A step of the plan is up, or done when it is one that ends."""

    step: StepName


@dataclass(frozen=True, slots=True)
class StepFailed:
    """A step of the plan will not come up; `why` is the whole message.

    If that `is_final`, another attempt would fail as well.
    """

    step: StepName
    why: str
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class RankHere:
    """A rank has found its front-end; its MPI may not have started yet."""

    rank: RankName


@dataclass(frozen=True, slots=True)
class RankReady:
    """A rank has started its MPI and waits for all others."""

    rank: RankName


@dataclass(frozen=True, slots=True)
class Aborted:
    """A rank has called `MPI.Abort`: everything ends at once. How it ended was told before."""

    rank: RankName


@dataclass(frozen=True, slots=True)
class JobEnded:
    """The native MPI of a cluster has ended, and with it all its ranks.

    `is_fault` says that it has failed itself, and not because of a rank; `by_request` that the
    program which drives the machine had the ranks ended, as it may.
    """

    cluster: str
    code: int
    why: str = ""
    is_fault: bool = False
    by_request: bool = False


@dataclass(frozen=True, slots=True)
class OutputFollows:
    """Nothing of a cluster runs any more, but some of its output has not been taken yet."""

    cluster: str


@dataclass(frozen=True, slots=True)
class OutputPassedOn:
    """All output of a cluster has been taken, and its front-end ends."""

    cluster: str


@dataclass(frozen=True, slots=True)
class AssemblyEnded:
    """The user's assembly has nothing more to do; `why` says more where the code does not."""

    code: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class NodeLost:
    """A process that holds components has gone without being asked."""

    step: StepName
    why: str
    goes_on: bool = False
    """Whether the run goes on without it."""


@dataclass(frozen=True, slots=True)
class PlaceLost:
    """The front-end of a cluster, or the way to it, has gone without being asked."""

    cluster: str
    why: str


@dataclass(frozen=True, slots=True)
class PlaceQueued:
    """The nodes of a cluster are asked for; `words` say where its job is in the queue."""

    cluster: str
    words: str


@dataclass(frozen=True, slots=True)
class PlaceLate:
    """The run begins without a cluster, whose job waits in the queue; its ranks come later."""

    cluster: str


@dataclass(frozen=True, slots=True)
class Walltime:
    """How many seconds a job has `left` when its nodes are granted.

    The run ends `reserve` seconds before the job, by default a minute or a quarter of a shorter
    time, so that results come home. Its ranks get `signal`, if it has a name, `signal_before`
    seconds before the end of the job, by default two minutes or half of a shorter time.
    """

    left: float
    reserve: float | None = None
    signal: str = ""
    signal_before: float | None = None


@dataclass(frozen=True, slots=True)
class PlaceGranted:
    """A cluster has its nodes, for a `walltime` if that is limited."""

    cluster: str
    walltime: Walltime | None = None


@dataclass(frozen=True, slots=True)
class ParentKilled:
    """The process that has forked the front-ends of this machine was ended by somebody else.

    They and their ranks end with it, and may tell of that before; `why` is the whole message.
    """

    why: str


@dataclass(frozen=True, slots=True)
class PlaceClosed:
    """The front-end of a cluster has ended, as asked."""

    cluster: str


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Somebody pressed Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Halt:
    """The program that holds the machine wants it to end."""


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """Ranks wait in vain, for others of their cluster that have ended unless `what` says more.

    `why` says which and for whom, `are_all` that nobody else can go on either.
    """

    why: str
    are_all: bool = False
    what: str = "ranks wait for others that have ended, and would wait for ever"


@dataclass(frozen=True, slots=True)
class Stuck:
    """It was told of these ranks that they wait and can never go on."""

    ranks: tuple[RankName, ...]


@dataclass(frozen=True, slots=True)
class Suspected:
    """A rank, `by`, cannot reach another one, and nobody has told since that either has ended.

    To be `blamed` is the one that others cannot reach either.
    """

    by: RankName
    rank: RankName
    why: str
    blamed: RankName


@dataclass(frozen=True, slots=True)
class Explained:
    """It has been told what all ranks were doing when the run was to end."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; what is due is in the machine's deadline."""


Event = (
    Begin
    | StepUp
    | StepFailed
    | RankHere
    | RankReady
    | RankDeath
    | Aborted
    | JobEnded
    | OutputFollows
    | OutputPassedOn
    | AssemblyEnded
    | NodeLost
    | PlaceLost
    | PlaceQueued
    | PlaceLate
    | PlaceGranted
    | ParentKilled
    | PlaceClosed
    | Interrupt
    | Halt
    | Explained
    | LeftBehind
    | Stuck
    | Suspected
    | Tick
)

# --- effects ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """Start a step; report when it is up."""

    step: StepName


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """Begin without a cluster, which comes later."""

    cluster: str


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Ask for other nodes for a cluster that was lost, which comes late then."""

    cluster: str


@dataclass(frozen=True, slots=True)
class Fill:
    """Start the ranks of a cluster that has come late, in the places that were kept for them."""

    cluster: str


@dataclass(frozen=True, slots=True)
class LetGo:
    """Give the nodes of a cluster back that will not come: none of its ranks has ever run."""

    cluster: str


@dataclass(frozen=True, slots=True)
class Go:
    """Let the application run on every rank."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask the places to end in order, and report each when it has."""


@dataclass(frozen=True, slots=True)
class Kill:
    """End everything at once, and report each place when it has."""


@dataclass(frozen=True, slots=True)
class Explain:
    """Tell what all ranks are doing, and report when that is done; if brief, only why they wait."""

    is_brief: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Leave results where they are, and report each cluster's as failed."""


@dataclass(frozen=True, slots=True)
class Show:
    """Tell the user that a part of the machine is in another state.

    `walltime` is that of the nodes of a cluster that are granted now.
    """

    path: str
    state: str
    detail: str = ""
    walltime: float | None = None


@dataclass(frozen=True, slots=True)
class Announce:
    """Tell the other ranks that one has died.

    Ranks that do not go on without it are told only of one that could not say so itself. It is not
    `is_new` where they were told of it before.
    """

    death: RankDeath
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Condemn:
    """Declare a cluster lost although it lives: others cannot reach it.

    Where nobody goes on without it the run fails for the `line` that is cut: from which cluster to
    which.
    """

    cluster: str
    why: str
    line: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class CondemnRank:
    """End a rank although it lives: others of its cluster cannot reach it."""

    rank: RankName
    why: str


@dataclass(frozen=True, slots=True)
class TellUnreachable:
    """Tell a rank, `by`, that another one that it cannot reach is lost to it."""

    by: RankName
    rank: RankName
    why: str


@dataclass(frozen=True, slots=True)
class Signal:
    """Send the ranks of a cluster a signal, such as `USR1`: the walltime of its job ends soon."""

    cluster: str
    signal: str


@dataclass(frozen=True, slots=True)
class LimitTime:
    """Tell the ranks of a cluster in how many seconds they are ended, and save their state before.

    Both are infinite once no job limits them any more.
    """

    cluster: str
    ends: float
    saves: float


@dataclass(frozen=True, slots=True)
class Discard:
    """Let go of the results of a cluster: the step that would fetch them is not needed."""

    step: StepName


@dataclass(frozen=True, slots=True)
class Finish:
    """There is nothing left; the run ended with this code."""

    code: int


Effect = (
    Start
    | LeaveOut
    | AskAgain
    | Fill
    | LetGo
    | Discard
    | Go
    | Stop
    | Kill
    | Explain
    | GiveUp
    | Show
    | Announce
    | TellUnreachable
    | Condemn
    | CondemnRank
    | Signal
    | LimitTime
    | Finish
)
