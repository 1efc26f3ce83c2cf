"""What can go wrong with a file, by the names of MPI's classes of errors."""

from __future__ import annotations

import errno


class FileFault(Exception):
    """Something that a file cannot do; `name` is that of MPI's class of errors."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name

    def packed(self) -> bytes:
        """Return it as bytes."""
        return f"{self.name}\0{self}".encode()

    @classmethod
    def of(cls, data: bytes) -> FileFault:
        """Return what bytes say.

        >>> FileFault.of(FileFault("ERR_NO_SPACE", "the disk is full").packed())
        FileFault('the disk is full')
        """
        name, _, text = data.decode(errors="replace").partition("\0")
        return cls(name if name in NAMES else "ERR_IO", text)


_OF_SYSTEM = {
    errno.ENOENT: "ERR_NO_SUCH_FILE",
    errno.EACCES: "ERR_ACCESS",
    errno.EPERM: "ERR_ACCESS",
    errno.EROFS: "ERR_READ_ONLY",
    errno.EEXIST: "ERR_FILE_EXISTS",
    errno.ENOSPC: "ERR_NO_SPACE",
    errno.EDQUOT: "ERR_QUOTA",
    errno.EISDIR: "ERR_BAD_FILE",
    errno.ENOTDIR: "ERR_BAD_FILE",
    errno.ENAMETOOLONG: "ERR_BAD_FILE",
    errno.ELOOP: "ERR_BAD_FILE",
    errno.ETXTBSY: "ERR_FILE_IN_USE",
    errno.EBUSY: "ERR_FILE_IN_USE",
    errno.EINVAL: "ERR_ARG",
}

NAMES = frozenset((*_OF_SYSTEM.values(), "ERR_IO", "ERR_AMODE", "ERR_UNSUPPORTED_OPERATION"))
"""The classes that a home may tell others."""


def fault_of(error: OSError, doing: str) -> FileFault:
    """Return what an error of the system means: `doing` says what was tried.

    >>> fault_of(OSError(errno.ENOSPC, "No space left on device"), "writing").name
    'ERR_NO_SPACE'
    """
    name = _OF_SYSTEM.get(error.errno or 0, "ERR_IO")
    return FileFault(name, f"{doing}: {error.strerror or error}")
