"""The contracts between the components of a running machine: read this first.

```
launcher
   │  ▲
   ▼  │            one front-end for each cluster: clustering components of the cluster, and of
front-end          the site and the grid that it leads
   │  ▲
   ▼  │
rank               a wrapper in each process
```

A contract has one class for each direction in which it is called. Between the components of the
machine go `Membership`, `Health` and `References` upwards, `Views`, `Control` and `Routes`
downwards. Front-ends tell the launcher what happens by `Reports`, and it tells them what to do by
`Orders`. What only the launcher can decide ranks ask it themselves, by `Appeals`, to some of which
it has `LauncherAnswers`; those of coupled codes also by `Coupling`, which it answers with
`CouplingNews`, and they send each other `Mail`. `runtime.machine.authority` says which of these
calls a front-end passes on unopened.

All operations are notifications: nobody waits for an answer, and those of one sender arrive in the
order in which they were sent. They are carried out at once by the thread that receives them, so
they must not wait. Arguments are plain data (numbers, text, bytes, lists, dictionaries), because
the processes above open nothing else of what a rank sends. The first argument of every upward call
is its sender's identifier, `0:1:2` for a rank, `0:1` for a cluster, `0` for a site; the receiver
compares it with the name that the sender has proved when it connected.
"""

from __future__ import annotations

from typing import Any, Protocol

Facts = dict[str, Any]
"""What one process reports to another, as plain data; the receiver makes a value of it."""

CollectiveData = bytes | str
"""The data of a collective; text says why there are none, which fails the call at all ranks."""


class Membership(Protocol):
    """Upwards: who has come, and what members give to collectives that components carry out."""

    def ready(self, member: str, reports: list[Facts]) -> None:
        """Tell that a member is ready, and what those below it report.

        Of a rank that is a `RankArrival` of `runtime.membership.whereabouts`.
        """

    def contribute(
        self, member: str, call: str, how: tuple[str, str], group: list[str], data: CollectiveData
    ) -> None:
        """Give data to a collective of a group of ranks.

        The name of the `call` begins with the code and its incarnation: `ocean#2:`. `how` has the
        rule by which data are merged, see `runtime.collectives.components`, and the rank that gets
        the result; "" for all.
        """


class Views(Protocol):
    """Downwards, the other half of membership: who belongs to the machine, what came of calls."""

    def view(self, table: bytes) -> None:
        """Tell who is where, encoded once by the component on top; see `runtime.machine.table`."""

    def lost(self, reports: list[Facts]) -> None:
        """Tell which ranks have ended, each a `RankDeath` of `runtime.machine.deaths`.

        One with a `lost_to` lives, and is lost to that rank alone. One with a `told_to` is for that
        rank alone, which has asked.
        """

    def collected(self, call: str, to: str, group: list[str], data: CollectiveData) -> None:
        """Bring the result of a collective to the rank `to`, or to all of the group.

        The others get no data: this tells them that all have given theirs. All get a text.
        """


class Health(Protocol):
    """Upwards: how members end, and why some cannot begin."""

    def unable(self, member: str, why: str, python: str) -> None:
        """Tell that a rank cannot start its MPI."""

    def ended(self, member: str, observed: Facts) -> None:
        """Tell how the program of a rank ends, as an `Observation` of `runtime.machine.deaths`."""

    def aborted(self, member: str, observed: Facts) -> None:
        """Tell that a rank ends the run, and how the rank itself ends."""


