"""The descriptor language: the one table that the checks, the XSD and the reference come from."""

from __future__ import annotations

from runtime.deployment.language.grammar import (
    Attribute,
    ChildRule,
    ElementType,
    Grammar,
    ValueKind,
)

_CLUSTERS = "`site/cluster` paths with ranges; `site` alone means all its clusters"

_DEPLOYMENT = ElementType(
    "deployment",
    "The root: what to run and the machine to run it on.",
    (
        Attribute(
            "name", ValueKind.NAME, "How messages call this deployment; the file's name by default."
        ),
        Attribute(
            "explain-waits",
            ValueKind.DURATION,
            "After how long a rank in an MPI call says what it waits for; `--explain-waits` wins.",
            default="30s",
        ),
        Attribute(
            "run-timeout",
            ValueKind.DURATION,
            "How long the application may run; then everything is ended, with what each rank was "
            "doing. No limit by default; `--run-timeout` wins.",
        ),
    ),
    (
        ChildRule("variable"),
        ChildRule("application"),
        ChildRule("assembly", most=1),
        ChildRule("virtual-node"),
        ChildRule("process"),
        ChildRule("dependent-sequence"),
        ChildRule("file-transfer"),
        ChildRule("failure-detector", most=1),
        ChildRule("emulate", most=1),
        ChildRule("grid", most=1),
        ChildRule("peers", most=1),
    ),
)

_VARIABLE = ElementType(
    "variable",
    "A value used as `${name}` in any attribute. `--set name=value` wins over the environment, "
    "which wins over `value`.",
    (
        Attribute("name", ValueKind.NAME, "The name between `${` and `}`.", required=True),
        Attribute("value", ValueKind.RAW, "The default; without one the value must be given."),
        Attribute(
            "environment", ValueKind.RAW, "The environment variable that overrides the default."
        ),
    ),
)

_APPLICATION = ElementType(
    "application",
    "A program to run on every rank of its clusters: exactly one of `script`, `module` and "
    "`executable`. Several applications are several codes in one deployment.",
    (
        Attribute("name", ValueKind.NAME, "The name of this code.", default="application"),
        Attribute("script", ValueKind.TEXT, "A Python file, relative to the descriptor's folder."),
        Attribute(
            "module",
            ValueKind.TEXT,
            "A Python module, started as with `python -m` in the program folder.",
        ),
        Attribute(
            "executable",
            ValueKind.TEXT,
            "A native program; with a `/` in it a file, without one looked up on each machine.",
        ),
        Attribute("arguments", ValueKind.WORDS, "Its command line, quoted as in a shell."),
        Attribute(
            "clusters",
            ValueKind.LIST,
            f"Where it runs: {_CLUSTERS}. A single application runs everywhere by default.",
        ),
        Attribute(
            "comm-world",
            ValueKind.CHOICE,
            "What `COMM_WORLD` means to a Python program: all its clusters, or the own one, "
            "which it always means to a native program.",
            default="grid",
            choices=("grid", "cluster"),
        ),
        Attribute(
            "failures",
            ValueKind.CHOICE,
            "What the loss of a rank means: `abort` ends the run; with `return` calls of a Python "
            "program that need the lost rank raise an error of class `MPI.ERR_PROC_FAILED`, and "
            "everything else goes on.",
            default="abort",
            choices=("abort", "return"),
        ),
        Attribute(
            "replicas",
            ValueKind.NUMBER,
            "How many processes on different hosts run the Python program for each rank, so that "
            "it goes on while one of them lives; the clusters have as many times more places.",
            default="1",
            least=1,
            most=16,
        ),
        Attribute(
            "restart",
            ValueKind.CHOICE,
            "Whether a replica that has died is started again where it was, and joins the others "
            "when the program calls `MPI.Checkpoint`. Of use with `replicas` only.",
            default="no",
            choices=("yes", "no"),
        ),
        Attribute(
            "recovery",
            ValueKind.CHOICE,
            "What `Dup`, `Split` and `Create` make of a communicator that has lost ranks: one of "
            "those that are left (`shrink`), one with gaps (`blank`), one for which the lost "
            "ranks are started again (`rebuild`); with `abort` a loss ends the run. The first "
            'three stand for `failures="return"`, too.',
            default="none",
            choices=("none", "shrink", "blank", "rebuild", "abort"),
        ),
        Attribute(
            "recovery-messages",
            ValueKind.CHOICE,
            "Which calls are admitted between a loss and the recovery: none (`nop`), or all "
            "that do not need the lost ranks (`cont`). Of use with a `recovery` only.",
            default="nop",
            choices=("nop", "cont"),
        ),
        Attribute(
            "folder",
            ValueKind.TEXT,
            "The program folder, in which ranks start, relative to the descriptor's folder. By "
            "default that of the script, or of an executable with a `/` in it, else the "
            "descriptor's.",
        ),
        Attribute(
            "stage",
            ValueKind.CHOICE,
            "Whether the program folder is copied to machines that are not this one; with `no` it "
            "is there already, under the same path.",
            default="yes",
            choices=("yes", "no"),
        ),
        Attribute(
            "stage-limit",
            ValueKind.NUMBER,
            "How many MB are copied without a question; for each of them 100 files.",
            default="200",
            least=1,
            most=100_000_000,
        ),
    ),
    (ChildRule("argument"), ChildRule("environment")),
)

