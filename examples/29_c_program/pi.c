/* A plain MPI program: pi by all processes, and a token that each of them hands on.

   Nothing in it knows of clusters. Run it with

       mpicc -O2 -o pi pi.c
       gcm-deploy --emulate 2x1x2 ./pi
*/
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const int steps = 1000000;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    double part = 0, pi = 0;
    for (int step = rank; step < steps; step += size) {
        double x = (step + 0.5) / steps;
        part += 4 / (1 + x * x) / steps;
    }
    MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

    int token = 0, next = (rank + 1) % size, before = (rank + size - 1) % size;
    if (rank > 0) MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token++;
    MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("pi is %.9f, by %d processes\n", pi, size);
        printf("the token has passed %d of them\n", token);
    }
    MPI_Finalize();
    return 0;
}
