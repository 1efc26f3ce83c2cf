"""Which functions of MPI a C program can call over several clusters, and what Python is asked."""

from __future__ import annotations

from functools import cache

from runtime.calls import OURS, PLAN, every_call

ASKED = (
    *("fatal", "told", "blamed", "abort", "finalize", "duplicate", "begin_duplicate"),
    *("free_comm", "free_group", "free_type", "free_window", "close_file"),
    *("get_status_any", "get_status_all", "get_status_some"),
    *("wait", "test", "get_status", "cancel", "free_request", "start"),
    *("waitall", "waitany", "waitsome", "testall", "testany", "testsome"),
    *("own", "attribute"),
)
"""What `core.c` asks of Python beside functions of MPI, in the order of its numbers."""

MADE = (
    *("MPI_Comm_split", "MPI_Comm_split_type", "MPI_Comm_create", "MPI_Comm_create_group"),
    *("MPI_Intercomm_create", "MPI_Intercomm_merge"),
    *("MPI_Cart_create", "MPI_Cart_sub", "MPI_Graph_create"),
    *("MPI_Dist_graph_create_adjacent", "MPI_Dist_graph_create"),
    *("MPI_Comm_create_from_group", "MPI_Intercomm_create_from_groups", "MPIX_Comm_shrink"),
)
"""Those that make communicators."""

_FACTS = (
    *("MPI_Comm_compare", "MPI_Comm_test_inter", "MPI_Comm_remote_size", "MPI_Comm_group"),
    *("MPI_Comm_remote_group", "MPI_Topo_test"),
    *("MPI_Cart_map", "MPI_Graph_map", "MPI_Graphdims_get", "MPI_Graph_get"),
    *("MPI_Graph_neighbors_count", "MPI_Graph_neighbors"),
    *("MPI_Dist_graph_neighbors_count", "MPI_Dist_graph_neighbors"),
    *("MPI_Cartdim_get", "MPI_Cart_get", "MPI_Cart_rank", "MPI_Cart_coords", "MPI_Cart_shift"),
    *("MPI_Group_size", "MPI_Group_rank", "MPI_Group_translate_ranks", "MPI_Group_compare"),
    *("MPI_Group_union", "MPI_Group_intersection", "MPI_Group_difference"),
    *("MPI_Group_incl", "MPI_Group_excl", "MPI_Group_range_incl", "MPI_Group_range_excl"),
)

NATIVE = {
    *("MPI_Comm_set_attr", "MPI_Comm_delete_attr", "MPI_Attr_put", "MPI_Attr_delete"),
    *("MPI_Comm_get_name", "MPI_Comm_set_name", "MPI_Comm_set_info", "MPI_Comm_get_info"),
    *("MPI_Comm_get_errhandler", "MPI_Comm_call_errhandler"),
    *("MPI_Errhandler_get", "MPI_Comm_c2f", "MPI_Comm_toint"),
    *("MPI_Pack", "MPI_Unpack", "MPI_Pack_size", "MPI_Group_c2f", "MPI_Group_toint"),
    *("MPI_Message_c2f", "MPI_Message_toint"),
    *("MPI_Win_set_attr", "MPI_Win_delete_attr", "MPI_Win_get_name", "MPI_Win_set_name"),
    *("MPI_Win_set_info", "MPI_Win_get_info", "MPI_Win_c2f", "MPI_Win_toint"),
    *("MPI_Win_get_errhandler", "MPI_Win_set_errhandler", "MPI_Win_call_errhandler"),
    *("MPI_File_get_errhandler", "MPI_File_set_errhandler", "MPI_File_call_errhandler"),
    *("MPI_File_c2f", "MPI_File_toint"),
}
"""What a native communicator, window or file does that stands for one of several clusters."""

BY_HAND = {
    *("MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_dup", "MPI_Comm_dup_with_info", "MPI_Abort"),
    *("MPI_Comm_idup", "MPI_Comm_idup_with_info", "MPI_Request_get_status"),
    *("MPI_Comm_get_attr", "MPI_Attr_get", "MPI_Comm_set_errhandler", "MPI_Errhandler_set"),
    "MPI_Win_get_attr",
}
"""What `core.c` has of those that take a communicator, a group or a window by value."""


def _served_by_table() -> tuple[str, ...]:
    """Return messages, and the collectives that a plan carries out, in all their forms."""
    found = (
        one.standard
        for one in every_call()
        if (one.kind in _MESSAGES and one.grid == OURS) or one.grid == PLAN
        if not one.takes_objects
    )  # fmt: skip
    return tuple(dict.fromkeys(found))


_MESSAGES = ("send", "receive", "exchange", "probe")
"""The kinds of calls that send, receive, or look for messages."""

OLDER = ("MPIX_Comm_failure_ack", "MPIX_Comm_failure_get_acked")
"""What no row of the table is: older ways of acknowledging losses, which mpi4py does not have."""

_RECOVERY = (
    *("MPIX_Comm_revoke", "MPIX_Comm_is_revoked", "MPIX_Comm_get_failed", "MPIX_Comm_ack_failed"),
    *("MPIX_Comm_agree", *OLDER),
)
"""Those for losses."""

_WINDOWS = (
    *("MPI_Win_create", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_create_dynamic"),
    *("MPI_Win_attach", "MPI_Win_detach", "MPI_Win_shared_query", "MPI_Win_get_group"),
    *("MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate"),
    *("MPI_Rput", "MPI_Rget", "MPI_Raccumulate", "MPI_Rget_accumulate"),
    *("MPI_Fetch_and_op", "MPI_Compare_and_swap"),
    *("MPI_Win_fence", "MPI_Win_start", "MPI_Win_complete", "MPI_Win_post", "MPI_Win_wait"),
    *("MPI_Win_test", "MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_lock_all", "MPI_Win_unlock_all"),
    *("MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all"),
    "MPI_Win_sync",
)
"""Those of windows."""


def _files() -> tuple[str, ...]:
    """Return those of files that are no methods of a native one; `core.c` closes them."""
    found = (
        one.standard
        for one in every_call()
        if one.standard.startswith("MPI_File_") and one.grid == OURS and one.kind != "handle"
    )
    return tuple(one for one in found if one != "MPI_File_close")


SERVED = (*_served_by_table(), *MADE, *_FACTS, *_RECOVERY, *_WINDOWS, *_files())
"""What Python does where a handle spans clusters, in the order of its numbers after `ASKED`."""


def function_numbers() -> dict[str, int]:
    """Return the number by which `core.c` and what is generated name each function to Python."""
    return {name: at for at, name in enumerate((*ASKED, *SERVED))}


@cache
def cures() -> dict[str, str]:
    """Return what to do instead of those functions of the table that are refused."""
    told = {one.standard: one.cure for one in every_call() if one.cure}
    return {name: f"{cure}." for name, cure in told.items() if name != "-"}