_ASSEMBLY = ElementType(
    "assembly",
    "Components to place on nodes: an ADL file whose virtual nodes are mapped by `virtual-node`.",
    (
        Attribute("file", ValueKind.TEXT, "The ADL file, relative to the folder.", required=True),
        Attribute(
            "arguments", ValueKind.WORDS, "Arguments of its definition, as `name=value` words."
        ),
    ),
)

_VIRTUAL_NODE = ElementType(
    "virtual-node",
    "Maps a virtual node of the assembly to nodes of the grid.",
    (
        Attribute("name", ValueKind.NAME, "The name that the assembly uses.", required=True),
        Attribute(
            "nodes",
            ValueKind.LIST,
            "`site/cluster/node` paths with ranges; `site/cluster` means all its nodes.",
            required=True,
        ),
        Attribute(
            "cardinality",
            ValueKind.CHOICE,
            "Whether it stands for exactly one node or for any number.",
            default="multiple",
            choices=("single", "multiple"),
        ),
    ),
)

_PROCESS = ElementType(
    "process",
    "A helper beside the application, such as a data server or a preparation; it takes part in "
    "dependent sequences.",
    (
        Attribute("id", ValueKind.NAME, "The name for references.", required=True),
        Attribute(
            "kind",
            ValueKind.CHOICE,
            "`local`: here, or at the front-end of `on`; `ssh`: on each of `hosts`; `mpi`: as "
            "ranks of a native MPI program of its own in the cluster `on`.",
            default="local",
            choices=("local", "ssh", "mpi"),
        ),
        Attribute("program", ValueKind.COMMAND, "The program to start.", required=True),
        Attribute("arguments", ValueKind.WORDS, "Its command line, quoted as in a shell."),
        Attribute("command-path", ValueKind.COMMAND, "The `ssh` or `mpiexec` to start it with."),
        Attribute("options", ValueKind.WORDS, "Further options of that `ssh` or `mpiexec`."),
        Attribute(
            "number",
            ValueKind.NUMBER,
            "How many; on each host for `ssh`.",
            default="1",
            least=1,
            most=10_000,
        ),
        Attribute("hosts", ValueKind.HOSTS, "The machines of an `ssh` process, with ranges."),
        Attribute("on", ValueKind.TEXT, "The `site/cluster` at whose front-end it is started."),
        Attribute(
            "folder",
            ValueKind.TEXT,
            "The folder it is started in; for one of this machine the descriptor's by default.",
        ),
        Attribute(
            "ready",
            ValueKind.CHOICE,
            "When those that depend on it may start: once it runs, or once it ended well.",
            default="started",
            choices=("started", "finished"),
        ),
        Attribute(
            "ready-line",
            ValueKind.TEXT,
            "It counts as started once a line of its output has this text.",
        ),
    ),
    (ChildRule("argument"), ChildRule("environment"), ChildRule("ssh")),
)

_SEQUENCE = ElementType(
    "dependent-sequence",
    "Starts each member only once the one before it is up.",
    (),
    (ChildRule("process-reference", least=2),),
)

_REFERENCE = ElementType(
    "process-reference",
    "A member of a dependent sequence.",
    (
        Attribute(
            "refid",
            ValueKind.TEXT,
            "The `id` of a process, the name of an application, or `assembly`.",
            required=True,
        ),
    ),
)

