"""The descriptor language: the one table that the checks, the XSD and the reference come from."""

from __future__ import annotations

from gcm.documents import TEXT, Attribute, ChildRule, ElementType, Grammar
from runtime.allocations import SYSTEMS, JobRequest
from runtime.code_port import PortLink
from runtime.deployment.language.converters import (
    cluster,
    clusters,
    existing,
    here,
    nodes,
    settings,
    ssh_options,
)
from runtime.deployment.language.kinds import (
    CAPACITY,
    CHOICE,
    COMMAND,
    DURATION,
    HOST,
    HOSTS,
    LIST,
    NAME,
    NUMBER,
    PLACES,
    PLANS,
    PORT,
    RAW,
    SHARE,
    USER,
    WALLTIME,
    WORD,
    WORDS,
)
from runtime.deployment.model import (
    TRANSPORTS,
    Application,
    CommWorld,
    DeployedCluster,
    Deployment,
    Direction,
    Encryption,
    FailureDetection,
    FailureMode,
    FileTransfer,
    FrontEnd,
    HelperProcess,
    Mpi,
    NamedClass,
    NamedLauncher,
    NodeProvider,
    PeersRequest,
    PlacedAssembly,
    ProcessKind,
    SshHop,
    VirtualNode,
)
from runtime.health import DEFAULT_DETECTOR, DetectorProtocol
from runtime.native_mpi import AUTO, FLAVOURS

_YES = "yes".__eq__
_CLUSTERS = "`site/cluster` paths with ranges; `site` alone means all its clusters"

_DEPLOYMENT = ElementType(
    "deployment", "The root: what to run and the machine to run it on.",
    (
        Attribute("name", NAME, "The name of this deployment in messages; the file's name by "
                  "default."),
        Attribute("explain-waits", DURATION, "When a rank that stays in an MPI call tells what it "
                  "waits for; `--explain-waits` wins.", default="30s"),
        Attribute("plans", PLANS, "Plans of collectives over clusters by name, such as `bcast=flat "
                  "barrier=4-ary`; those of `--plans` win."),
        Attribute("run-timeout", DURATION, "How long the application may run before it is ended, "
                  "after it showed what each rank does; `--run-timeout` wins."),
        Attribute("start", SHARE, "With how many of the clusters behind queues the run begins, as "
                  "`2 of 3`; ranks of the others come later, which needs "
                  '`recovery="rebuild"`. By default with all.'),
    ),
    (
        ChildRule("variable"), ChildRule("application"), ChildRule("assembly", most=1),
        ChildRule("virtual-node"), ChildRule("process"), ChildRule("dependent-sequence"),
        ChildRule("connect"),
        ChildRule("file-transfer"), ChildRule("failure-detector", most=1),
        ChildRule("emulate", most=1), ChildRule("grid", most=1), ChildRule("peers", most=1),
    ),
    record=Deployment, located=False,
)  # fmt: skip

_VARIABLE = ElementType(
    "variable", "A value used as `${name}` in any attribute.",
    (
        Attribute("name", NAME, "The name between `${` and `}`.", required=True),
        Attribute("value", RAW, "The default; without it, a value must be given."),
        Attribute("environment", RAW, "The environment variable that overrides the default."),
    ),
)  # fmt: skip

