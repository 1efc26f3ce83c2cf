"""Makes the interceptors that a plan asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from gcm.adl.plan import InterceptorPlan
from gcm.components.membrane import controller_name
from gcm.components.model import Component
from gcm.errors import InstantiationError
from gcm.membranes.interceptor import Interceptor
from gcm.membranes.membrane_controller import MembraneController

THIS = "this"


def made_interceptor(component: Component, planned: InterceptorPlan) -> Interceptor:
    """Return an interceptor: a new object, a control interface, or a part of the membrane.

    Raises:
        InstantiationError: the class cannot be instantiated.
    """
    if not planned.component:
        return _new_interceptor(component, cast(Callable[[], Interceptor], planned.factory))
    if planned.component == THIS:
        exports = component.controller(MembraneController).exports
        if planned.server in exports:
            return cast(Interceptor, exports[planned.server].stub)
        return cast(Interceptor, component.membrane[controller_name(planned.server)])
    part = component.controller(MembraneController).part(planned.component)
    return cast(Interceptor, part.server(planned.server).stub)


def _new_interceptor(component: Component, factory: Callable[[], Interceptor]) -> Interceptor:
    try:
        return factory()
    except Exception as error:
        raise InstantiationError(
            f"the interceptor {getattr(factory, '__name__', factory)} could not be made: "
            f"{type(error).__name__}: {error}",
            component=component.path,
            cure="Its own exception is the cause, above",
        ) from error
