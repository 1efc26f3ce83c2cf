"""The calls of windows: a row for each, see `runtime.calls.table`."""

ROWS = """
[Win]
fromhandle                 -                                 handle        l   native                 handle
free                       -                                 window        l   ours
Shared_query               MPI_Win_shared_query              window-fact   l   ours                   rank
Attach                     MPI_Win_attach                    window-fact   l   ours                   memory
Detach                     MPI_Win_detach                    window-fact   l   ours                   memory
Free                       MPI_Win_free                      window        l   ours
Set_info                   MPI_Win_set_info                  window-fact   l   native                 info
Get_info                   MPI_Win_get_info                  window-fact   l   native
Get_group                  MPI_Win_get_group                 window-fact   l   ours
Get_attr                   MPI_Win_get_attr                  attribute     l   ours                   keyval
Set_attr                   MPI_Win_set_attr                  attribute     l   native                 keyval attrval
Delete_attr                MPI_Win_delete_attr               attribute     l   native                 keyval
Create_keyval              MPI_Win_create_keyval             attribute     l   ours                   copy_fn=None delete_fn=None nopython=False
Free_keyval                MPI_Win_free_keyval               attribute     l   native                 keyval
tomemory                   -                                 window-fact   l   native
Put                        MPI_Put                           access        b   ours                   origin target_rank target=None
Get                        MPI_Get                           access        b   ours                   origin target_rank target=None
Accumulate                 MPI_Accumulate                    access        b   ours                   origin target_rank target=None op=SUM
Get_accumulate             MPI_Get_accumulate                access        b   ours                   origin result target_rank target=None op=SUM
Fetch_and_op               MPI_Fetch_and_op                  access        b   ours                   origin result target_rank target_disp=0 op=SUM
Compare_and_swap           MPI_Compare_and_swap              access        b   ours                   origin compare result target_rank target_disp=0
Rput                       MPI_Rput                          access        i   ours                   origin target_rank target=None
Rget                       MPI_Rget                          access        i   ours                   origin target_rank target=None
Raccumulate                MPI_Raccumulate                   access        i   ours                   origin target_rank target=None op=SUM
Rget_accumulate            MPI_Rget_accumulate               access        i   ours                   origin result target_rank target=None op=SUM
Fence                      MPI_Win_fence                     epoch         b   ours                   assertion=0
Start                      MPI_Win_start                     epoch         b   ours                   group assertion=0
Complete                   MPI_Win_complete                  epoch         b   ours
Post                       MPI_Win_post                      epoch         b   ours                   group assertion=0
Wait                       MPI_Win_wait                      epoch         b   ours
Test                       MPI_Win_test                      epoch         t   ours
Lock                       MPI_Win_lock                      epoch         b   ours                   rank lock_type=LOCK_EXCLUSIVE assertion=0
Unlock                     MPI_Win_unlock                    epoch         b   ours                   rank
Lock_all                   MPI_Win_lock_all                  epoch         b   ours                   assertion=0
Unlock_all                 MPI_Win_unlock_all                epoch         b   ours
Flush                      MPI_Win_flush                     epoch         b   ours                   rank
Flush_all                  MPI_Win_flush_all                 epoch         b   ours
Flush_local                MPI_Win_flush_local               epoch         b   ours                   rank
Flush_local_all            MPI_Win_flush_local_all           epoch         b   ours
Sync                       MPI_Win_sync                      epoch         b   ours
Create_errhandler          MPI_Win_create_errhandler         errhandler    l   ours                   errhandler_fn
Get_errhandler             MPI_Win_get_errhandler            errhandler    l   native
Set_errhandler             MPI_Win_set_errhandler            errhandler    l   native                 errhandler
Call_errhandler            MPI_Win_call_errhandler           errhandler    l   native                 errorcode
Get_name                   MPI_Win_get_name                  window-fact   l   native
Set_name                   MPI_Win_set_name                  window-fact   l   native                 name
toint                      MPI_Win_toint                     handle        l   ours
fromint                    MPI_Win_fromint                   handle        l   native                 arg
py2f                       MPI_Win_c2f                       handle        l   ours
f2py                       MPI_Win_f2c                       handle        l   native                 arg
"""
