"""The calls of requests and of matched messages: a row for each, see `runtime.calls.table`."""

ROWS = """
[Request]
fromhandle                 -                                 handle        l   ours                   handle
free                       -                                 request       l   ours
Wait                       MPI_Wait                          wait          b   ours                   status=None
Test                       MPI_Test                          test          t   ours                   status=None
Get_status                 MPI_Request_get_status            status        t   ours                   status=None
Waitany                    MPI_Waitany                       wait          b   ours                   requests status=None
Testany                    MPI_Testany                       test          t   ours                   requests status=None
Get_status_any             MPI_Request_get_status_any        status        t   ours                   requests status=None
Waitall                    MPI_Waitall                       wait          b   ours                   requests statuses=None
Testall                    MPI_Testall                       test          t   ours                   requests statuses=None
Get_status_all             MPI_Request_get_status_all        status        t   ours                   requests statuses=None
Waitsome                   MPI_Waitsome                      wait          b   ours                   requests statuses=None
Testsome                   MPI_Testsome                      test          t   ours                   requests statuses=None
Get_status_some            MPI_Request_get_status_some       status        t   ours                   requests statuses=None
Cancel                     MPI_Cancel                        request       l   ours
Free                       MPI_Request_free                  request       l   ours
toint                      MPI_Request_toint                 handle        l   native
fromint                    MPI_Request_fromint               handle        l   ours                   arg
py2f                       MPI_Request_c2f                   handle        l   native
f2py                       MPI_Request_f2c                   handle        l   ours                   arg
wait                       MPI_Wait                          wait          b   ours                   status=None
test                       MPI_Test                          test          t   ours                   status=None
get_status                 MPI_Request_get_status            status        t   ours                   status=None
waitany                    MPI_Waitany                       wait          b   ours                   requests status=None
testany                    MPI_Testany                       test          t   ours                   requests status=None
get_status_any             MPI_Request_get_status_any        status        t   ours                   requests status=None
waitall                    MPI_Waitall                       wait          b   ours                   requests statuses=None
testall                    MPI_Testall                       test          t   ours                   requests statuses=None
get_status_all             MPI_Request_get_status_all        status        t   ours                   requests statuses=None
waitsome                   MPI_Waitsome                      wait          b   ours                   requests statuses=None
testsome                   MPI_Testsome                      test          t   ours                   requests statuses=None
get_status_some            MPI_Request_get_status_some       status        t   ours                   requests statuses=None
cancel                     MPI_Cancel                        request       l   ours

[Prequest]
Start                      MPI_Start                         start         l   ours
Startall                   MPI_Startall                      start         l   ours                   requests
Pready                     MPI_Pready                        partition     l   ours                   partition
Pready_range               MPI_Pready_range                  partition     l   ours                   partition_low partition_high
Pready_list                MPI_Pready_list                   partition     l   ours                   partitions
Parrived                   MPI_Parrived                      partition     l   ours                   partition

[Grequest]
Start                      MPI_Grequest_start                request       l   native                 query_fn=None free_fn=None cancel_fn=None args=None kwargs=None
Complete                   MPI_Grequest_complete             request       l   native
complete                   MPI_Grequest_complete             request       l   native                 obj=None

[Message]
fromhandle                 -                                 handle        l   ours                   handle
free                       -                                 message       l   native
Probe                      MPI_Mprobe                        probe         b   ours                   comm source=ANY_SOURCE tag=ANY_TAG status=None
Iprobe                     MPI_Improbe                       probe         t   ours                   comm source=ANY_SOURCE tag=ANY_TAG status=None
Recv                       MPI_Mrecv                         receive       bi  ours                   buf:out status=None
probe                      MPI_Mprobe                        probe         b   ours                   comm source=ANY_SOURCE tag=ANY_TAG status=None
iprobe                     MPI_Improbe                       probe         t   ours                   comm source=ANY_SOURCE tag=ANY_TAG status=None
recv                       MPI_Mrecv                         receive       bi  ours                   status=None
toint                      MPI_Message_toint                 handle        l   native
fromint                    MPI_Message_fromint               handle        l   ours                   arg
py2f                       MPI_Message_c2f                   handle        l   native
f2py                       MPI_Message_f2c                   handle        l   ours                   arg
"""
