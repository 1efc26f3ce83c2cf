"""What the tests of descriptors share: reading a document from text, in surroundings of choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest

from gcm.documents import Diagnostic, Diagnostics
from runtime.deployment import Deployment, DescriptorContext, read_descriptor
from runtime.deployment.context import NamedClasses, VirtualNodes


@dataclass(frozen=True)
class Read:
    deployment: Deployment | None
    found: tuple[Diagnostic, ...]

    @property
    def codes(self) -> list[tuple[str, int]]:
        return [(one.code, one.location.line) for one in self.found]

    @property
    def good(self) -> Deployment:
        assert self.deployment is not None, [str(one) for one in self.found]
        return self.deployment


@dataclass(frozen=True)
class Reader:
    """Reads documents as if the descriptor lay in /home/me/grid/test.xml."""

    def __call__(
        self,
        text: str,
        *,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        exists: Callable[[str], bool] = lambda _path: True,
        is_installed: Callable[[str], bool] = lambda _name: True,
        cannot_hold: Callable[[str], str] = lambda _path: "",
        virtual_nodes: VirtualNodes | None = None,
        named_classes: NamedClasses | None = None,
        needed_libraries: Callable[[str], Sequence[str] | None] = lambda _path: None,
    ) -> Read:
        diagnostics = Diagnostics()
        surroundings = DescriptorContext(
            folder="/home/me/grid",
            settings=settings or {},
            environment=environment or {},
            exists=exists,
            is_installed=is_installed,
            cannot_hold=cannot_hold,
            virtual_nodes=virtual_nodes,
            named_classes=named_classes,
            needed_libraries=needed_libraries,
            python="/usr/bin/python3",
        )
        deployment = read_descriptor(
            text.encode(), name="test.xml", surroundings=surroundings, diagnostics=diagnostics
        )
        return Read(deployment, diagnostics.by_location())

    def body(self, text: str, **options: object) -> Read:
        """Read what stands in a deployment that has one application."""
        whole = f'<deployment><application script="a.py"/>\n{text}\n</deployment>'
        return self(whole, **options)  # type: ignore[arg-type]  # options are those of __call__


@pytest.fixture
def read() -> Reader:
    return Reader()
