"""The calls of windows: a row for each, see `runtime.calls.table`."""

ROWS = """
[Win]
fromhandle                 -                                 handle        l   native                 handle
free                       -                                 window        l   native
Shared_query               MPI_Win_shared_query              window-fact   l   refused:windows        rank
Attach                     MPI_Win_attach                    window-fact   l   refused:windows        memory
Detach                     MPI_Win_detach                    window-fact   l   refused:windows        memory
Free                       MPI_Win_free                      window        l   refused:windows
Set_info                   MPI_Win_set_info                  window-fact   l   refused:windows        info
Get_info                   MPI_Win_get_info                  window-fact   l   refused:windows
Get_group                  MPI_Win_get_group                 window-fact   l   refused:windows
Get_attr                   MPI_Win_get_attr                  attribute     l   refused:windows        keyval
Set_attr                   MPI_Win_set_attr                  attribute     l   refused:windows        keyval attrval
Delete_attr                MPI_Win_delete_attr               attribute     l   refused:windows        keyval
Create_keyval              MPI_Win_create_keyval             attribute     l   native                 copy_fn=None delete_fn=None nopython=False
Free_keyval                MPI_Win_free_keyval               attribute     l   native                 keyval
tomemory                   -                                 window-fact   l   refused:windows
Put                        MPI_Put                           access        b   refused:windows        origin target_rank target=None
Get                        MPI_Get                           access        b   refused:windows        origin target_rank target=None
Accumulate                 MPI_Accumulate                    access        b   refused:windows        origin target_rank target=None op=SUM
Get_accumulate             MPI_Get_accumulate                access        b   refused:windows        origin result target_rank target=None op=SUM
Fetch_and_op               MPI_Fetch_and_op                  access        b   refused:windows        origin result target_rank target_disp=0 op=SUM
Compare_and_swap           MPI_Compare_and_swap              access        b   refused:windows        origin compare result target_rank target_disp=0
Rput                       MPI_Rput                          access        i   refused:windows        origin target_rank target=None
Rget                       MPI_Rget                          access        i   refused:windows        origin target_rank target=None
Raccumulate                MPI_Raccumulate                   access        i   refused:windows        origin target_rank target=None op=SUM
Rget_accumulate            MPI_Rget_accumulate               access        i   refused:windows        origin result target_rank target=None op=SUM
Fence                      MPI_Win_fence                     epoch         b   refused:windows        assertion=0
Start                      MPI_Win_start                     epoch         b   refused:windows        group assertion=0
Complete                   MPI_Win_complete                  epoch         b   refused:windows
Post                       MPI_Win_post                      epoch         b   refused:windows        group assertion=0
Wait                       MPI_Win_wait                      epoch         b   refused:windows
Test                       MPI_Win_test                      epoch         t   refused:windows
Lock                       MPI_Win_lock                      epoch         b   refused:windows        rank lock_type=LOCK_EXCLUSIVE assertion=0
Unlock                     MPI_Win_unlock                    epoch         b   refused:windows        rank
Lock_all                   MPI_Win_lock_all                  epoch         b   refused:windows        assertion=0
Unlock_all                 MPI_Win_unlock_all                epoch         b   refused:windows
Flush                      MPI_Win_flush                     epoch         b   refused:windows        rank
Flush_all                  MPI_Win_flush_all                 epoch         b   refused:windows
Flush_local                MPI_Win_flush_local               epoch         b   refused:windows        rank
Flush_local_all            MPI_Win_flush_local_all           epoch         b   refused:windows
Sync                       MPI_Win_sync                      epoch         b   refused:windows
Create_errhandler          MPI_Win_create_errhandler         errhandler    l   native                 errhandler_fn
Get_errhandler             MPI_Win_get_errhandler            errhandler    l   refused:windows
Set_errhandler             MPI_Win_set_errhandler            errhandler    l   refused:windows        errhandler
Call_errhandler            MPI_Win_call_errhandler           errhandler    l   refused:windows        errorcode
Get_name                   MPI_Win_get_name                  window-fact   l   refused:windows
Set_name                   MPI_Win_set_name                  window-fact   l   refused:windows        name
toint                      MPI_Win_toint                     handle        l   native
fromint                    MPI_Win_fromint                   handle        l   native                 arg
py2f                       MPI_Win_c2f                       handle        l   native
f2py                       MPI_Win_f2c                       handle        l   native                 arg
"""
