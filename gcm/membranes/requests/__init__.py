"""Requests of active objects: their queue, priorities, and quiescence."""
