"""The life cycle of components: starting, stopping without losing requests, terminating."""

from gcm.membranes.lifecycle.controller import LifeCycleController
from gcm.membranes.lifecycle.states import TRANSITIONS, State

__all__ = ["TRANSITIONS", "LifeCycleController", "State"]
