/* What is wrong, by its first argument: each is an error of MPI, never a success. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void told(const char *what, int code) {
    int class = MPI_SUCCESS;
    if (code) MPI_Error_class(code, &class);
    printf("%s: %s\n", what, class == MPI_SUCCESS ? "success" : class == MPI_ERR_RANK ? "rank"
           : class == MPI_ERR_TAG ? "tag" : class == MPI_ERR_COUNT ? "count"
           : class == MPI_ERR_TYPE ? "type" : class == MPI_ERR_TRUNCATE ? "truncate"
           : class == MPI_ERR_ROOT ? "root" : class == MPI_ERR_COMM ? "comm"
           : class == MPI_ERR_ARG ? "argument" : class == MPI_ERR_BUFFER ? "buffer"
           : class == MPI_ERR_OP ? "op" : class == MPI_ERR_REQUEST ? "request"
           : class == MPI_ERR_RMA_RANGE ? "range" : class == MPI_ERR_DISP ? "displacement"
           : class == MPI_ERR_NO_SUCH_FILE ? "no file"
           : class == MPI_ERR_UNSUPPORTED_OPERATION ? "unsupported" : "another");
}

int main(int argc, char **argv) {
    const char *fault = argc > 1 ? argv[1] : "";
    int rank, size, x = 1, y[4];
    if (!strcmp(fault, "early")) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(fault, "forked") && !fork()) MPI_Init(&argc, &argv);
    MPI_Init(&argc, &argv);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm_rank(w, &rank);
    MPI_Comm_size(w, &size);
    if (!strcmp(fault, "fatal") && rank == 1) MPI_Send(&x, 1, MPI_INT, 99, 0, w);
    if (!strcmp(fault, "abort") && rank == 2) MPI_Abort(MPI_COMM_SELF, 7);
    if (!strcmp(fault, "exit")) {
        printf("leaving");
        exit(rank == 3 ? 9 : 0);
    }
    if (!strcmp(fault, "unfinished")) return 0;
    if (!strcmp(fault, "crash") && rank == 1) raise(SIGSEGV);
    if (!strcmp(fault, "late")) MPI_Finalize();
    if (!strcmp(fault, "children") && system("test -z \"$LD_PRELOAD$GCM_C_PROGRAM\" && echo clean"))
        return 1;
    if (!strcmp(fault, "forked")) {
        int end;
        MPI_Request request;
        MPI_Irecv(y, 1, MPI_INT, rank, 0, w, &request);
        if (!fork()) MPI_Barrier(w);
        if (!fork()) MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (x = 0; wait(&end) > 0;) x += !WIFEXITED(end) || WEXITSTATUS(end) != 1;
        MPI_Send(&x, 1, MPI_INT, rank, 0, w);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&x, y, 1, MPI_INT, MPI_SUM, w);
        MPI_Finalize();
        return y[0];
    }
    if (!strcmp(fault, "returned")) {
        MPI_File file;
        MPI_Comm freed;
        MPI_Request request;
        enum { TOPOLOGY_DEPTHS = -7011 }; /* of gcm.h */
        MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
        if (rank == 0) {
            told("rank", MPI_Send(&x, 1, MPI_INT, size, 0, w));
            told("tag", MPI_Send(&x, 1, MPI_INT, 1, -5, w));
            told("count", MPI_Send(&x, -1, MPI_INT, 1, 0, w));
            told("type", MPI_Send(&x, 1, MPI_DATATYPE_NULL, 1, 0, w));
            told("no duplicate", MPI_Comm_idup(w, NULL, &request));
            told("no request", MPI_Comm_idup(w, &freed, NULL));
            told("no value", MPI_Comm_get_attr(w, TOPOLOGY_DEPTHS, NULL, &x));
            told("no flag", MPI_Comm_get_attr(w, TOPOLOGY_DEPTHS, y, NULL));
            told("processes", MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, w, &freed,
                                             MPI_ERRCODES_IGNORE));
        }
        MPI_Comm_dup(w, &freed);
        MPI_Comm stale = freed;
        MPI_Comm_free(&freed);
        if (rank == 0) {
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
            told("freed", MPI_Send(&x, 1, MPI_INT, 1, 0, stale));
        }
        MPI_Barrier(w);
        if (rank == size - 1) MPI_Send((int[4]){1, 2, 3, 4}, 4, MPI_INT, 0, 1, w);
        if (rank == 0) told("truncated", MPI_Recv(y, 1, MPI_INT, size - 1, 1, w, MPI_STATUS_IGNORE));
        told("root", MPI_Bcast(&x, 1, MPI_INT, size, w));
        int ones[4] = {1, 1, 1, 1}, same[4] = {1, 1, 1, 1}, places[4] = {0, 1, 2, 3};
        told("places", MPI_Alltoallv(y, ones, places, MPI_INT, y, same, places, MPI_INT, w));
        told("types", MPI_Alltoallw(y, ones, places, NULL, &x, ones, places, NULL, w));
        if (rank == 0) /* it says it is received where it is sent from */
            told("own part", MPI_Gatherv(y + 1, 1, MPI_INT, y, ones, (int[4]){1, 0, 2, 3}, MPI_INT, 0, w));
        MPI_Win win;
        MPI_Win_create_dynamic(MPI_INFO_NULL, w, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(w, MPI_ERRORS_ARE_FATAL);
        MPI_Win_lock_all(0, win);
        MPI_Rget(&x, 1, MPI_INT, size - 1 - rank, 8, 1, MPI_INT, win, &request);
        told("nothing attached", MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_dup(w, &freed);
        MPI_Comm_set_errhandler(freed, MPI_ERRORS_RETURN);
        told("operation", MPI_Allreduce(&x, y, 1, MPI_FLOAT, MPI_BAND, freed));
        told("unit", MPI_Win_create(y, sizeof y, -1, MPI_INFO_NULL, freed, &win));
        MPI_Win_create(y, sizeof y, 1, MPI_INFO_NULL, freed, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Win_fence(0, win);
        told("accumulated", MPI_Accumulate(&x, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BAND, win));
        MPI_Win_free(&win);
        MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
        told("no folder", MPI_File_open(w, "no/such", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
        MPI_File_open(w, "faults.out", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file);
        told("elements", MPI_File_write(file, &x, -1, MPI_INT, MPI_STATUS_IGNORE));
        told("of one", MPI_File_write_ordered(file, &x, 1, rank ? MPI_INT : MPI_DATATYPE_NULL,
                                              MPI_STATUS_IGNORE));
        told("before the start", MPI_File_seek(file, -1, MPI_SEEK_SET));
        MPI_File_close(&file);
        told("no memory", MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, w, &win));
        MPI_Finalize();
        return 0;
    }
    MPI_Barrier(w);
    MPI_Finalize();
    return 0;
}