class Appeals(Protocol):
    """From a rank to the launcher: what no front-end can decide, which passes it on unopened.

    `member` is the name that the rank has proved, with its incarnation, such as `0:1:0#2`, and so
    are the names of other ranks.
    """

    def replace(self, member: str, lost: list[str]) -> None:
        """Ask for processes to be started in place of lost ranks."""

    def suspects(self, member: str, rank: str, why: str) -> None:
        """Report that another rank cannot be reached.

        If `Views.lost` says that it is lost, it is.
        """

    def trusts(self, member: str, rank: str) -> None:
        """Report that the other rank is reached again."""

    def awaits_end(self, member: str, rank: str) -> None:
        """Ask to be told by `Views.lost` once another rank has ended, now if it has already."""

    def waiting(self, member: str, number: int, state: Facts) -> None:
        """Report the calls of the rank, as the answer to a question with a number.

        The number is 0 where the launcher did not ask and a call has waited for long, -1 at the
        end of the rank; `state` is a `RankState` as it travels.
        """

    def called(self, member: str, rows: list[Any]) -> None:
        """Report which MPI calls the rank made: name, number, and seconds of each."""

    def used(self, member: str, memory: int, cpu: float) -> None:
        """Report the bytes that the rank had at most, and its seconds of processor time."""

    def traced(self, member: str, head: Facts, rows: bytes) -> None:
        """Report the latest calls and messages, packed as `runtime.matching.traced` has them.

        The `head` says when the rows begin and what their numbers stand for, and the time at which
        the rank sends this, by its own clock.
        """

    def checked(self, member: str, report: Facts) -> None:
        """Report calls that have to fit those of other ranks; see `runtime.checks.report_from`."""

    def uses_native_mpi(self, member: str, files: list[str], why: str) -> None:
        """Report new libraries of the program that compute on one cluster, and why they do."""

    def asks_for_name(self, member: str, number: int, kind: str, name: str, port: str) -> None:
        """Publish, take back or look up the name of a port; `kind` is a `NameRequest`.

        `LauncherAnswers.name_answered` with the number is the answer.
        """


class LauncherAnswers(Protocol):
    """From the launcher to one rank: what it has asked for, and waits for."""

    def name_answered(self, number: int, answer: int, port: str) -> None:
        """Answer a question about a name with a `NameAnswer`, and the port that has the name."""


class References(Protocol):
    """Upwards: what a member has learned of the ways to others, and how it used them."""

    def learned(self, member: str, experiences: list[Any]) -> None:
        """Tell which routes worked and which did not; see `runtime.routing.plain`."""

    def counted(self, member: str, rows: list[Any], figures: dict[str, int]) -> None:
        """Tell what was sent to whom until now, and how it went."""

    def exchanged(self, member: str, rows: list[Any], figures: dict[str, int]) -> None:
        """Tell what was sent to whom until the end."""


class Control(Protocol):
    """Downwards: what a member is to do."""

    def configure(self, settings: dict[str, Any], routes: list[Any]) -> None:
        """Tell a member its `RankSettings` before it runs, and which routes others have found."""

    def go(self) -> None:
        """Let the program run."""

    def stop(self) -> None:
        """Ask a member to end in order."""

    def signal(self, number: int) -> None:
        """Send the process of a rank a signal, which its program may handle."""

    def limit_time(self, ends: float, saves: float) -> None:
        """Tell in how many seconds the run ends, and in how many programs save their state."""

    def tell_state(self, number: int, with_stacks: bool) -> None:
        """Ask what a rank is doing; `Appeals.waiting` with the number is the answer."""


class CodeRoutes(Protocol):
    """From one rank to another: what a rank of a coupled code asks of one of another code."""

    def come(self, member: str) -> None:
        """Ask a rank to connect to another one."""

    def meet(self, front_end: str, token: str) -> None:
        """Ask a rank to come to a front-end, where another one waits."""


class Routes(CodeRoutes, Protocol):
    """Downwards, and from one rank to another of its code: the other half of references."""

    def news(self, experiences: list[Any]) -> None:
        """Tell which routes worked for others and which did not."""

    def try_again(self) -> None:
        """Let routes be tried again that were found closed."""

    def count(self) -> None:
        """Ask for the figures; `References.counted` is the answer."""


class Coupling(Protocol):
    """From a rank of a coupled code to the launcher: what it wants to know of the other codes."""

    def attach(
        self, member: str, incarnation: int, host: str, advertised: tuple[str, tuple[str, ...]]
    ) -> None:
        """Ask which codes there are, and to be told when they begin and end.

        `advertised` are its machine, and the addresses at which it accepts ranks of other codes.
        """

    def listens(self, member: str) -> None:
        """Tell that a rank which was welcomed answers others that connect to it."""

    def watch(self, member: str, code: str, rank: int) -> None:
        """Ask to be told where a rank of a code listens, and when it ends."""


class CouplingNews(Protocol):
    """From the launcher to a rank, the other half of coupling: who runs, and who has ended."""

    def welcome(
        self,
        me: tuple[str, int],
        incarnation: int,
        directory: tuple[Any, ...],
        states: dict[str, Any],
        machine: bytes,
    ) -> None:
        """Answer `attach`: which code and rank it is, a `Directory`, and the states of codes.

        `machine` is the pickle of the `Grid` with the ranks of all codes.
        """

    def here(self, report: Facts) -> None:
        """Tell where a rank listens: its `rank`, `incarnation`, `host` and `doors`."""

    def began(self, code: str, incarnation: int) -> None:
        """Tell that a code runs; `incarnation` counts its starts."""

    def ended(self, code: str, why: str, members: dict[str, int]) -> None:
        """Tell that all of a code has ended: the incarnations of those of its ranks that asked."""

    def rank_ended(self, code: str, rank: int, why: str, incarnation: int) -> None:
        """Tell that one rank has ended, in an incarnation that is 0 if it has asked for nothing."""

    def rank_began(self, code: str, rank: int, incarnation: int) -> None:
        """Tell that another process is there in the place of one rank that has ended."""


