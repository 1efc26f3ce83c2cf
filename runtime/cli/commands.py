"""The commands of all programs: a row for each."""

from __future__ import annotations

from collections.abc import Mapping

from gcm.cli.command_table import CommandRow
from gcm.cli.commands import COMMANDS as OF_GCM

_ADVISE = CommandRow(
    "advise", "tell how many replicas a run should have",
    "runtime.peers.commands.advise:advise_command", "--failure-rate RATE -n RANKS --time TIME",
)  # fmt: skip

COMMANDS: Mapping[str, tuple[CommandRow, ...]] = {
    "gcm": OF_GCM,
    "gcm-deploy": (
        CommandRow("doctor", "report before a launch what will not work, and how to fix it",
                   "runtime.cli.doctor:doctor", "[DESCRIPTOR]"),
        CommandRow("login", "log in to hosts that ask for a second factor, once for all runs",
                   "runtime.cli.login:login", "HOST|DESCRIPTOR ..."),
        CommandRow("tune", "measure which plans of collectives are fastest on a machine",
                   "runtime.cli.tune:tune", "DESCRIPTOR"),
        CommandRow("convert", "write a descriptor of an older language as one of ours",
                   "runtime.cli.convert:convert", "OLD-DESCRIPTOR"),
        CommandRow("accept", "put results in place that were kept under other names",
                   "runtime.cli.accept:accept", "[PATH ...]"),
        CommandRow("new", "ask four questions and write a descriptor with comments",
                   "runtime.cli.new:new", "[FILE]"),
        CommandRow("ps", "show your runs on this machine, and what each rank is doing",
                   "runtime.cli.look:ps", "[PID ...]"),
        CommandRow("stacks", "show the Python stacks of all ranks",
                   "runtime.cli.look:stacks", "[PID ...]"),
        CommandRow("waits", "show which ranks wait for which others, and which can never continue",
                   "runtime.cli.look:waits", "[PID ...]"),
        CommandRow("list", "list your detached runs on this machine", "runtime.cli.attach:list_"),
        CommandRow("attach", "show a detached run from its beginning, and follow it to its end",
                   "runtime.cli.attach:attach", "[RUN]"),
        CommandRow("logs", "show what a detached run has printed until now",
                   "runtime.cli.attach:logs", "[RUN]"),
        CommandRow("add", "add a component to an assembly that runs, on a node",
                   "runtime.cli.add:add", "RUN FILE"),
        CommandRow("stop", "end a detached run, as `kill` does; its output still waits",
                   "runtime.cli.attach:stop", "[RUN]"),
        CommandRow("view", "show a run that gcm-deploy --record FILE has recorded",
                   "runtime.cli.view:view", "FILE"),
        CommandRow("compare", "compare two runs that gcm-deploy --record FILE has recorded",
                   "runtime.cli.view:compare", "FIRST SECOND"),
        CommandRow("web", "show a run that goes on, or was recorded, in a browser of this machine",
                   "runtime.cli.web:web", "PID|FILE"),
        CommandRow("top", "watch a run in the terminal: its clusters, and which ranks wait",
                   "runtime.cli.look:top", "[PID]"),
        CommandRow("completion", "print the script with which a shell completes gcm-deploy",
                   "runtime.cli.line.completion:of_deploy", "bash|zsh|fish"),
    ),
    "gcm-peer": (
        CommandRow("run", "run an MPI program on the peers of a lab", "runtime.cli.lab_run:run"),
        _ADVISE,
        CommandRow("boot", "start the daemon of a peer in the background",
                   "runtime.peers.commands.peer_options:boot"),
        CommandRow("supernode", "start the daemon of a supernode in the background",
                   "runtime.peers.commands.peer_options:supernode"),
        CommandRow("halt", "end the daemon, and everything that runs here for others",
                   "runtime.peers.commands.peer_options:halt"),
        CommandRow("status", "show the daemon: its share, what runs here, its supernode, what is "
                   "wrong", "runtime.peers.commands.peer_options:status"),
        CommandRow("hosts", "show the hosts of the lab that are known here, the nearest first",
                   "runtime.peers.commands.peer_options:hosts"),
        CommandRow("top", "watch the lab: peers by round trip, their sites, what runs on them",
                   "runtime.peers.commands.peer_options:top"),
        CommandRow("web", "watch the lab as a page in a browser of this machine",
                   "runtime.peers.commands.peer_options:web"),
        CommandRow("config", "show the settings of the peer, and check them",
                   "runtime.peers.commands.peer_options:config"),
        CommandRow("lab", "make a lab, invite members, accept an invitation", commands=(
            CommandRow("create", "make a lab; whoever keeps its folder decides who belongs to it",
                       "runtime.peers.commands.peer_options:create"),
            CommandRow("invite", "write the credential of a new member, to hand out",
                       "runtime.peers.commands.peer_options:invite"),
            CommandRow("join", "put a credential where it belongs on this machine",
                       "runtime.peers.commands.peer_options:join"),
            CommandRow("show", "show a lab and its members",
                       "runtime.peers.commands.peer_options:show"),
        )),
        CommandRow("completion", "print the script with which a shell completes gcm-peer",
                   "runtime.cli.line.completion:of_peer"),
    ),
    "gcm-run": (  # what is another name of `gcm-peer run` has these words, too
        _ADVISE,
        CommandRow("completion", "print the script with which a shell completes gcm-run",
                   "runtime.cli.line.completion:of_run", "bash|zsh|fish"),
    ),
}  # fmt: skip
"""The rows of each program; what it does without one of these words is its own matter."""
