/* What gcm.h says of the machine: the communicators and the topology. */
#include <gcm.h>
#include <stdio.h>

static int size_of(MPI_Comm comm) {
    int size = 0;
    if (comm != MPI_COMM_NULL) MPI_Comm_size(comm, &size);
    return size;
}

int main(int argc, char **argv) {
    int rank, flag = 0, *depths, **colors, **again;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("%d: %d %d %d %d %d %s\n", rank, size_of(GCM_COMM_CLUSTER), size_of(GCM_COMM_SITE),
           size_of(GCM_COMM_GRID), size_of(GCM_COMM_SITE_GATEWAYS), size_of(GCM_COMM_GRID_GATEWAYS),
           isinf(gcm_time_left()) ? "unlimited" : "limited");
    if (gcm_deployed()) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Comm_get_attr(half, GCM_TOPOLOGY_DEPTHS, &depths, &flag);
        MPI_Comm_get_attr(half, GCM_TOPOLOGY_COLORS, &colors, &flag);
        for (int at = 0; rank == 1 && at < size_of(half); at++) {
            for (int level = 0; level < depths[at]; level++) printf("%d ", colors[at][level]);
            printf("of %d\n", at);
        }
        MPI_Comm_get_attr(half, GCM_TOPOLOGY_COLORS, &again, &flag);
        if (again != colors) printf("what was found is gone\n");
        MPI_Comm_free(&half);
    }
    if (argc > 1) { /* what cannot be without other codes, or at all */
        char text[MPI_MAX_ERROR_STRING];
        int data[4] = {1, 2, 3, 4}, size, length;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Error_class(gcm_send(data, 4, MPI_INT, "nobody", 0, 0), &size);
        MPI_Error_string(size, text, &length);
        if (rank == 0) printf("%s\n", size == MPI_SUCCESS ? "sent" : "not sent");
    }
    MPI_Finalize();
    return 0;
}