class Mail(Protocol):
    """From a rank of a coupled code, or the program that drives the run, to another of these.

    Who passes it on reads where it goes and who sends it, and opens nothing.
    """

    def deliver(
        self,
        member: str,
        incarnation: int,
        to: int,
        number: int,
        tag: int | tuple[str, str, int],
        *parts: Any,
    ) -> None:
        """Bring a message; `parts` are the bytes of its value, opened by who receives it.

        `incarnation` is that of the sender's code, `to` that of the receiver's; of a rank that was
        started again alone it is its own. It is the `number`th between the two: messages may
        overtake each other on different routes.
        """

    def taken(self, member: str, incarnation: int, weight: int) -> None:
        """Tell how much was received of what the peer has sent in one incarnation."""


class Delivery(Protocol):
    """From a rank to the other ranks of its code: their messages.

    Such bindings are computed from who is where (`runtime.machine.delivery`), and nothing is called
    through them: a message goes over the connection of its pair (`runtime.wire`), whose route the
    `monitor` controllers tell.
    """

    def message(self, member: str, envelope: tuple[int, int, int], payload: bytes) -> None:
        """Bring a message; the envelope has its context, its sender's rank and its tag."""


class Reports(Protocol):
    """From a front-end to the launcher: all that happens in a cluster, singly and at once.

    What ranks write stays behind until the launcher has taken what was written before; nothing else
    waits for anything. Its stub (`runtime.machine.calls.reports_of`) puts the sender before the
    arguments: `0:1`, or `0:1#3` where the third incarnation of the ranks is meant.
    """

    # -- who has come, of the present incarnation of the ranks

    def up(self) -> None:
        """Tell that a front-end is there and serves what it has to."""

    def rank_here(self, rank: str) -> None:
        """Tell that a rank has found its front-end."""

    def rank_ready(self, rank: str, facts: Facts) -> None:
        """Tell that a rank has started its MPI and waits."""

    def compiles(self) -> None:
        """Tell that the ranks wait for a compiler, which makes the library of a C program."""

    def ranks_up(self) -> None:
        """Tell that all ranks of the cluster are ready."""

    def gathered(self, part: str) -> None:
        """Tell that all members of a cluster, a site or the grid (`""`) have told who they are."""

    def node_up(self, name: str, facts: Any) -> None:
        """Tell that a process for the components of a node serves; `facts` make a `NodeFacts`."""

    # -- what failed, and how ranks, jobs and nodes have ended, of the present incarnation too

    def failed(self, step: str, why: str) -> None:
        """Tell that a step of the plan will not come up; `why` is the whole message."""

    def rank_ended(self, rank: str, death: Facts) -> None:
        """Tell how a rank has ended, as a `RankDeath` of `runtime.machine.deaths`."""

    def rank_aborted(self, rank: str) -> None:
        """Tell that a rank ends the run; how it ended was told before."""

    def rank_frozen(self, rank: str, seconds: float) -> None:
        """Tell that a rank has been stopped for so long; 0 if it goes on again."""

    def output_follows(self) -> None:
        """Tell that nothing runs any more, but output is left; told again while that is so."""

    def output_passed_on(self) -> None:
        """Tell that all output has been taken, which is the last that a front-end tells."""

    def job_ended(self, code: int, why: str, is_fault: bool) -> None:
        """Tell that the native MPI has ended; `is_fault` if it failed, and not one of its ranks."""

    def node_lost(self, name: str, why: str) -> None:
        """Tell that a process for the components of a node has gone without being asked."""

    # -- what was carried over which connections

    def rank_exchanged(self, rank: str, rows: list[Any], figures: dict[str, int]) -> None:
        """Tell what a rank has sent to whom until its end."""

    def counted(self, rows: list[Any]) -> None:
        """Tell what all ranks together had sent to whom when they were last asked."""

    def carried(self, messages: int, sent: int, received: int) -> None:
        """Tell what went between the front-end and its ranks: messages, bytes to and from them."""

    def forwarded(self, *figures: int) -> None:
        """Tell what the front-end has forwarded: connections, bytes, addresses found and not."""

    # -- what is written, and who wants to read

    def logged(self, text: str) -> None:
        """Pass on what the front-end logs, for the log of the run."""

    def lines(self, batch: list[tuple[int | None, str, Any]]) -> None:
        """Pass on blocks of whole lines: of a rank or else of `mpiexec`, its stream, the bytes."""

    def node_lines(self, name: str, stream: str, block: bytes) -> None:
        """Pass on whole lines of a node process."""

    def input_wanted(self, size: int) -> None:
        """Tell that the first rank of all wants to read so many bytes."""