_TRANSFER = ElementType(
    "file-transfer",
    "Copies a file or folder to clusters before the start, or brings results home.",
    (
        Attribute(
            "direction", ValueKind.CHOICE, "To the clusters or from them.", True, "", ("in", "out")
        ),
        Attribute(
            "source",
            ValueKind.TEXT,
            "`in`: relative to the descriptor's folder; `out`: a path, a folder or a pattern (`*`, "
            "`**`, `?`, `[...]`) in the working directory, `.` for everything new.",
            required=True,
        ),
        Attribute(
            "destination",
            ValueKind.TEXT,
            "`in`: inside the working directory, the source's own name by default; `out`: a folder "
            "in the program folder, that itself by default, `{site}` and `{cluster}` in it stand "
            "for where the results come from.",
        ),
        Attribute("clusters", ValueKind.LIST, f"Which: {_CLUSTERS}. All by default."),
        Attribute(
            "every",
            ValueKind.DURATION,
            "`out`: also fetched so often while the run goes on; only after it by default.",
        ),
    ),
)

_NAMED = (ChildRule("controller"), ChildRule("interceptor"))

_EMULATE = ElementType(
    "emulate",
    "The short form of a grid: equal clusters, all emulated on this machine.",
    (
        Attribute(
            "sites", ValueKind.NUMBER, "The number of sites.", default="1", least=1, most=100
        ),
        Attribute(
            "clusters",
            ValueKind.NUMBER,
            "The clusters of each site.",
            default="1",
            least=1,
            most=100,
        ),
        Attribute(
            "ranks",
            ValueKind.NUMBER,
            "The ranks of each cluster.",
            default="2",
            least=1,
            most=10_000,
        ),
        Attribute(
            "nodes",
            ValueKind.NUMBER,
            "The nodes of each cluster.",
            default="1",
            least=1,
            most=1_000,
        ),
    ),
    (ChildRule("mpi", most=1), *_NAMED),
)

_GRID = ElementType(
    "grid",
    "The machine: sites of clusters of nodes.",
    (
        Attribute(
            "front-end",
            ValueKind.TEXT,
            "The `site` whose leading front-end hosts the grid component (L5); the first.",
        ),
        Attribute(
            "encryption",
            ValueKind.CHOICE,
            "How connections between hosts are protected: `tls`, or `none` where the network can "
            "be trusted. Members prove themselves in any case.",
            default="tls",
            choices=("tls", "none"),
        ),
    ),
    (ChildRule("mpi", most=1), *_NAMED, ChildRule("site", least=1)),
)

_PEERS = ElementType(
    "peers",
    "In the place of a grid: machines of a lab that have places now. They are booked when the run "
    "starts, each is a cluster, and near ones are a site.",
    (
        Attribute(
            "ranks",
            ValueKind.NUMBER,
            "How many ranks the program has.",
            required=True,
            least=1,
            most=1_000_000,
        ),
        Attribute(
            "strategy",
            ValueKind.TEXT,
            "How ranks are placed: `spread` over as many hosts as possible, `concentrate` on the "
            "nearest ones, `mixed`: sites evenly and concentrated within, or `module.Class` of "
            "your own.",
            default="spread",
        ),
        Attribute(
            "wait",
            ValueKind.DURATION,
            "How long places are looked for.",
            default="30s",
        ),
        Attribute(
            "credential",
            ValueKind.TEXT,
            "The file that proves to the lab who you are, on this machine; that of `gcm-peer` by "
            "default.",
        ),
        Attribute(
            "staging",
            ValueKind.CHOICE,
            "How the program gets to the peers: from one to two others, from one to the next, or "
            "from here to each.",
            False,
            "tree",
            ("tree", "chain", "push"),
        ),
    ),
    (ChildRule("mpi", most=1),),
)

_SITE = ElementType(
    "site",
    "Clusters that are near each other.",
    (
        Attribute("name", ValueKind.NAME, "Its name; `site0`, `site1`... by default."),
        Attribute(
            "front-end",
            ValueKind.TEXT,
            "The `cluster` whose front-end hosts the site component (L4); the first.",
        ),
    ),
    (ChildRule("ssh"), ChildRule("mpi", most=1), *_NAMED, ChildRule("cluster", least=1)),
)

