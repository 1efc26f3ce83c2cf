/* A program that lets SIGPIPE end it, as PETSc sets it when it is initialised. What the grid writes to
   may be gone; so is what this operation writes to, which the grid calls. */
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int broken;

static void add_and_write(void *in, void *inout, int *count, MPI_Datatype *type) {
    int ends[2];
    (void)count, (void)type;
    *(int *)inout += *(int *)in;
    if (pipe(ends)) return;
    close(ends[0]);
    broken = write(ends[1], "x", 1) < 0 && errno == EPIPE;
    close(ends[1]);
}

int main(int argc, char **argv) {
    int rank, sum = 0, any_broken = 0;
    MPI_Op operation;
    MPI_Init(&argc, &argv);
    signal(SIGPIPE, SIG_DFL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Op_create(add_and_write, 1, &operation);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, operation, MPI_COMM_WORLD);
    MPI_Reduce(&broken, &any_broken, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d, and %s\n", sum, any_broken ? "a pipe was broken" : "no pipe");
    MPI_Op_free(&operation);
    return MPI_Finalize();
}
