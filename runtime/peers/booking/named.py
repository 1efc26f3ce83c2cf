"""Finds the strategy that a user has named: one of ours, or a class of the user."""

from __future__ import annotations

from runtime.peers.booking.strategies import STRATEGIES, BookingError, Strategy


def strategy_named(name: str) -> Strategy:
    """Return a strategy by its name, or one of the user's class `module.Class`.

    Raises:
        BookingError: there is none, or the class is no strategy.
    """
    made = STRATEGIES.get(name)
    return _of_user(name) if made is None else made()


def _of_user(name: str) -> Strategy:
    from gcm.documents import did_you_mean  # only for classes of users, and mistakes
    from runtime.machine.named_classes import CURE, NotFound, fault_of_class, load

    if "." not in name:
        hint = did_you_mean(name, list(STRATEGIES))
        raise BookingError(
            f"there is no strategy '{name}'{'; ' + hint if hint else ''}",
            cure=f"Use one of {', '.join(STRATEGIES)}, or module.Class of your own",
        )
    try:
        found = load(name)
    except NotFound as error:
        raise BookingError(f"strategy '{name}' cannot be used: {error}", cure=CURE) from None
    fault = fault_of_class("strategy", found, Strategy)
    if fault:
        raise BookingError(f"strategy '{name}' cannot be used: {fault}")
    made: Strategy = found()
    return made
