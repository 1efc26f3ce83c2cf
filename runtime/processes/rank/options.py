"""The command line of a rank, read without anything that would delay its start."""

from __future__ import annotations

KINDS = ("script", "module", "executable")


class RankOptions:
    """What a rank is told: its cluster, what to run, and where its front-end left the key."""

    def __init__(self, words: list[str]) -> None:
        """Read `--name value ... -- argument ...`; raises SystemExit for anything else."""
        end = words.index("--") if "--" in words else len(words)
        named = dict(zip(words[:end:2], words[1:end:2], strict=False))
        kinds = [kind for kind in KINDS if f"--{kind}" in named]
        needed = ("--cluster", "--application", "--room", "--umask")
        if end % 2 or len(kinds) != 1 or any(name not in named for name in needed):
            raise SystemExit("this program is started by a front-end, with the words it needs")
        self.cluster = named["--cluster"]
        self.application = named["--application"]
        self.goes_on = "--goes-on" in named
        """Whether other ranks go on when one is lost; what else is told comes with the settings."""
        self.first = int(named["--first"]) if "--first" in named else None
        """The first rank of its `mpiexec`, if each host has its own."""
        self.is_again = "--again" in named
        """Whether it is started in place of one that was lost."""
        self.has_manager = "--parent" in named
        """Whether our process manager has started it, and tells how it ends."""
        has_mpiexec = not self.has_manager and (not self.is_again or self.first is not None)
        self.stays = self.goes_on and has_mpiexec
        """Whether its `mpiexec`, if it has one, must not see that it ends."""
        again = named.get("--again", "-1#1").partition("#")
        self.rank, self.incarnation = int(again[0]), int(again[2])
        self.is_on_one_host = "--on-one-host" in named
        """Whether its native MPI has no rank elsewhere."""
        self.run_directory = named["--room"]
        self.umask = int(named["--umask"], 8)
        self.kind = kinds[0]
        self.shim = named.get("--shim", "")
        """The library by which a native program sees all clusters; empty if it sees its own."""
        self.path = named[f"--{self.kind}"]
        self.arguments = words[end + 1 :]

    @property
    def is_apart(self) -> bool:
        """Whether the program is another process, with an MPI of its own if it has any."""
        return self.kind == "executable" and not self.shim
