/* Topologies and their collectives, Alltoallw, a copy that is begun, two groups that talk. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Comm ring;
    int from[1] = {(rank + size - 1) % size}, to[1] = {(rank + 1) % size}, weight[1] = {rank + 1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &ring);
    int in, out, weighted, got = -1;
    MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring);
    printf("%d ring: %d in, %d out, %s, got %d\n", rank, in, out, weighted ? "weighted" : "plain", got);
    MPI_Comm_free(&ring);

    int degree[1] = {1}, who[1], weights[1], sources[1], given[1];
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, degree, to, weight, MPI_INFO_NULL, 0, &ring);
    MPI_Dist_graph_neighbors(ring, 1, sources, weights, 1, who, given);
    MPI_Request request;
    MPI_Ineighbor_alltoall(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%d graph: %d (%d) to %d (%d), got %d\n", rank, sources[0], weights[0], who[0], given[0], got);
    MPI_Comm_free(&ring);

    /* no edges at all: NULL is no MPI_UNWEIGHTED */
    MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, NULL, MPI_INFO_NULL, 0, &ring);
    MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
    printf("%d nobody: %d in, %d out, %s\n", rank, in, out, weighted ? "weighted" : "plain");
    MPI_Comm_free(&ring);

    int index[2] = {1, 2}, edges[2] = {1, 0}, nodes, ends, near[1];
    MPI_Comm pair;
    MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &pair);
    if (pair != MPI_COMM_NULL) {
        MPI_Graphdims_get(pair, &nodes, &ends);
        MPI_Graph_neighbors(pair, rank, 1, near);
        printf("%d pair: %d nodes, %d edges, beside %d\n", rank, nodes, ends, near[0]);
        MPI_Comm_free(&pair);
    }

    /* in a row that has ends: what is beyond them is no process, and its place stays as it is */
    MPI_Comm row;
    int dims[1] = {size}, periods[1] = {0}, both[2] = {-1, -1}, mine[2] = {rank, rank * 10};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &row);
    MPI_Neighbor_alltoall(mine, 1, MPI_INT, both, 1, MPI_INT, row);
    printf("%d row: %d %d\n", rank, both[0], both[1]);
    MPI_Aint shifts[2] = {0, sizeof(int)};
    int ones[2] = {1, 1};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    both[0] = both[1] = -1;
    MPI_Neighbor_alltoallw(mine, ones, shifts, types, both, ones, shifts, types, row);
    printf("%d row of types: %d %d\n", rank, both[0], both[1]);
    MPI_Comm_free(&row);

    int *counts = malloc(size * sizeof *counts), *places = malloc(size * sizeof *places);
    int *sent = malloc(size * sizeof *sent), *taken = malloc(size * sizeof *taken);
    MPI_Datatype *kinds = malloc(size * sizeof *kinds);
    for (int at = 0; at < size; at++)
        counts[at] = 1, places[at] = at * sizeof(int), kinds[at] = at % 2 ? MPI_INT : MPI_UNSIGNED,
        sent[at] = rank * 100 + at, taken[at] = -1;
    for (int at = 0; at < size; at++) kinds[at] = (at + rank) % 2 ? MPI_INT : MPI_UNSIGNED;
    MPI_Alltoallw(sent, counts, places, kinds, taken, counts, places, kinds, MPI_COMM_WORLD);
    printf("%d alltoallw: %d %d\n", rank, taken[0], taken[size - 1]);

    for (int at = 0; at < size; at++) counts[at] = 0;
    MPI_Alltoallw(sent, counts, places, kinds, taken, counts, places, kinds, MPI_COMM_WORLD);
    MPI_Alltoallv(sent, counts, places, MPI_INT, taken, counts, places, MPI_INT, MPI_COMM_WORLD);
    printf("%d nothing to all: %d\n", rank, taken[0]);

    MPI_Comm copy;
    int sum;
    if (rank == 0) /* begins last: the others must not wait for it in the call */
        for (int at = 1; at < size; at++) MPI_Recv(&got, 1, MPI_INT, at, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    if (rank) MPI_Ssend(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    MPI_Comm_free(&copy);
    printf("%d idup: %d\n", rank, sum);

    MPI_Comm half, without, copies[3]; /* rank 1 begins its duplicate last, and is not in the other ones */
    MPI_Request several[3];
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : 0, 0, &without);
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &copies[0], &several[0]);
    if (rank != 1) {
        MPI_Comm_idup(without, &copies[1], &several[1]);
        MPI_Comm_idup(without, &copies[2], &several[2]);
        MPI_Barrier(without);
        MPI_Comm_dup(without, &half); /* these wait for nobody else either */
        MPI_Comm_free(&without);
        MPI_Comm_split(half, 0, 0, &without);
        MPI_Comm_free(&half);
        MPI_Comm_free(&without);
    }
    if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
    MPI_Waitall(rank == 1 ? 1 : 3, several, MPI_STATUSES_IGNORE);
    for (int at = 0; at < (rank == 1 ? 1 : 3); at++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copies[at]);
        printf("%d idup %d of those apart: %d\n", rank, at, sum);
        MPI_Comm_free(&copies[at]);
    }

    MPI_Comm many[30];
    MPI_Request all[31];
    for (int at = 0; at < 30; at++) MPI_Comm_idup(MPI_COMM_WORLD, &many[at], &all[at]);
    MPI_Ibarrier(MPI_COMM_WORLD, &all[30]);
    MPI_Waitall(31, all, MPI_STATUSES_IGNORE);
    for (int at = 0, sums = 0; at < 30; at++) {
        MPI_Allreduce(&at, &sum, 1, MPI_INT, MPI_SUM, many[at]);
        sums += sum;
        MPI_Comm_free(&many[at]);
        if (at == 29) printf("%d of 30 begun at once: %d\n", rank, sums);
    }

    MPI_Comm other, merged;
    int local, remote, place, is_inter, token = rank;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 7, &other);
    MPI_Comm_test_inter(other, &is_inter);
    MPI_Comm_size(other, &local), MPI_Comm_remote_size(other, &remote), MPI_Comm_rank(other, &place);
    MPI_Sendrecv_replace(&token, 1, MPI_INT, place, 3, place, 3, other, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other);
    MPI_Intercomm_merge(other, rank % 2, &merged);
    MPI_Comm_rank(merged, &place);
    printf("%d inter: %d, %d and %d, from %d, sum %d, merged %d\n", rank, is_inter, local, remote,
           token, sum, place);
    MPI_Comm_free(&merged), MPI_Comm_free(&other), MPI_Comm_free(&half);

    /* to and from nobody, and nothing at no address */
    MPI_Status status;
    MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
    MPI_Sendrecv(NULL, 0, MPI_INT, to[0], 5, NULL, 0, MPI_INT, from[0], 5, MPI_COMM_WORLD, &status);
    printf("%d nothing: from %d\n", rank, status.MPI_SOURCE);
    MPI_Finalize();
    return 0;
}
