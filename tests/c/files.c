/* Files as native MPI has them: what each rank reads, in the views and by the pointers it has. */

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size;

static void show(const char *what, const int *numbers, int count, MPI_Status *status) {
    int got, end = 0;
    char text[256] = "";
    MPI_Get_count(status, MPI_INT, &got);
    for (int at = 0; at < count; at++) end += sprintf(text + end, " %d", numbers[at]);
    printf("%d %s: %d of %d:%s\n", rank, what, got, count, text); /* in one piece */
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "files.out";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_File file = MPI_FILE_NULL;
    MPI_Status status;
    MPI_Offset place, length;
    int mine[4], all[64], amode, is_atomic;
    for (int at = 0; at < 4; at++) mine[at] = 10 * rank + at;
    memset(all, -1, sizeof all);

    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_get_amode(file, &amode);
    printf("%d %d\n", rank, amode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    MPI_File_set_size(file, 0);
    MPI_File_write_at_all(file, 16 * rank, mine, 4, MPI_INT, &status);
    show("written", mine, 4, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file, &length);
    MPI_File_read_at(file, 16 * ((rank + 1) % size), all, 4, MPI_INT, &status);
    printf("%d %d\n", rank, (int)length);
    show("of the next one", all, 4, &status);
    MPI_File_read_at(file, length - 8, all, 4, MPI_INT, &status);
    show("at the end", all, 2, &status);

    /* each number in turn, a column of a matrix, read into every second place */
    MPI_Datatype column, apart, etype, filetype;
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_Aint extent;
    MPI_Type_vector(4, 1, size, MPI_INT, &column);
    MPI_Type_vector(4, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&column), MPI_Type_commit(&apart);
    MPI_File_set_view(file, 4 * rank, MPI_INT, column, "native", MPI_INFO_NULL);
    memset(all, -1, sizeof all);
    MPI_File_read_all(file, all, 1, apart, &status);
    show("a column", all, 7, &status);
    MPI_File_get_position(file, &place);
    MPI_File_get_byte_offset(file, 2, &length);
    printf("%d %d %d\n", rank, (int)place, (int)length);
    MPI_File_get_view(file, &place, &etype, &filetype, representation);
    MPI_Type_size(filetype, &amode);
    MPI_File_get_type_extent(file, filetype, &extent);
    printf("%d %d %d %d %s\n", rank, (int)place, amode, (int)extent, representation);
    MPI_Type_free(&filetype), MPI_Type_free(&column), MPI_Type_free(&apart);

    /* begun, and split in two */
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_File_seek(file, 1, MPI_SEEK_SET);
    MPI_File_iread(file, all, 1, MPI_INT, requests);
    MPI_File_iread_at(file, 3, all + 1, 1, MPI_INT, requests + 1);
    MPI_Waitall(2, requests, statuses);
    show("begun", all, 2, statuses);
    MPI_File_write_at_all_begin(file, 0, &rank, 1, MPI_INT);
    MPI_File_write_at_all_end(file, &rank, &status);
    show("split", &rank, 1, &status);

    /* the pointer of all: one behind the other */
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_seek_shared(file, 4, MPI_SEEK_SET);
    MPI_File_read_ordered(file, all, 2, MPI_INT, &status);
    show("ordered", all, 2, &status);
    MPI_File_get_position_shared(file, &place);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_shared(file, &amode, 1, MPI_INT, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &length);
    printf("%d %d, %d further on\n", rank, (int)place, (int)(length - place));
    MPI_File_set_atomicity(file, 1);
    MPI_File_get_atomicity(file, &is_atomic);

    MPI_Group group;
    MPI_Info info;
    MPI_File_get_group(file, &group);
    MPI_Group_size(group, &amode);
    MPI_Group_free(&group);
    MPI_File_get_info(file, &info);
    printf("%d %d %d %d\n", rank, is_atomic, amode, info != MPI_INFO_NULL);
    MPI_Info_free(&info);

    MPI_File_close(&file);
    printf("%d %d\n", rank, file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("deleted: %d\n", MPI_File_delete(name, MPI_INFO_NULL));
    MPI_Finalize();
    return 0;
}
