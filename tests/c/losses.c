/* A rank is killed; the others acknowledge it, agree, revoke and shrink, by the functions of ULFM. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const char *class_of(int code) {
    int class = MPI_SUCCESS;
    if (code) MPI_Error_class(code, &class);
    return class == MPI_SUCCESS ? "success" : class == MPIX_ERR_PROC_FAILED ? "failed"
         : class == MPIX_ERR_PROC_FAILED_PENDING ? "pending"
         : class == MPIX_ERR_REVOKED ? "revoked" : "another";
}

int main(int argc, char **argv) {
    int rank, size, number, flag = 5, x = 1, sum, lost, translated;
    MPI_Comm world = MPI_COMM_WORLD, small;
    MPI_Group all, failed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Barrier(world);
    lost = size - 1;
    if (rank == lost) raise(SIGKILL);
    printf("receive: %s\n", class_of(MPI_Recv(&x, 1, MPI_INT, lost, 0, world, MPI_STATUS_IGNORE)));
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &request);
    int code = MPI_Wait(&request, &status);
    printf("any source: %s, %s\n", class_of(code), request == MPI_REQUEST_NULL ? "over" : "pending");
    printf("agree: %s", class_of(MPIX_Comm_agree(world, &flag)));
    MPIX_Comm_failure_ack(world);
    MPIX_Comm_failure_get_acked(world, &failed);
    MPI_Group_size(failed, &number);
    MPI_Comm_group(world, &all);
    MPI_Group_translate_ranks(failed, 1, &(int){0}, all, &translated);
    printf(", then %s; %d lost, rank %d\n", class_of(MPIX_Comm_agree(world, &flag)), number, translated);
    MPIX_Comm_get_failed(world, &failed);
    MPI_Group_size(failed, &number);
    flag = rank == 0 ? 3 : 6;
    code = MPIX_Comm_agree(world, &flag);
    printf("failed: %d, agreed: %d\n", number, flag);
    if (rank == 0) MPIX_Comm_revoke(world);
    do code = MPI_Recv(&x, 1, MPI_INT, (rank + 1) % (size - 1), 2, world, MPI_STATUS_IGNORE);
    while (!code);
    printf("revoked: %s\n", class_of(code));
    MPI_Cancel(&request);
    MPI_Request_free(&request);
    MPIX_Comm_shrink(world, &small);
    x = 1;
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, small);
    printf("left: %d\n", sum);
    MPI_Finalize();
    return 0;
}