_APPLICATION = ElementType(
    "application", "A program for every rank of its clusters: one of `script`, `module`, "
    "`executable`. Several are several codes.",
    (
        Attribute("name", NAME, "The name of this code.", default="application"),
        Attribute("script", TEXT, "A Python file; on `peers` also the address of one on a web "
                  "server.", field=""),
        Attribute("module", TEXT, "A Python module, started as with `python -m`.", field=""),
        Attribute("executable", TEXT, "A native program, such as one in C: a file if it has a `/`, "
                  "else looked up on each machine. `{site}` and `{cluster}` in its path stand for "
                  "where it runs.",
                  field=""),
        Attribute("arguments", WORDS, "Its command line, quoted as in a shell."),
        Attribute("clusters", LIST, f"Where it runs: {_CLUSTERS}. A single application runs "
                  "everywhere by default.", find=clusters),
        Attribute("comm-world", CHOICE, "What `COMM_WORLD` means to a program: all its "
                  "clusters, or its own.", default="grid", to=CommWorld),
        Attribute("failures", CHOICE, "What the loss of a rank does: `abort` ends the run; with "
                  "`return`, calls that need it raise `MPI.ERR_PROC_FAILED`, and all else "
                  "continues.", default="abort", to=FailureMode),
        Attribute("replicas", NUMBER, "How many processes on different hosts run for each rank, "
                  "which survives with one of them; the clusters have that many times more "
                  "places.", default="1", least=1, most=16),
        Attribute("restart", CHOICE, "Whether a dead replica is restarted and joins at "
                  "`MPI.Checkpoint`.", default="no", choices=("yes", "no"), to=_YES),
        Attribute("recovery", CHOICE, 'What `Dup`, `Split` and `Create` make of a communicator '
                  'with losses: one of the survivors (`shrink`), with gaps (`blank`), with '
                  'restarted ranks in their places (`rebuild`) or behind the survivors '
                  '(`rebuild-at-end`); `abort` ends the run. The first four imply '
                  '`failures="return"`.', default="none",
                  choices=("none", "shrink", "blank", "rebuild", "rebuild-at-end", "abort"),
                  to=lambda word: "" if word == "none" else word),
        Attribute("recovery-messages", CHOICE, "Which calls work between a loss and its recovery: "
                  "none (`nop`), or those that do not need lost ranks (`cont`).", default="nop",
                  choices=("nop", "cont")),
        Attribute("folder", TEXT, "The program folder, in which ranks start; by default that of "
                  "the script, or of an executable with a `/`, else the descriptor's."),
        Attribute("stage", CHOICE, "Whether the program folder is copied to other machines, or is "
                  "there under the same path.", default="yes", choices=("yes", "no"),
                  field="staged", to=_YES),
        Attribute("stage-limit", NUMBER, "How many MB are copied without asking, with at most 100 "
                  "files for each MB.", default="200", least=1, most=100_000_000),
    ),
    (ChildRule("argument"), ChildRule("environment"), ChildRule("setting")),
    record=Application,
)  # fmt: skip

_SETTING = ElementType(
    "setting", "A value that the program of a code asks for with `coupling.setting`.",
    (
        Attribute("name", NAME, "Its name.", required=True),
        Attribute("value", TEXT, "Its value; `--set CODE.NAME=VALUE` wins.", required=True,
                  blank=True),
    ),
)  # fmt: skip

_CONNECT = ElementType(
    "connect", "Lets another code take what one gives at a port with `coupling.exchange`.",
    (
        Attribute("from", PORT, "The code that gives, and its port, such as `ocean.sst`.",
                  required=True, field="giver"),
        Attribute("to", PORT, "The code that takes, and its port.", required=True, field="taker"),
    ),
    record=PortLink, located=False,
)  # fmt: skip

_ASSEMBLY = ElementType(
    "assembly", "Components to place on nodes: an ADL file whose virtual nodes are mapped by "
    "`virtual-node`.",
    (
        Attribute("file", TEXT, "The ADL file, relative to the folder.", required=True,
                  find=existing("the assembly")),
        Attribute("arguments", WORDS, "Arguments of its definition, as `name=value` words.",
                  find=settings),
        Attribute("on-loss", CHOICE, "If the process of a node is lost, the run ends, or goes on "
                  "without its components.", default="end", choices=("end", "go-on"),
                  field="outlives_nodes", to=lambda word: word == "go-on"),
    ),
    record=PlacedAssembly,
)  # fmt: skip

