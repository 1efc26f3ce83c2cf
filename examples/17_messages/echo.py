"""A code that sends back what it receives, until it receives None; messages.py starts it."""

from __future__ import annotations

from runtime import coupling


def main() -> None:
    while True:
        message: coupling.Message = coupling.receive(code=coupling.ANY)
        if message.value is None:
            break
        known = "the driver" if message.code == coupling.DRIVER else message.code
        more = coupling.has(code=coupling.ANY)
        answer = f"{message.value} from {known}, {'more to come' if more else 'the last one'}"
        coupling.send(answer, code=message.code, rank=message.rank, tag=message.tag)


if __name__ == "__main__":
    main()
