"""The roles in which a descriptor names classes; apart from their contracts, which ranks import
only where a class is named.
"""

from __future__ import annotations

INTERCEPTOR = "interceptor"
"""The role of a class in the ports of ranks; the other roles are those of controllers."""

PLAN_CHOICE = "plan-choice"
TENSIONING = "tensioning"
REFERENCE_CACHE = "reference-cache"
TRANSPORT = "transport"
