"""A code that sends back what it receives, until it receives None; messages.py starts it.

At first it makes mistakes with ports and settings, and tells the driver what comes of them.
"""

from __future__ import annotations

from runtime import coupling
from runtime.coupling import CouplingError, LayoutFault, NoSuchPort, UnknownSetting


def main() -> None:
    try:
        coupling.exchange("word", b"hello")
    except NoSuchPort as error:
        tell(error)
    try:
        coupling.exchange("words", ["hello"])  # a list has no memory in which others find it
    except LayoutFault as error:
        tell(error)
    try:
        coupling.setting("patience", int)
    except UnknownSetting as error:
        tell(error)
    while True:
        message: coupling.Message = coupling.receive(code=coupling.ANY)
        if message.value is None:
            break
        known = "the driver" if message.code == coupling.DRIVER else message.code
        more = coupling.has(code=coupling.ANY)
        answer = f"{message.value} from {known}, {'more to come' if more else 'the last one'}"
        coupling.send(answer, code=message.code, rank=message.rank, tag=message.tag)


def tell(error: CouplingError) -> None:
    """Let the driver print an error."""
    coupling.send(f"{type(error).__name__}: {error}", code=coupling.DRIVER)


if __name__ == "__main__":
    main()