_VIRTUAL_NODE = ElementType(
    "virtual-node", "Maps a virtual node of the assembly to nodes of the grid.",
    (
        Attribute("name", NAME, "The name that the assembly uses.", required=True),
        Attribute("nodes", LIST, "`site/cluster/node` paths with ranges; `site`, `site/cluster` "
                  "mean all their nodes.", find=nodes),
        Attribute("capacity", CAPACITY, "How many nodes it has for itself; several `max` share "
                  "what is left. Without it all, which others may have too."),
        Attribute("cardinality", CHOICE, "Whether it stands for exactly one node or for any "
                  "number.", default="multiple", choices=("single", "multiple"), field="single",
                  to="single".__eq__),
    ),
    (ChildRule("provider", field="providers"),),
    record=VirtualNode,
)  # fmt: skip

_PROVIDER = ElementType(
    "provider", "Nodes of which a virtual node has so many, as part of its `capacity`.",
    (
        Attribute("nodes", LIST, "Which nodes, as above.", required=True, find=nodes),
        Attribute("capacity", NUMBER, "How many.", required=True, least=1, to=lambda one: one or 1),
    ),
    record=NodeProvider,
)  # fmt: skip

_PROCESS = ElementType(
    "process", "A helper beside the application, such as a data server.",
    (
        Attribute("id", NAME, "The name for references.", required=True, field="name"),
        Attribute("kind", CHOICE, "`local`: here, or at the front-end of `on`; `ssh`: on each of "
                  "`hosts`; `mpi`: as a native MPI program in the cluster `on`.", default="local",
                  to=ProcessKind),
        Attribute("program", COMMAND, "The program to start.", required=True),
        Attribute("arguments", WORDS, "Its command line, quoted as in a shell."),
        Attribute("command-path", COMMAND, "The `ssh` or `mpiexec` to start it with."),
        Attribute("options", WORDS, "Further options of that `ssh` or `mpiexec`.",
                  find=ssh_options),
        Attribute("number", NUMBER, "How many; on each host for `ssh`.", default="1", least=1,
                  most=10_000),
        Attribute("hosts", HOSTS, "The machines of an `ssh` process, with ranges."),
        Attribute("on", TEXT, "The `site/cluster` at whose front-end it is started.", find=cluster),
        Attribute("folder", TEXT, "The folder it is started in; here by default the descriptor's."),
        Attribute("ready", CHOICE, "When dependents may start: once it runs, or ended with exit "
                  "code 0.", default="started", choices=("started", "finished"),
                  field="ready_when_finished", to="finished".__eq__),
        Attribute("ready-line", TEXT, "It runs once a line of its output contains this."),
    ),
    (ChildRule("argument"), ChildRule("environment"), ChildRule("ssh", field="hops")),
    record=HelperProcess,
)  # fmt: skip

_SEQUENCE = ElementType(
    "dependent-sequence", "Starts each member only once the one before it is up.",
    (),
    (ChildRule("process-reference", least=2),),
)  # fmt: skip

_REFERENCE = ElementType(
    "process-reference", "A member of a dependent sequence.",
    (
        Attribute("refid", TEXT, "The `id` of a process, the name of an application, or "
                  "`assembly`.", required=True),
    ),
)  # fmt: skip

_TRANSFER = ElementType(
    "file-transfer", "Copies a file or folder to clusters before the start, or brings results "
    "home.",
    (
        Attribute("direction", CHOICE, "To the clusters or from them.", required=True,
                  choices=("in", "out"), to=lambda word: Direction(word or Direction.IN)),
        Attribute("source", TEXT, "`in`: a path, on `peers` also `https://...`, with `#sha256=...` "
                  "or not; `out`: a path, folder or pattern in the working directory, `.` for "
                  "everything new.", required=True),
        Attribute("destination", TEXT, "`in`: a path in the working directory, by default the name "
                  "of the source; `out`: a folder in the program folder; `{site}` and `{cluster}` "
                  "stand for the origin."),
        Attribute("clusters", LIST, f"Which: {_CLUSTERS}. All by default.", find=clusters),
        Attribute("every", DURATION, "`out`: how often they are also fetched during the run."),
        Attribute("others", CHOICE, "`out`: whether new files that no `source` names come home "
                  "too, or are deleted.", default="bring", choices=("bring", "discard"),
                  field="discards_others", to="discard".__eq__),
        Attribute("replace", CHOICE, "`out`: whether they take the place of files that you had "
                  "before the first run, or are kept beside them.", default="no",
                  choices=("yes", "no"), field="replaces", to=_YES),
    ),
    record=FileTransfer,
)  # fmt: skip

