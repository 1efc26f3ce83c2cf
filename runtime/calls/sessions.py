"""The calls of sessions, and functions that mpi4py does not have there: see `runtime.calls.table`."""

ROWS = """
[Session]
fromhandle                 -                                 handle        l   native                 handle
free                       -                                 session       l   native
Init                       MPI_Session_init                  session       l   ours                   info=INFO_NULL errhandler=None
Finalize                   MPI_Session_finalize              session       l   ours
Get_num_psets              MPI_Session_get_num_psets         session       l   native                 info=INFO_NULL
Get_nth_pset               MPI_Session_get_nth_pset          session       l   native                 n info=INFO_NULL
Get_info                   MPI_Session_get_info              session       l   native
Get_pset_info              MPI_Session_get_pset_info         session       l   ours                   pset_name
Create_group               MPI_Group_from_session_pset       session       l   ours                   pset_name
Attach_buffer              MPI_Session_attach_buffer         session       b   native                 buf
Detach_buffer              MPI_Session_detach_buffer         session       b   native
Flush_buffer               MPI_Session_flush_buffer          session       l   native
Iflush_buffer              MPI_Session_iflush_buffer         session       l   native
Create_errhandler          MPI_Session_create_errhandler     errhandler    l   native                 errhandler_fn
Get_errhandler             MPI_Session_get_errhandler        errhandler    l   native
Set_errhandler             MPI_Session_set_errhandler        errhandler    l   native                 errhandler
Call_errhandler            MPI_Session_call_errhandler       errhandler    l   native                 errorcode
toint                      MPI_Session_toint                 handle        l   native
fromint                    MPI_Session_fromint               handle        l   native                 arg
py2f                       MPI_Session_c2f                   handle        l   native
f2py                       MPI_Session_f2c                   handle        l   native                 arg

[-]
-                          MPI_Attr_delete                   attribute     l   native
-                          MPI_Attr_get                      attribute     l   native
-                          MPI_Attr_put                      attribute     l   native
-                          MPI_Buffer_iflush                 buffering     i   native
-                          MPI_Pack                          packing       l   native
-                          MPI_Pack_size                     packing       l   native
-                          MPI_Unpack                        packing       l   native
"""
