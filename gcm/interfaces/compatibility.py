"""Checks whether a server, or a content class, can take all calls of a client."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gcm.interfaces.annotations import describe
from gcm.interfaces.comparison import Comparison, Mismatch
from gcm.interfaces.kinds import Cardinality
from gcm.interfaces.policies.marks import is_one_by_one
from gcm.interfaces.signature import Operation, make_operation, read_operation, signature_of

__all__ = ["Mismatch", "content_mismatches", "cure_for", "mismatches"]


def mismatches(
    client: type[Any], server: type[Any], cardinality: Cardinality = Cardinality.SINGLETON
) -> list[Mismatch]:
    """List every reason why a client interface cannot be bound to a server interface.

    The server may be a subtype: more operations, more optional parameters, wider parameters,
    narrower results. With MULTICAST the client's side is the collective one, with lists where its
    parameters are distributed and for its results; with GATHERCAST the server's side is, with
    `list[T]` for each parameter T of the client and `list[R]` for the result R. Raises
    SignatureError for a class that is no signature.

    >>> [str(found) for found in mismatches(Greeter, Clock)]  # doctest: +SKIP
    """
    if client is server and cardinality in (Cardinality.SINGLETON, Cardinality.COLLECTION):
        return []
    offered = signature_of(server).operations
    found: list[Mismatch] = []
    for name, operation in signature_of(client).operations.items():
        if name in offered:
            names = (describe(client), describe(server))
            how = _each(name, client, cardinality)
            found += Comparison(operation, offered[name], names, how).mismatches()
        else:
            found.append(_missing(operation, describe(server)))
    return found


def cure_for(client: type[Any], server: type[Any], calls: Cardinality, serves: Cardinality) -> str:
    """Return what to do about a client whose signature does not fit that of a server.

    A multicast client has lists of what each server gets and returns, so the same signature at both
    ends is none that fits, and making them the same is no cure.
    """
    if calls is not Cardinality.MULTICAST or client is not server:
        return "make the server's signature the client's, or a subtype of it"
    name = describe(client)
    if serves is Cardinality.MULTICAST:
        return (
            f"the server shares out the lists of {name} itself: let the client be no multicast, "
            "or bind it to interfaces that take the elements"
        )
    return f"{name} has the lists: give the server a signature with their elements"


def content_mismatches(
    content: type[Any], signature: type[Any], *, gathercast: bool = False
) -> list[Mismatch]:
    """List every reason why instances of `content` cannot serve an interface of that signature.

    Methods without annotations, methods that take `*args` and `**kwargs`, and classes with a
    `__getattr__` of their own are accepted for what they are. With `gathercast` the methods take
    and return lists, one element for each client of the round. Raises SignatureError for a class
    that is no signature.
    """
    cardinality = Cardinality.GATHERCAST if gathercast else Cardinality.SINGLETON
    names = (describe(signature), describe(content))
    found: list[Mismatch] = []
    for name, operation in signature_of(signature).operations.items():
        member = inspect.getattr_static(content, name, None)
        if member is None:
            if not hasattr(content, "__getattr__"):
                found.append(_missing(operation, describe(content)))
        elif isinstance(member, int | float | str | bytes | list | dict | tuple | set):
            found.append(_no_method(operation, describe(content), member))
        else:
            method = _method(name, member, content)
            if method is not None:
                how = _each(name, signature, cardinality)
                found += Comparison(operation, method, names, how).mismatches()
    return found


def _each(operation: str, interface: type[Any], cardinality: Cardinality) -> Cardinality:
    """Return how one operation is compared; without lists if each client is served separately."""
    alone = cardinality is Cardinality.GATHERCAST and is_one_by_one(interface, operation)
    return Cardinality.SINGLETON if alone else cardinality


def _method(name: str, member: Any, content: type[Any]) -> Operation | None:
    """Return the operation of a class member, or None for one without a usable signature."""
    unheeded: list[str] = []  # wrong annotations of content are the user's own business
    if inspect.isfunction(member):
        return read_operation(name, member, content, unheeded)
    if isinstance(member, staticmethod | classmethod):
        function: Callable[..., Any] = getattr(content, name)
        python = inspect.signature(function)
        return make_operation(name, function, content, python, unheeded)
    return None


def _missing(operation: Operation, owner: str) -> Mismatch:
    return Mismatch(
        operation.name, "", str(operation), "", f"{owner} has no operation '{operation.name}'"
    )


def _no_method(operation: Operation, owner: str, member: object) -> Mismatch:
    kind = type(member).__qualname__
    sentence = f"'{operation.name}' of {owner} is a {kind}, not a method"
    return Mismatch(operation.name, "", str(operation), kind, sentence)
