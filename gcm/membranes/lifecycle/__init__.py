"""The life cycle of components: started, stopped without losing a request, ended."""

from gcm.membranes.lifecycle.controller import LifeCycleController
from gcm.membranes.lifecycle.states import TRANSITIONS, State

__all__ = ["TRANSITIONS", "LifeCycleController", "State"]
