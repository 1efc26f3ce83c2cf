"""What a descriptor gives a code by name. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from runtime.coupling.errors import UnknownSetting

_Value = TypeVar("_Value")


def setting_of(
    code: str, settings: Mapping[str, Mapping[str, str]], name: str, of: Callable[[str], _Value]
) -> _Value:
    """Return what `of` makes of a setting of a code. Raises UnknownSetting.

    >>> setting_of("ocean", {"ocean": {"depth": "40"}}, "depth", int)
    40
    """
    known = settings.get(code, {})
    if name not in known:
        from gcm.suggestion import did_you_mean  # imported here: slow, and needed for errors only

        raise UnknownSetting(
            f"the descriptor gives {code} no setting '{name}'",
            cure=did_you_mean(name, known) or f'Add <setting name="{name}" value="..."/> to it',
        )
    try:
        return of(known[name])
    except Exception as error:  # `of` may be a function of the program
        raise UnknownSetting(
            f"the setting '{name}' of {code} cannot be '{known[name]}'",
            cause=f"{type(error).__name__}: {error}",
        ) from error
