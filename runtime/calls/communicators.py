"""The calls of communicators, and what makes windows and files of them; see `runtime.calls.table`."""

ROWS = """
[Comm]
fromhandle                 -                                 handle        l   ours                                  handle
free                       -                                 free          b   ours
Get_group                  MPI_Comm_group                    fact          l   ours
Get_size                   MPI_Comm_size                     fact          l   ours
Get_rank                   MPI_Comm_rank                     fact          l   ours
Compare                    MPI_Comm_compare                  fact          l   ours                                  comm
Clone                      MPI_Comm_dup                      copy          b   ours | meets
Dup                        MPI_Comm_dup                      copy          bi  ours                                  info=None | meets
Dup_with_info              MPI_Comm_dup_with_info            copy          bi  ours                                  info | meets
Create                     MPI_Comm_create                   make          b   ours                                  group | meets
Split                      MPI_Comm_split                    make          b   ours                                  color=0 key=0 | meets
Split_type                 MPI_Comm_split_type               make          b   ours                                  split_type key=0 info=INFO_NULL | meets
Free                       MPI_Comm_free                     free          b   ours
Revoke                     MPIX_Comm_revoke                  recovery      l   ours
Is_revoked                 MPIX_Comm_is_revoked              recovery      l   ours
Get_failed                 MPIX_Comm_get_failed              recovery      l   ours
Ack_failed                 MPIX_Comm_ack_failed              recovery      l   ours                                  num_to_ack=None
Agree                      MPIX_Comm_agree                   recovery      bi  ours                                  flag
Shrink                     MPIX_Comm_shrink                  recovery      bi  ours
Set_info                   MPI_Comm_set_info                 fact          l   ours                                  info
Get_info                   MPI_Comm_get_info                 fact          l   ours
Attach_buffer              MPI_Comm_attach_buffer            buffering     b   native                                buf
Detach_buffer              MPI_Comm_detach_buffer            buffering     b   native
Flush_buffer               MPI_Comm_flush_buffer             buffering     bi  native
Send                       MPI_Send                          send          bip ours                                  buf:in dest tag=0 | standard
Recv                       MPI_Recv                          receive       bip ours                                  buf:out source=ANY_SOURCE tag=ANY_TAG status=None
Sendrecv                   MPI_Sendrecv                      exchange      bi  ours                                  sendbuf dest sendtag=0 recvbuf=None source=ANY_SOURCE recvtag=ANY_TAG status=None
Sendrecv_replace           MPI_Sendrecv_replace              exchange      bi  ours                                  buf:inout dest sendtag=0 source=ANY_SOURCE recvtag=ANY_TAG status=None
Probe                      MPI_Probe                         probe         b   ours                                  source=ANY_SOURCE tag=ANY_TAG status=None
Iprobe                     MPI_Iprobe                        probe         t   ours                                  source=ANY_SOURCE tag=ANY_TAG status=None
Mprobe                     MPI_Mprobe                        probe         b   ours                                  source=ANY_SOURCE tag=ANY_TAG status=None | takes
Improbe                    MPI_Improbe                       probe         t   ours                                  source=ANY_SOURCE tag=ANY_TAG status=None | takes
Psend_init                 MPI_Psend_init                    partition     p   ours                                  buf:in partitions dest tag=0 info=INFO_NULL
Precv_init                 MPI_Precv_init                    partition     p   ours                                  buf:out partitions source=ANY_SOURCE tag=ANY_TAG info=INFO_NULL
Bsend                      MPI_Bsend                         send          bip ours                                  buf:in dest tag=0 | buffered
Ssend                      MPI_Ssend                         send          bip ours                                  buf:in dest tag=0 | synchronous
Rsend                      MPI_Rsend                         send          bip ours                                  buf:in dest tag=0 | ready
Barrier                    MPI_Barrier                       collective    bip plan:plans.barrier                    | alike meets
Bcast                      MPI_Bcast                         collective    bip plan:plans.bcast                      buf:inout* root=0 | alike
Gather                     MPI_Gather                        collective    bip plan:plans.gather                     sendbuf* recvbuf root=0 | joins parts
Gatherv                    MPI_Gatherv                       collective    bip plan:plans.gather                     sendbuf recvbuf root=0 | vector
Scatter                    MPI_Scatter                       collective    bip plan:plans.scatter                    sendbuf recvbuf* root=0 | joins parts
Scatterv                   MPI_Scatterv                      collective    bip plan:plans.scatter                    sendbuf recvbuf root=0 | vector
Allgather                  MPI_Allgather                     collective    bip plan:plans.allgather                  sendbuf* recvbuf | joins parts meets
Allgatherv                 MPI_Allgatherv                    collective    bip plan:plans.allgather                  sendbuf recvbuf | vector meets
Alltoall                   MPI_Alltoall                      collective    bip plan:plans.alltoall                   sendbuf* recvbuf | joins meets
Alltoallv                  MPI_Alltoallv                     collective    bip plan:plans.alltoall                   sendbuf recvbuf | vector meets
Alltoallw                  MPI_Alltoallw                     collective    bip plan:plans.alltoallw                  sendbuf recvbuf | meets
Reduce                     MPI_Reduce                        collective    bip plan:reduction_plans.reduce           sendbuf* recvbuf op=SUM root=0 | alike
Allreduce                  MPI_Allreduce                     collective    bip plan:reduction_plans.allreduce        sendbuf* recvbuf op=SUM | alike meets
Reduce_scatter_block       MPI_Reduce_scatter_block          collective    bip plan:reduction_plans.reduce_scatter_block sendbuf* recvbuf op=SUM | meets
Reduce_scatter             MPI_Reduce_scatter                collective    bip plan:reduction_plans.reduce_scatter   sendbuf recvbuf recvcounts=None op=SUM | meets
Is_inter                   MPI_Comm_test_inter               fact          l   ours
Is_intra                   MPI_Comm_test_inter               fact          l   ours
Get_topology               MPI_Topo_test                     fact          l   ours
Get_parent                 MPI_Comm_get_parent               process       b   native
Disconnect                 MPI_Comm_disconnect               free          b   ours
Join                       MPI_Comm_join                     process       b   native                                fd
Get_attr                   MPI_Comm_get_attr                 attribute     l   ours                                  keyval
Set_attr                   MPI_Comm_set_attr                 attribute     l   native                                keyval attrval
Delete_attr                MPI_Comm_delete_attr              attribute     l   native                                keyval
Create_keyval              MPI_Comm_create_keyval            attribute     l   ours                                  copy_fn=None delete_fn=None nopython=False
Free_keyval                MPI_Comm_free_keyval              attribute     l   native                                keyval
Create_errhandler          MPI_Comm_create_errhandler        errhandler    l   ours                                  errhandler_fn
Get_errhandler             MPI_Comm_get_errhandler           errhandler    l   native
Set_errhandler             MPI_Comm_set_errhandler           errhandler    l   native                                errhandler
Call_errhandler            MPI_Comm_call_errhandler          errhandler    l   native                                errorcode
Abort                      MPI_Abort                         abort         b   ours                                  errorcode=0
Get_name                   MPI_Comm_get_name                 fact          l   native
Set_name                   MPI_Comm_set_name                 fact          l   native                                name
toint                      MPI_Comm_toint                    handle        l   ours
fromint                    MPI_Comm_fromint                  handle        l   ours                                  arg
py2f                       MPI_Comm_c2f                      handle        l   ours
f2py                       MPI_Comm_f2c                      handle        l   ours                                  arg
send                       MPI_Send                          send          bi  ours                                  obj dest tag=0 | standard
bsend                      MPI_Bsend                         send          bi  ours                                  obj dest tag=0 | buffered
ssend                      MPI_Ssend                         send          bi  ours                                  obj dest tag=0 | synchronous
recv                       MPI_Recv                          receive       bi  ours                                  buf:room=None source=ANY_SOURCE tag=ANY_TAG status=None
sendrecv                   MPI_Sendrecv                      exchange      b   ours                                  sendobj dest sendtag=0 recvbuf:room=None source=ANY_SOURCE recvtag=ANY_TAG status=None
probe                      MPI_Probe                         probe         b   ours                                  source=ANY_SOURCE tag=ANY_TAG status=None
iprobe                     MPI_Iprobe                        probe         t   ours                                  source=ANY_SOURCE tag=ANY_TAG status=None
mprobe                     MPI_Mprobe                        probe         b   ours                                  source=ANY_SOURCE tag=ANY_TAG status=None | takes
improbe                    MPI_Improbe                       probe         t   ours                                  source=ANY_SOURCE tag=ANY_TAG status=None | takes
barrier                    MPI_Barrier                       collective    b   plan:plans.barrier                    | as:Barrier meets
bcast                      MPI_Bcast                         collective    b   plan:object_plans.bcast               obj root=0 | alike
gather                     MPI_Gather                        collective    b   plan:object_plans.gather              sendobj root=0 | gathers
scatter                    MPI_Scatter                       collective    b   plan:object_plans.scatter             sendobj root=0 | spreads
allgather                  MPI_Allgather                     collective    b   plan:object_plans.allgather           sendobj | gathers meets
alltoall                   MPI_Alltoall                      collective    b   plan:object_plans.alltoall            sendobj | gathers spreads meets
reduce                     MPI_Reduce                        collective    b   plan:object_plans.reduce              sendobj op=SUM root=0 | alike
allreduce                  MPI_Allreduce                     collective    b   plan:object_plans.allreduce           sendobj op=SUM | alike meets

[Intracomm]
Create_group               MPI_Comm_create_group             make-by-group b   ours                                  group tag=0
Create_from_group          MPI_Comm_create_from_group        make-by-group b   ours                                  group stringtag=org.mpi4py info=INFO_NULL errhandler=None
Create_cart                MPI_Cart_create                   make          b   ours                                  dims periods=None reorder=False | meets
Create_graph               MPI_Graph_create                  make          b   ours                                  index edges reorder=False | meets
Create_dist_graph_adjacent MPI_Dist_graph_create_adjacent    make          b   ours                                  sources destinations sourceweights=None destweights=None info=INFO_NULL reorder=False | meets
Create_dist_graph          MPI_Dist_graph_create             make          b   ours                                  sources degrees destinations weights=None info=INFO_NULL reorder=False | meets
Create_intercomm           MPI_Intercomm_create              make-by-group b   ours                                  local_leader peer_comm remote_leader tag=0
Cart_map                   MPI_Cart_map                      fact          l   ours                                  dims periods=None
Graph_map                  MPI_Graph_map                     fact          l   ours                                  index edges
Scan                       MPI_Scan                          collective    bip plan:reduction_plans.scan             sendbuf* recvbuf op=SUM | alike joins
Exscan                     MPI_Exscan                        collective    bip plan:reduction_plans.scan             sendbuf* recvbuf op=SUM | alike joins exclusive
scan                       MPI_Scan                          collective    b   plan:object_plans.scan                sendobj op=SUM | alike
exscan                     MPI_Exscan                        collective    b   plan:object_plans.scan                sendobj op=SUM | alike exclusive
Spawn                      MPI_Comm_spawn                    process       b   refused:processes                     command args=None maxprocs=1 info=INFO_NULL root=0 errcodes=None
Spawn_multiple             MPI_Comm_spawn_multiple           process       b   refused:processes                     command args=None maxprocs=None info=INFO_NULL root=0 errcodes=None
Accept                     MPI_Comm_accept                   process       b   ours                                  port_name info=INFO_NULL root=0
Connect                    MPI_Comm_connect                  process       b   ours                                  port_name info=INFO_NULL root=0

[Topocomm]
Neighbor_allgather         MPI_Neighbor_allgather            collective    bip plan:neighbour_plans.neighbour_allgather sendbuf recvbuf
Neighbor_allgatherv        MPI_Neighbor_allgatherv           collective    bip plan:neighbour_plans.neighbour_allgather sendbuf recvbuf | vector
Neighbor_alltoall          MPI_Neighbor_alltoall             collective    bip plan:neighbour_plans.neighbour_alltoall sendbuf recvbuf
Neighbor_alltoallv         MPI_Neighbor_alltoallv            collective    bip plan:neighbour_plans.neighbour_alltoall sendbuf recvbuf | vector
Neighbor_alltoallw         MPI_Neighbor_alltoallw            collective    bip plan:neighbour_plans.neighbour_alltoallw sendbuf recvbuf
neighbor_allgather         MPI_Neighbor_allgather            collective    b   plan:object_plans.neighbour_allgather sendobj
neighbor_alltoall          MPI_Neighbor_alltoall             collective    b   plan:object_plans.neighbour_alltoall  sendobj

[Cartcomm]
Get_dim                    MPI_Cartdim_get                   fact          l   ours
Get_topo                   MPI_Cart_get                      fact          l   ours
Get_cart_rank              MPI_Cart_rank                     fact          l   ours                                  coords
Get_coords                 MPI_Cart_coords                   fact          l   ours                                  rank
Shift                      MPI_Cart_shift                    fact          l   ours                                  direction disp
Sub                        MPI_Cart_sub                      make          b   ours                                  remain_dims | meets

[Graphcomm]
Get_dims                   MPI_Graphdims_get                 fact          l   ours
Get_topo                   MPI_Graph_get                     fact          l   ours
Get_neighbors_count        MPI_Graph_neighbors_count         fact          l   ours                                  rank
Get_neighbors              MPI_Graph_neighbors               fact          l   ours                                  rank

[Distgraphcomm]
Get_dist_neighbors_count   MPI_Dist_graph_neighbors_count    fact          l   ours
Get_dist_neighbors         MPI_Dist_graph_neighbors          fact          l   ours

[Intercomm]
Create_from_groups         MPI_Intercomm_create_from_groups  make-by-group b   ours                                  local_group local_leader remote_group remote_leader stringtag=org.mpi4py info=INFO_NULL errhandler=None
Get_remote_group           MPI_Comm_remote_group             fact          l   ours
Get_remote_size            MPI_Comm_remote_size              fact          l   ours
Merge                      MPI_Intercomm_merge               make          b   ours                                  high=False | meets

[Win]
Create                     MPI_Win_create                    window        b   ours                   memory disp_unit=1 info=INFO_NULL comm=COMM_SELF
Allocate                   MPI_Win_allocate                  window        b   ours                   size disp_unit=1 info=INFO_NULL comm=COMM_SELF
Allocate_shared            MPI_Win_allocate_shared           window        b   ours                   size disp_unit=1 info=INFO_NULL comm=COMM_SELF
Create_dynamic             MPI_Win_create_dynamic            window        b   ours                   info=INFO_NULL comm=COMM_SELF

[File]
Open                       MPI_File_open                     file          b   ours                   comm filename amode=MODE_RDONLY info=INFO_NULL
"""