_NAMED = (ChildRule("controller"), ChildRule("interceptor"))

_TRANSPORT = Attribute(
    "transport", LIST, "What carries messages between clusters, first choice first: `unix` within "
    "a host, `tcp`, your own `module.Class`; last `ssh` tunnels.",
    default=" ".join(TRANSPORTS),
)  # fmt: skip

_EMULATE = ElementType(
    "emulate", "The short form of a grid: equal clusters, all emulated on this machine.",
    (
        Attribute("sites", NUMBER, "The number of sites.", default="1", least=1, most=100),
        Attribute("clusters", NUMBER, "The clusters of each site.", default="1", least=1, most=100),
        Attribute("ranks", NUMBER, "The ranks of each cluster.", default="2", least=1, most=10_000),
        Attribute("nodes", NUMBER, "The nodes of each cluster.", default="1", least=1, most=1_000),
        Attribute("wan", TEXT, "The line between sites, delay one way and rate of each cluster: "
                  "`10ms,1gbit` or `5ms`."),
        _TRANSPORT,
    ),
    (ChildRule("mpi", most=1), *_NAMED),
)  # fmt: skip

_GRID = ElementType(
    "grid", "The machine: sites of clusters of nodes.",
    (
        Attribute("front-end", TEXT, "The `site` whose leading front-end hosts the grid component "
                  "(L5); the first."),
        Attribute("encryption", CHOICE, "`none` where the network can be trusted; members "
                  "authenticate in both cases.", default="tls", to=Encryption),
        _TRANSPORT,
    ),
    (ChildRule("mpi", most=1), *_NAMED, ChildRule("site", least=1)),
)  # fmt: skip

_PEERS = ElementType(
    "peers", "Instead of a grid: machines of a lab, booked when the run starts. Each is a cluster, "
    "near ones a site.",
    (
        Attribute("ranks", NUMBER, "How many ranks the program has.", required=True, least=1,
                  most=1_000_000, to=lambda number: number or 1),
        Attribute("strategy", TEXT, "How ranks are placed: `spread`, `concentrate`, `mixed` or "
                  "your own `module.Class`.", default="spread"),
        Attribute("by", CHOICE, "Which hosts come first: those that are near (`distance`), or "
                  "those that are idle (`load`).", default="distance",
                  choices=("distance", "load")),
        Attribute("wait", DURATION, "How long to look for free places; by default 30 s, or 5 s "
                  "where every peer lends all that it has."),
        Attribute("credential", TEXT, "The file that proves who you are; by default that of "
                  "`gcm-peer`.", find=existing("the credential")),
        Attribute("staging", CHOICE, "How the program gets to the peers: each passes it to two "
                  "others (`tree`) or to the next (`chain`), or it is sent from here to each "
                  "(`push`).", default="auto", choices=("auto", "tree", "chain", "push")),
    ),
    (ChildRule("mpi", most=1),),
    record=PeersRequest,
)  # fmt: skip

_SITE = ElementType(
    "site", "Clusters that are near each other.",
    (
        Attribute("name", NAME, "Its name; `site0`, `site1`... by default."),
        Attribute("front-end", TEXT, "The `cluster` whose front-end hosts the site component (L4); "
                  "the first."),
    ),
    (ChildRule("ssh"), ChildRule("mpi", most=1), *_NAMED, ChildRule("cluster", least=1)),
)  # fmt: skip