_CLUSTER = ElementType(
    "cluster",
    "Nodes with one native MPI. Without `ssh` or `launcher` it is emulated on this machine.",
    (
        Attribute("name", ValueKind.NAME, "Its name; `cluster0`, `cluster1`... by default."),
        Attribute(
            "reachability",
            ValueKind.CHOICE,
            "Who can connect to its ranks: everybody, only its front-end, or nobody, so that it "
            "can only connect outwards. `auto`: direct, but outwards behind two or more hops, and "
            "on this machine beside clusters elsewhere, unless the front-end has an address.",
            default="auto",
            choices=("auto", "direct", "front-end", "outwards"),
        ),
    ),
    (
        ChildRule("ssh"),
        ChildRule("launcher", most=1),
        ChildRule("mpi", most=1),
        ChildRule("front-end", most=1),
        *_NAMED,
        ChildRule("nodes"),
    ),
)

_SSH = ElementType(
    "ssh",
    "One hop on the way to a machine. Hops are taken in the order they are written; those of a "
    "site come before those of its clusters.",
    (
        Attribute("host", ValueKind.HOST, "The machine.", required=True),
        Attribute("port", ValueKind.NUMBER, "Its ssh port.", least=1, most=65535),
        Attribute("user", ValueKind.USER, "The login there."),
        Attribute("key", ValueKind.TEXT, "The private key file, on this machine."),
        Attribute("known-hosts", ValueKind.TEXT, "The file of known host keys, on this machine."),
        Attribute(
            "new-host-keys",
            ValueKind.CHOICE,
            "What becomes of the key of a host that is not known yet: `refuse` ends the run, "
            "`accept` believes it and adds it to the file of known host keys. A key that has "
            "changed is refused in any case.",
            default="refuse",
            choices=("refuse", "accept"),
        ),
        Attribute(
            "options",
            ValueKind.WORDS,
            "Further options of `ssh` for this hop: `-4`, `-6`, `-C`, and `-o NAME=VALUE` with one "
            "of the names listed above.",
        ),
        Attribute("command-path", ValueKind.COMMAND, "The `ssh` program.", default="ssh"),
    ),
)

_LAUNCHER = ElementType(
    "launcher",
    "A class of your own that starts processes where the cluster is, instead of `ssh`: in a "
    "container, through a scheduler.",
    (
        Attribute(
            "class",
            ValueKind.TEXT,
            "`module.Class`, which lies beside the descriptor or is installed on this machine.",
            required=True,
        ),
        Attribute("arguments", ValueKind.WORDS, "Words for the class, quoted as in a shell."),
        Attribute(
            "host",
            ValueKind.HOST,
            "The machine that it leads to, as other clusters reach it.",
            default="localhost",
        ),
    ),
)

_FRONT_END = ElementType(
    "front-end",
    "The process that represents a cluster, on the machine that the hops lead to.",
    (
        Attribute(
            "address",
            ValueKind.HOST,
            "The name by which other machines reach it; the last hop's host by default.",
        ),
        Attribute(
            "port", ValueKind.NUMBER, "A fixed port to listen on; any by default.", most=65535
        ),
        Attribute(
            "python", ValueKind.COMMAND, "The Python there; this one or `python3` by default."
        ),
        Attribute(
            "folder",
            ValueKind.TEXT,
            "Where the run's folders are made there; the one for temporary files by default. The "
            "ranks work in a copy of the program folder in it.",
        ),
    ),
)

_MPI = ElementType(
    "mpi",
    "The native MPI of clusters. In `grid` and `site` it holds defaults for the clusters below.",
    (
        Attribute("command-path", ValueKind.COMMAND, "The `mpiexec` to use.", default="mpiexec"),
        Attribute(
            "flavour",
            ValueKind.CHOICE,
            "Which MPI that is; `auto` asks it at the start.",
            default="auto",
            choices=("auto", "mpich", "openmpi"),
        ),
        Attribute(
            "ranks",
            ValueKind.NUMBER,
            "How many ranks; all slots of its nodes.",
            least=1,
            most=1_000_000,
        ),
        Attribute("options", ValueKind.WORDS, "Further options of `mpiexec`."),
    ),
)

_CLASS = Attribute(
    "class",
    ValueKind.TEXT,
    "`module.Class`, which lies in the program folder or is installed where the ranks are.",
    required=True,
)

