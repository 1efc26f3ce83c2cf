/* The ocean of two coupled codes, in C: a surface that gives heat to the air above, which is a
   program in Python on other clusters (air.py).

   Its ranks talk to each other by MPI, and each of them to the rank of the air with its number by the
   functions of gcm.h. See coupled.xml for how both are started.
*/
#include <gcm.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 8, STEPS = 10, SURFACE = 1, HEAT = 2 };

static void conduct(double *cells, MPI_Comm world) {
    double before = cells[0], after = cells[CELLS - 1], known[CELLS];
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(cells, 1, MPI_DOUBLE, left, 0, &after, 1, MPI_DOUBLE, right, 0, world,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(cells + CELLS - 1, 1, MPI_DOUBLE, right, 0, &before, 1, MPI_DOUBLE, left, 0, world,
                 MPI_STATUS_IGNORE);
    for (int at = 0; at < CELLS; at++) known[at] = cells[at];
    for (int at = 0; at < CELLS; at++) {
        double one = at > 0 ? known[at - 1] : before, other = at + 1 < CELLS ? known[at + 1] : after;
        cells[at] += 0.2 * (one + other - 2 * known[at]);
    }
}

int main(int argc, char **argv) {
    double cells[CELLS], heat[CELLS], own = 0, whole = 0;
    char code[128], words[128];
    int rank, size, air, in_cluster;
    gcm_message message;

    MPI_Init(&argc, &argv);
    gcm_code(code, &rank);
    gcm_code_size(NULL, &size);
    gcm_code_size("air", &air);
    MPI_Comm_size(GCM_COMM_CLUSTER, &in_cluster);
    if (rank == 0)
        printf("%s: %d ranks, %d of them here; the air has %d\n", code, size, in_cluster, air);

    for (int at = 0; at < CELLS; at++) cells[at] = 285 + (rank * CELLS + at) % 5;
    for (int step = 0; step < STEPS; step++) {
        gcm_send(cells, CELLS, MPI_DOUBLE, "air", rank, SURFACE);
        conduct(cells, MPI_COMM_WORLD);
        gcm_recv(heat, CELLS, MPI_DOUBLE, "air", rank, HEAT, NULL);
        for (int at = 0; at < CELLS; at++) cells[at] += heat[at];
    }
    for (int at = 0; at < CELLS; at++) own += cells[at];
    MPI_Reduce(&own, &whole, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s: heat %.6f\n", code, whole);
        gcm_send(&whole, 1, MPI_DOUBLE, "air", 0, 0);
        gcm_recv(words, sizeof words, MPI_CHAR, "air", 0, 0, &message);
        printf("%s says: %.*s\n", message.code, message.count, words);
    }
    MPI_Finalize();
    return 0;
}
