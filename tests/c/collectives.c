/* Collectives over all ranks: all operations, in place, with an operation and a type of its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void larger_absolute(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    int *a = in, *b = inout;
    for (int at = 0; at < *count; at++) b[at] = abs(a[at]) > abs(b[at]) ? a[at] : b[at];
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm w = MPI_COMM_WORLD;
    int *all = malloc(size * sizeof *all), *more = malloc(size * size * sizeof *more);
    int *counts = malloc(size * sizeof *counts), *places = malloc(size * sizeof *places);

    double x = 1.0 / (rank + 1), sum = 0, most = 0;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_MAX, w);
    MPI_Reduce(&x, &most, 1, MPI_DOUBLE, MPI_MIN, size - 1, w);
    printf("%d reduced: %.6f %.6f\n", rank, sum, most);
    long inside = rank + 1;
    MPI_Allreduce(MPI_IN_PLACE, &inside, 1, MPI_LONG, MPI_SUM, w);
    printf("%d in place: %ld\n", rank, inside);

    struct { double value; int rank; } at = {-(double)(rank % 3), rank}, where;
    MPI_Allreduce(&at, &where, 1, MPI_DOUBLE_INT, MPI_MINLOC, w);
    printf("%d minloc: %.1f at %d\n", rank, where.value, where.rank);

    MPI_Op own;
    MPI_Op_create(larger_absolute, 1, &own);
    int pair[2] = {rank % 2 ? -rank : rank, -rank}, chosen[2];
    MPI_Allreduce(pair, chosen, 2, MPI_INT, own, w);
    printf("%d own operation: %d %d\n", rank, chosen[0], chosen[1]);
    MPI_Op_free(&own);

    int token = rank == 1 ? 42 : 0;
    MPI_Bcast(&token, 1, MPI_INT, 1, w);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, w);
    printf("%d bcast and allgather: %d %d\n", rank, token, all[size - 1]);

    for (int i = 0; i < size; i++) all[i] = rank * 100 + i;
    MPI_Alltoall(all, 1, MPI_INT, more, 1, MPI_INT, w);
    printf("%d alltoall: %d %d\n", rank, more[0], more[size - 1]);

    int total = 0;
    for (int i = 0; i < size; i++) counts[i] = i + 1, places[i] = total, total += i + 1;
    int *mine = malloc((rank + 1) * sizeof *mine), *together = malloc(total * sizeof *together);
    for (int i = 0; i <= rank; i++) mine[i] = rank * 10 + i;
    for (int i = 0; i < total; i++) together[i] = -1;
    MPI_Gatherv(mine, rank + 1, MPI_INT, together, counts, places, MPI_INT, 0, w);
    printf("%d gatherv: %d %d\n", rank, together[0], together[total - 1]);
    MPI_Allgatherv(mine, rank + 1, MPI_INT, together, counts, places, MPI_INT, w);
    printf("%d allgatherv: %d %d\n", rank, together[1], together[total - 1]);
    MPI_Scatterv(together, counts, places, MPI_INT, mine, rank + 1, MPI_INT, size - 1, w);
    printf("%d scatterv: %d\n", rank, mine[rank]);

    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 2 % size, w);
    if (rank == 2 % size) printf("%d gather: %d\n", rank, all[size - 1]);
    for (int i = 0; i < size; i++) all[i] = i * i;
    int square = -1;
    MPI_Scatter(all, 1, MPI_INT, &square, 1, MPI_INT, 0, w);
    int before = 0, exclusive = -1;
    MPI_Scan(&square, &before, 1, MPI_INT, MPI_SUM, w);
    MPI_Exscan(&square, &exclusive, 1, MPI_INT, MPI_SUM, w);
    printf("%d scatter and scans: %d %d %d\n", rank, square, before, rank ? exclusive : 0);

    int part = 0;
    for (int i = 0; i < size; i++) all[i] = rank + i, counts[i] = 1;
    MPI_Reduce_scatter(all, &part, counts, MPI_INT, MPI_SUM, w);
    printf("%d reduce_scatter: %d\n", rank, part);
    MPI_Reduce_scatter_block(all, &part, 1, MPI_INT, MPI_SUM, w);
    printf("%d reduce_scatter_block: %d\n", rank, part);

    /* one array for both sides, with other types or places: legal, as halos are exchanged */
    int *grid = malloc(2 * size * sizeof *grid), *zeros = malloc(size * sizeof *zeros);
    MPI_Datatype *left = malloc(size * sizeof *left), *right = malloc(size * sizeof *right);
    for (int i = 0; i < size; i++) {
        grid[2 * i] = rank * 10 + i, grid[2 * i + 1] = -1, zeros[i] = 0, counts[i] = 1;
        int sizes[] = {size, 2}, one[] = {1, 1}, from[] = {i, 0}, to[] = {i, 1};
        MPI_Type_create_subarray(2, sizes, one, from, MPI_ORDER_C, MPI_INT, &left[i]);
        MPI_Type_create_subarray(2, sizes, one, to, MPI_ORDER_C, MPI_INT, &right[i]);
        MPI_Type_commit(&left[i]), MPI_Type_commit(&right[i]);
    }
    MPI_Alltoallw(grid, counts, zeros, left, grid, counts, zeros, right, w);
    printf("%d alltoallw in one array: %d %d\n", rank, grid[1], grid[2 * size - 1]);
    for (int i = 0; i < size; i++) MPI_Type_free(&left[i]), MPI_Type_free(&right[i]);
    for (int i = 0; i < size; i++) places[i] = i, zeros[i] = size + i;
    for (int i = 0; i < size; i++) grid[i] = rank * 10 + i;
    int *same = malloc(size * sizeof *same); /* MPICH refuses one array of counts for both sides */
    for (int i = 0; i < size; i++) same[i] = 1;
    MPI_Alltoallv(grid, counts, places, MPI_INT, grid, same, zeros, MPI_INT, w);
    printf("%d alltoallv in one array: %d %d\n", rank, grid[size], grid[2 * size - 1]);
    grid[0] = rank;
    MPI_Gatherv(grid, 1, MPI_INT, grid, counts, zeros, MPI_INT, 0, w);
    printf("%d gatherv in one array: %d %d\n", rank, grid[0], grid[2 * size - 1]);

    MPI_Request requests[2];
    MPI_Iallreduce(&rank, &part, 1, MPI_INT, MPI_SUM, w, &requests[0]);
    MPI_Ibarrier(w, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("%d begun: %d\n", rank, part);
    MPI_Barrier(w);
    MPI_Finalize();
    return 0;
}