_CONTROLLER = ElementType(
    "controller",
    "A class that decides instead of the usual controller of the grid, a site or a cluster, or "
    "before it: it is made with the one whose place it takes, and may ask that. The nearest one is "
    "asked first, then the first one that is written.",
    (
        _CLASS,
        Attribute(
            "role",
            ValueKind.CHOICE,
            "What it decides. `plan-choice`: which plan carries out a collective over several "
            "clusters; that of a site is asked for communicators within that site. "
            "`tensioning`: in which order the ranks of a part of the machine try the routes to "
            "others, where some are not reached directly. `reference-cache`: which connections "
            "they let rest.",
            required=True,
            choices=("plan-choice", "tensioning", "reference-cache"),
        ),
    ),
)

_INTERCEPTOR = ElementType(
    "interceptor",
    "A class that stands in the ports by which ranks of different clusters exchange messages, at "
    "both ends, where one of the two lies in the grid, site or cluster that names it. Several "
    "stand in the order in which they are written.",
    (
        _CLASS,
        Attribute(
            "between",
            ValueKind.CHOICE,
            "Which messages it sees: those between `sites`, or all between `clusters`. Within a "
            "cluster the native MPI carries them.",
            default="clusters",
            choices=("sites", "clusters"),
        ),
    ),
)

_NODES = ElementType(
    "nodes",
    "Machines of a cluster. Without any, the cluster is its front-end's machine.",
    (
        Attribute(
            "hosts", ValueKind.HOSTS, "Host names with ranges: `node[01-16,20]`, `node[0-9;2]^[4]`."
        ),
        Attribute(
            "names",
            ValueKind.LIST,
            "Names for the nodes, with ranges, as many as hosts or for one shared host; the hosts' "
            "own by default.",
        ),
        Attribute("slots", ValueKind.NUMBER, "How many ranks each can hold.", least=1, most=10_000),
    ),
)

_FAILURE_DETECTOR = ElementType(
    "failure-detector",
    "How the launcher and the front-ends watch each other. Without this element they do so where "
    "clusters are reached over ssh; on one machine the end of a process is seen in any case.",
    (
        Attribute(
            "protocol",
            ValueKind.CHOICE,
            "How heartbeats spread; with `none` a host is lost when its connection ends.",
            default="dbrr",
            choices=("dbrr", "brr", "round-robin", "none"),
        ),
        Attribute(
            "timeout",
            ValueKind.DURATION,
            "After how long a host or a way to it that is silent counts as lost.",
            default="3s",
        ),
        Attribute(
            "period",
            ValueKind.DURATION,
            "The time between two heartbeats; 0.5 s by default, or what fits the timeout.",
        ),
        Attribute(
            "frozen",
            ValueKind.CHOICE,
            "What is done about a front-end or a rank of this machine that stands still although "
            "its process is there: `suspect` says so, `lost` ends it.",
            default="suspect",
            choices=("suspect", "lost"),
        ),
    ),
)

_ARGUMENT = ElementType(
    "argument",
    "One argument, taken as it is, after those of `arguments`.",
    (Attribute("value", ValueKind.TEXT, "The argument; empty by default."),),
)

_ENVIRONMENT = ElementType(
    "environment",
    "One environment variable of the program, or several with their values here.",
    (
        Attribute(
            "name",
            ValueKind.TEXT,
            "Its name; without a value `*` stands for any text.",
            required=True,
        ),
        Attribute("value", ValueKind.TEXT, "Its value; the one `gcm-deploy` finds by default."),
    ),
)

_ELEMENTS = (
    _DEPLOYMENT,
    _VARIABLE,
    _APPLICATION,
    _ARGUMENT,
    _ENVIRONMENT,
    _EMULATE,
    _GRID,
    _PEERS,
    _SITE,
    _CLUSTER,
    _SSH,
    _LAUNCHER,
    _FRONT_END,
    _MPI,
    _CONTROLLER,
    _INTERCEPTOR,
    _NODES,
    _ASSEMBLY,
    _VIRTUAL_NODE,
    _PROCESS,
    _SEQUENCE,
    _REFERENCE,
    _TRANSFER,
    _FAILURE_DETECTOR,
)

LANGUAGE = Grammar("deployment", {element.name: element for element in _ELEMENTS})
"""The descriptor language."""