class Orders(Protocol):
    """From the launcher to a front-end: who belongs to the machine, what to do with its ranks."""

    # -- who is waited for, and what has changed

    def expect(self, part: str, members: list[str]) -> None:
        """Let a cluster, a site or the grid wait for these members, beside those it waits for."""

    def forget(self, part: str, member: str) -> None:
        """Let a site or the grid wait no more for a member, which is lost."""

    def moved(self, reports: list[Facts]) -> None:
        """Tell where ranks are that were started since, or again.

        One with an `index` takes the place of a lost one while the others go on: they are told.
        """

    def lost(self, reports: list[Facts]) -> None:
        """Tell which ranks have ended; see `Views.lost`."""

    def coupled(self, report: Facts) -> None:
        """Tell where a rank listens for those of other codes, whom front-ends forward to it."""

    # -- ranks and nodes

    def start_ranks(self, incarnation: int) -> None:
        """Start the ranks, or start them again when they have ended, for the so-manieth time."""

    def start_again(self, rank: str, incarnation: int) -> None:
        """Start one rank again beside those that run, in place of one that was lost."""

    def end_rank(self, rank: str) -> None:
        """End one rank at once, which others have lost."""

    def go(self) -> None:
        """Let the ranks run, once they know who is where."""

    def signal_ranks(self, number: int) -> None:
        """Send all ranks a signal, which their program may handle."""

    def limit_time(self, ends: float, saves: float) -> None:
        """Let all ranks know how long the run may go on, those too that are started later."""

    def stop_ranks(self, grace: float) -> None:
        """Ask the ranks to end, and kill them after so many seconds."""

    def kill_ranks(self) -> None:
        """End the ranks at once."""

    def tell_states(self, number: int, with_stacks: bool) -> None:
        """Ask what all ranks are doing; `Appeals.waiting` brings the answers."""

    def count_messages(self) -> None:
        """Ask what the ranks have sent; `Reports.counted` is the answer."""

    def start_node(self, name: str) -> None:
        """Start the process for the components of a node."""

    def watch(self, elapsed: float, incarnation: int) -> None:
        """Watch the other front-ends and the launcher, which began so many seconds ago.

        For them this front-end was gone until now where its `incarnation` is above 0.
        """

    def lead(self, path: str, home: str) -> None:
        """Let everything under a path be found in the node process at `home`."""

    def stop(self) -> None:
        """End the ranks and the nodes in order, then the front-end itself."""

    # -- the other half of output

    def output_taken(self, size: int) -> None:
        """Tell how many bytes of output have been taken since the last time."""

    def read(self, data: bytes) -> None:
        """Pass on what the first rank of all is to read, b"" for the end."""

    def show_prompts(self) -> None:
        """Ask for what the first rank writes without a newline too: somebody types its input."""


class Heartbeats(Protocol):
    """Between the launcher and front-ends, all with all: who lives."""

    def hear(self, member: str, kind: str, fields: tuple[Any, ...]) -> None:
        """Take a message of a member's failure detector; see `runtime.health.messages`."""


CONTRACTS: dict[type, str] = {
    Membership: "membership",
    Views: "views",
    Health: "health",
    Appeals: "appeals",
    LauncherAnswers: "answers",
    References: "references",
    Control: "control",
    Routes: "routes",
    Coupling: "coupling",
    CouplingNews: "coupling-news",
    Mail: "mail",
    CodeRoutes: "code-routes",
    Delivery: "delivery",
    Reports: "reports",
    Orders: "orders",
    Heartbeats: "heartbeats",
}
"""The name of the interface through which each contract is called."""

BINDING_CONTROLLER = "binding-controller"
"""The interface that answers what a component is bound to, as `gcm` names it."""
