"""What can go wrong between a launcher and a process; every error names place, cause and cure."""

from __future__ import annotations

from runtime.errors import GridError


class LaunchError(GridError):
    """The root of what the launchers of this package raise."""


class UnknownHost(LaunchError):
    """No address was found for the name of a host."""


class HostUnreachable(LaunchError):
    """The host has an address but nothing came back from it."""


class HostKeyUnknown(LaunchError):
    """The host showed a key that nobody has vouched for."""


class HostKeyChanged(LaunchError):
    """The host showed another key than the one it is known by."""


class AuthenticationRefused(LaunchError):
    """The host knows neither the key nor the user."""


class LoginNeeded(LaunchError):
    """The host asks for a password or a second factor, and no shared connection to it is open."""


class LoginFailed(LaunchError):
    """No shared connection to a host was opened."""


class NoMoreSessions(LaunchError):
    """The host allows no further session over a shared connection."""


class ConnectionRefused(LaunchError):
    """Nobody listens at this port of the host."""


class ConnectionLost(LaunchError):
    """The way to a host, or the guard at its end, broke while it was in use."""


class WayFailed(LaunchError):
    """The command that leads to a place ended before anything could be started there."""


class NotPrepared(LaunchError):
    """Modules could not be loaded at a place, or its line of shell before all else has failed."""


class SshFailed(WayFailed):
    """The ssh client gave up for a reason not known here; the cause holds its words."""


class BadHop(LaunchError):
    """The description of a hop cannot be passed to ssh."""


class MissingSsh(LaunchError):
    """There is no ssh client on this machine."""


class CommandNotFound(LaunchError):
    """There is no such program at the place."""


class CommandRefused(LaunchError):
    """The program is there but could not be started."""


class NoSuchFolder(LaunchError):
    """The working directory of a command does not exist."""


class PythonMissing(LaunchError):
    """There is no Python at the place."""


class PythonTooOld(LaunchError):
    """There is a Python at the place, but older than this package needs."""


class MissingMpiexec(LaunchError):
    """There is no `mpiexec` of that name at the place."""


class WrongMpiexec(LaunchError):
    """The `mpiexec` belongs to another MPI than the programs it starts, or to no known one."""


class WrongPlatform(LaunchError):
    """What would be brought to a place is machine code that does not run there."""


class MpiexecFailed(LaunchError):
    """The `mpiexec` is the right one but could not run a small job."""


class StagingFailed(LaunchError):
    """Files could not be brought to the place; the disk may be full."""


class FetchFailed(LaunchError):
    """Files could not be brought home."""


class StartTimeout(LaunchError):
    """The place or the command did not come up within the time given to it."""


class StillRunning(LaunchError):
    """The command had not ended within the time given to `wait`."""


class InputClosed(LaunchError):
    """The command no longer takes input: it has ended or its stdin was closed."""


class LauncherClosed(LaunchError):
    """The launcher was closed before this was asked of it."""