_CLUSTER = ElementType(
    "cluster", "Nodes with one native MPI. Without `ssh` or `launcher` it is emulated on this "
    "machine.",
    (
        Attribute("name", NAME, "Its name; `cluster0`, `cluster1`... by default."),
        Attribute("site", NAME, "A site of `~/.config/gcm/sites.xml`, whose `ssh`, `batch`, "
                  "`front-end` and `mpi` count here.", field=""),
        Attribute("reachability", CHOICE, "Who can connect to its ranks: everybody (`direct`), its "
                  "front-end only, or nobody (`outwards`: they connect to others; `isolated`: not "
                  "even that). `auto` is `direct`, but `outwards` in a job, behind two hops, and "
                  "here if other clusters are elsewhere, unless the front-end has an address.",
                  default="auto", choices=("auto", "direct", "front-end", "outwards", "isolated")),
    ),
    (
        ChildRule("ssh"), ChildRule("launcher", most=1), ChildRule("batch", most=1),
        ChildRule("mpi", most=1), ChildRule("front-end", most=1), *_NAMED, ChildRule("nodes"),
    ),
    record=DeployedCluster,
)  # fmt: skip

_SSH = ElementType(
    "ssh", "One hop on the path to a machine, in the order written, those of a site first.",
    (
        Attribute("host", HOST, "The machine.", required=True),
        Attribute("port", NUMBER, "Its ssh port.", least=1, most=65535),
        Attribute("user", USER, "The login there."),
        Attribute("key", TEXT, "The private key file, on this machine.",
                  find=existing("the key file")),
        Attribute("known-hosts", TEXT, "The file of known host keys, on this machine.", find=here),
        Attribute("new-host-keys", CHOICE, "What happens with an unknown host: `refuse` ends the "
                  "run, `accept` adds its key to the known ones. A changed key is always refused.",
                  default="refuse", choices=("refuse", "accept"), field="accept_new",
                  to="accept".__eq__),
        Attribute("options", WORDS, "Further options of `ssh` for this hop, as listed above.",
                  find=ssh_options),
        Attribute("command-path", COMMAND, "The `ssh` program.", default="ssh", blank=False),
    ),
    record=SshHop, located=False,
)  # fmt: skip

_BATCH = ElementType(
    "batch", "The nodes are asked of a batch system, whose commands are on the last hop, or here.",
    (
        Attribute("system", CHOICE, "Which batch system that is.", required=True, choices=SYSTEMS),
        Attribute("nodes", NUMBER, "How many nodes.", default="1", least=1, most=100_000),
        Attribute("tasks-per-node", NUMBER, "How many ranks each node has place for.", default="1",
                  least=1, most=10_000),
        Attribute("walltime", WALLTIME, "How long the job may hold the nodes, as `02:00:00` or "
                  "`2h`; by default the queue's."),
        Attribute("queue", WORD, "The queue, which Slurm calls a partition."),
        Attribute("account", WORD, "Who pays."),
        Attribute("qos", WORD, "The quality of service."),
        Attribute("constraint", WORD, "What the nodes have to have."),
        Attribute("reservation", WORD, "The reservation to use."),
        Attribute("lease", DURATION, "How long the job holds its nodes when nothing is heard of "
                  "the run any more.", default="60s"),
        Attribute("idle", DURATION, "How long granted nodes wait until other clusters behind "
                  "queues have theirs, too; then they are given back and asked for again. By "
                  "default 30 min, or a quarter of a short walltime.",
                  to=lambda found: found or None),
        Attribute("signal", CHOICE, "The signal that ranks get before the walltime is over, to "
                  "save their state.", default="none",
                  choices=("none", "USR1", "USR2", "INT", "TERM"),
                  to=lambda name: "" if name == "none" else name),
        Attribute("signal-before", DURATION, "How long before the end of the walltime they get "
                  "it, and call functions of `MPI.Before_walltime`; by default 2 min, or half of a "
                  "short walltime.", to=lambda found: found or None),
        Attribute("reserve", DURATION, "How long before the end the run is ended, so that results "
                  "come home; by default 60 s, or a quarter of a short walltime.",
                  to=lambda found: found or None),
        Attribute("again", NUMBER, "How many times another job is asked for when one has ended, "
                  "with `recovery=\"rebuild\"`.",
                  default="0", most=1000),
        Attribute("job", WORD, "The number of a job that runs already, in which the cluster has "
                  "its place."),
        Attribute("places", PLACES, "How many ranks each node of that job has place for, where "
                  "they differ: `3,1`, or `8(x3),2` for four nodes."),
        Attribute("options", WORDS, "Further options of the command that submits, which win: "
                  "`--gres=gpu:1 --exclusive`."),
        Attribute("leave-out", WORDS, "Words whose lines in the script are left out: "
                  "`--no-requeue`."),
    ),
    record=JobRequest, located=False,
)  # fmt: skip

