"""Lets classes of our own stand in for those of mpi4py: `isinstance` accepts objects of both."""

from __future__ import annotations

from typing import Any


class SubstituteType(type):
    """The type of a class that stands in for a class of mpi4py, which it names as `_stands_for`.

    Objects of that class, such as `COMM_SELF` or what a library made with plain mpi4py, count as
    its instances. A user's subclasses are ordinary classes.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        """Accept instances of the class and of the one it stands for."""
        native = cls.__dict__.get("_stands_for")
        return super().__instancecheck__(instance) or (
            native is not None and isinstance(instance, native)
        )

    def __subclasscheck__(cls, subclass: type) -> bool:
        """Accept subclasses of the class and of the one it stands for."""
        native = cls.__dict__.get("_stands_for")
        return super().__subclasscheck__(subclass) or (
            native is not None and issubclass(subclass, native)
        )
