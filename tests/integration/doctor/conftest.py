"""What the tests of the examination share: a far host."""

from tests.far_host import far_host, way  # noqa: F401 - fixtures