_LAUNCHER = ElementType(
    "launcher", "Your own class that starts the processes of the cluster instead of `ssh`.",
    (
        Attribute("class", TEXT, "`module.Class`, which lies beside the descriptor or is installed "
                  "on this machine.", required=True, field="name"),
        Attribute("arguments", WORDS, "Words for the class, quoted as in a shell."),
        Attribute("host", HOST, "The machine where they are, as other clusters reach it.",
                  default="localhost"),
    ),
    record=NamedLauncher,
)  # fmt: skip

_FRONT_END = ElementType(
    "front-end", "The process that represents a cluster, on the machine that the hops lead to.",
    (
        Attribute("address", HOST, "The name by which other machines reach it; the last hop's host "
                  "by default."),
        Attribute("port", NUMBER, "A fixed port to listen on; any by default.", most=65535,
                  to=lambda port: port or 0),
        Attribute("python", COMMAND, "The Python there; this one or `python3` by default."),
        Attribute("folder", TEXT, "Where the folders of the run are made there; by default with "
                  "temporary files."),
        Attribute("modules", WORDS, "What is loaded first there with `module load`, such as "
                  "`openmpi/5 python/3.12`."),
        Attribute("before", TEXT, "A line of shell that is run next there, such as `ulimit -l "
                  "unlimited`."),
        Attribute("container", TEXT, "The image file there in which all of the cluster runs then; "
                  "it has Python and MPI."),
        Attribute("container-program", CHOICE, "What runs a command in the image.",
                  default="apptainer", choices=("apptainer", "singularity")),
    ),
    record=FrontEnd, located=False,
)  # fmt: skip

_MPI = ElementType(
    "mpi", "The native MPI of clusters. In `grid` and `site` it holds defaults for the clusters "
    "below.",
    (
        Attribute("command-path", COMMAND, "The `mpiexec` to use.", default="mpiexec", blank=False),
        Attribute("flavour", CHOICE, "Which MPI that is; `auto` asks it at the start. "
                  "`mpich-wheel` is the package `mpich` of this Python, which is brought along.",
                  default=AUTO, choices=FLAVOURS),
        Attribute("ranks", NUMBER, "How many ranks; by default one for each slot of its nodes.",
                  least=1, most=1_000_000),
        Attribute("options", WORDS, "Further options of `mpiexec`."),
    ),
    record=Mpi, located=False,
)  # fmt: skip

_CLASS = Attribute(
    "class",
    TEXT,
    "`module.Class`, which lies in the program folder or is installed where the ranks are.",
    required=True,
    field="name",
)

