"""What web servers have of a run: read once by its submitter, then fetched by peers."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from runtime.deployment.model import Deployment, Direction
from runtime.peers.staging.delivery import StagedContent
from runtime.peers.submission.temporary import temporary_file
from runtime.web_address import WebAddress, is_web_address


class WebContents:
    """Their contents, in files without a name; raises PeerError for what is not there.

    So peers are told the SHA-256 of what the submitter could read itself, faults show before any
    place is booked, and where a peer does not get to the web server it can be sent.
    """

    def __init__(self, addresses: Iterable[WebAddress]) -> None:
        self._files = ExitStack()
        self._found: dict[WebAddress, StagedContent] = {}
        try:
            for address in dict.fromkeys(addresses):
                self._found[address] = self._read(address)
        except BaseException:
            self.close()
            raise

    def __getitem__(self, address: WebAddress) -> StagedContent:
        """Return what is at an address."""
        return self._found[address]

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of what was read."""
        self.close()

    def close(self) -> None:
        """Let go of what was read."""
        self._files.close()

    def _read(self, address: WebAddress) -> StagedContent:
        from runtime.peers.staging.web import download  # a web client, which few runs need

        with temporary_file(self._files) as file:
            download(address, file)
            content = StagedContent.of(Path(f"/proc/self/fd/{file.fileno()}"))
        return replace(content, url=address.url)


def web_addresses(deployment: Deployment) -> list[WebAddress]:
    """Return where web servers have files that a deployment needs."""
    return [
        WebAddress.parse(one.source)
        for one in deployment.transfers
        if one.direction is Direction.IN and is_web_address(one.source)
    ]
