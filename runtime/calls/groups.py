"""The calls of groups: a row for each, see `runtime.calls.table`."""

ROWS = """
[Group]
fromhandle                 -                                 handle        l   native                                handle
free                       -                                 group         l   native
Get_size                   MPI_Group_size                    group         l   ours
Get_rank                   MPI_Group_rank                    group         l   ours
Translate_ranks            MPI_Group_translate_ranks         group         l   ours                                  ranks=None group=None
Compare                    MPI_Group_compare                 group         l   ours                                  group
Dup                        -                                 group         l   ours
Union                      MPI_Group_union                   group         l   ours                                  group1 group2
Intersection               MPI_Group_intersection            group         l   ours                                  group1 group2
Difference                 MPI_Group_difference              group         l   ours                                  group1 group2
Incl                       MPI_Group_incl                    group         l   ours                                  ranks
Excl                       MPI_Group_excl                    group         l   ours                                  ranks
Range_incl                 MPI_Group_range_incl              group         l   ours                                  ranks
Range_excl                 MPI_Group_range_excl              group         l   ours                                  ranks
Create_from_session_pset   MPI_Group_from_session_pset       group         l   native                                session pset_name
Free                       MPI_Group_free                    group         l   ours
toint                      MPI_Group_toint                   handle        l   ours
fromint                    MPI_Group_fromint                 handle        l   native                                arg
py2f                       MPI_Group_c2f                     handle        l   ours
f2py                       MPI_Group_f2c                     handle        l   native                                arg
Intersect                  MPI_Group_intersection            group         l   ours                                  group1 group2
"""
