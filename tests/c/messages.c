/* Messages in all modes, probes, persistent requests, derived types, in a ring over all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, size, count, flag;
    MPI_Status status, both[2];
    MPI_Request requests[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;

    int sent[4] = {rank, rank + 1, rank + 2, rank + 3}, got[8] = {0};
    MPI_Irecv(got, 8, MPI_INT, before, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, 4, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, both);
    MPI_Get_count(&both[0], MPI_INT, &count);
    printf("%d nonblocking: %d from %d, tag %d, %d numbers, %s\n", rank, got[3], both[0].MPI_SOURCE,
           both[0].MPI_TAG, count, requests[0] == MPI_REQUEST_NULL ? "null" : "not null");

    double given = rank * 1.5, taken = -1;
    MPI_Sendrecv(&given, 1, MPI_DOUBLE, before, 1, &taken, 1, MPI_DOUBLE, next, 1, MPI_COMM_WORLD,
                 &status);
    printf("%d sendrecv: %.2f\n", rank, taken);
    MPI_Sendrecv_replace(&given, 1, MPI_DOUBLE, next, 2, before, MPI_ANY_TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    printf("%d replaced: %.2f\n", rank, given);

    MPI_Datatype column;
    MPI_Type_vector(4, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    int strided[8], holes[8];
    for (int at = 0; at < 8; at++) strided[at] = at % 2 ? -1 : rank * 10 + at, holes[at] = -7;
    MPI_Irecv(holes, 1, column, before, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(strided, 1, column, next, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&column); /* the pending ones keep it */
    for (int left = 2; left > 0; left--) {
        int which;
        MPI_Waitany(2, requests, &which, &status);
    }
    printf("%d strided: %d %d %d %d\n", rank, holes[0], holes[1], holes[6], holes[7]);

    MPI_Send_init(&rank, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&count, 1, MPI_INT, before, 4, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    printf("%d persistent: %d\n", rank, count);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    MPI_Isend(sent, 3, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Probe(before, 5, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    int *room = malloc(count * sizeof *room);
    MPI_Message message;
    MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(room, count, MPI_INT, &message, &status);
    printf("%d probed: %d numbers, the last is %d, %s\n", rank, count, room[count - 1],
           message == MPI_MESSAGE_NULL ? "null" : "not null");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    free(room);

    MPI_Irecv(&count, 1, MPI_INT, before, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[1]);
    do MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE); while (!flag);
    printf("%d tested: %d\n", rank, count);

    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &status);
    MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&count, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    printf("%d nobody: %d, source %s\n", rank, flag,
           status.MPI_SOURCE == MPI_PROC_NULL ? "null" : "not null");
    MPI_Finalize();
    return 0;
}