_CONTROLLER = ElementType(
    "controller", "A class in front of the usual controller of the grid, a site or a cluster, "
    "which its constructor gets. The nearest is asked first, then in the order written.",
    (
        _CLASS,
        Attribute("role", CHOICE, "What it decides: the plan of a collective over clusters, the "
                  "order of routes, or which connections are closed for others.", required=True,
                  choices=("plan-choice", "tensioning", "reference-cache")),
    ),
    record=NamedClass,
)  # fmt: skip

_INTERCEPTOR = ElementType(
    "interceptor", "A class that sees messages between ranks of different clusters with an end in "
    "the grid, site or cluster that names it.",
    (
        _CLASS,
        Attribute("between", CHOICE, "Which messages it sees: those between sites, or between all "
                  "clusters.", default="clusters", choices=("sites", "clusters")),
    ),
    record=NamedClass,
)  # fmt: skip

_NODES = ElementType(
    "nodes", "Machines of a cluster. Without any, the cluster is its front-end's machine.",
    (
        Attribute("hosts", HOSTS, "Host names with ranges: `node[01-16,20]`, `node[0-9;2]^[4]`."),
        Attribute("names", LIST, "Names for the nodes: one for each host, or any number for a "
                  "single host."),
        Attribute("slots", NUMBER, "How many ranks each of them can hold.", least=1, most=10_000),
        Attribute("spare", CHOICE, "Whether they hold no ranks at first, but those of lost hosts "
                  "after a `recovery`: as many as their `slots`, or as other hosts hold.",
                  default="no", choices=("yes", "no"), to=_YES),
    ),
)  # fmt: skip

_FAILURE_DETECTOR = ElementType(
    "failure-detector", "How launcher and front-ends watch each other; without it, only if a "
    "cluster is reached over ssh.",
    (
        Attribute("protocol", CHOICE, "How heartbeats spread; with `none` a host is lost when its "
                  "connection ends.", default=DEFAULT_DETECTOR,
                  choices=(*map(str, DetectorProtocol), "none"),
                  to=lambda word: None if word == "none" else DetectorProtocol(word)),
        Attribute("timeout", DURATION, "How long a host, or the way to it, may be silent before it "
                  "is lost.", default="3s"),
        Attribute("period", DURATION, "The time between two heartbeats; 0.5 s, or what fits the "
                  "timeout.", to=lambda found: found or None),
        Attribute("frozen", CHOICE, "Whether a front-end here, or a rank, that is stopped is "
                  "reported or ended.", default="suspect", choices=("suspect", "lost"),
                  field="frozen_is_lost", to="lost".__eq__),
    ),
    record=FailureDetection, located=False,
)  # fmt: skip

_ARGUMENT = ElementType(
    "argument", "One argument, taken literally, after those of `arguments`.",
    (
        Attribute("value", TEXT, "The argument; empty by default."),
    ),
)  # fmt: skip

_ENVIRONMENT = ElementType(
    "environment", "One environment variable of the program, or several that `gcm-deploy` has.",
    (
        Attribute("name", TEXT, "Its name; without a `value`, `*` in it stands for any text.",
                  required=True),
        Attribute("value", TEXT, "Its value; by default the one that `gcm-deploy` has itself."),
    ),
)  # fmt: skip

_ELEMENTS = (
    _DEPLOYMENT,
    _VARIABLE,
    _APPLICATION,
    _ARGUMENT,
    _ENVIRONMENT,
    _SETTING,
    _CONNECT,
    _EMULATE,
    _GRID,
    _PEERS,
    _SITE,
    _CLUSTER,
    _SSH,
    _LAUNCHER,
    _BATCH,
    _FRONT_END,
    _MPI,
    _CONTROLLER,
    _INTERCEPTOR,
    _NODES,
    _ASSEMBLY,
    _VIRTUAL_NODE,
    _PROVIDER,
    _PROCESS,
    _SEQUENCE,
    _REFERENCE,
    _TRANSFER,
    _FAILURE_DETECTOR,
)

LANGUAGE = Grammar.of("deployment", _ELEMENTS)
"""The descriptor language."""
