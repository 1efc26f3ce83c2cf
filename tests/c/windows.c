/* Windows of each kind, epochs of each kind, and what a window keeps: attributes, a name, a handler. */
#include <mpi.h>
#include <stdio.h>

static int rank, size, failures;

static void count_failure(MPI_Win *win, int *code, ...) {
    int class;
    (void)win;
    MPI_Error_class(*code, &class);
    failures += class == MPI_ERR_RANK;
}

static void created(void) {
    int memory[6] = {rank, -1, 0, 0, 0, 0}, got = -1, one = 1, *flavor, flag, length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win);
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    printf("%d fences: %d, %d, %d\n", rank, got, memory[1], rank ? 0 : memory[2]);

    MPI_Datatype apart; /* the 4th and the last number */
    int pair[2] = {rank + 10, rank + 20}, before[2] = {-1, -1};
    MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1 - rank, 0, win);
    MPI_Get_accumulate(pair, 2, MPI_INT, before, 2, MPI_INT, size - 1 - rank, 3, 1, apart, MPI_REPLACE, win);
    MPI_Win_unlock(size - 1 - rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    printf("%d lock: %d %d before, %d %d now\n", rank, before[0], before[1], memory[3], memory[5]);
    MPI_Win_unlock(rank, win);
    MPI_Type_free(&apart);

    MPI_Group all, next, previous;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, (int[]){(rank + 1) % size}, &next);
    MPI_Group_incl(all, 1, (int[]){(rank + size - 1) % size}, &previous);
    MPI_Win_post(previous, 0, win);
    MPI_Win_start(next, 0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 4, 1, MPI_INT, win);
    MPI_Win_complete(win);
    for (flag = 0; !flag;) MPI_Win_test(win, &flag);
    printf("%d groups: %d\n", rank, memory[4]);
    MPI_Group_free(&all), MPI_Group_free(&next), MPI_Group_free(&previous);

    int key, *value, mark = 5;
    MPI_Errhandler handler;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    MPI_Win_set_attr(win, key, &mark);
    MPI_Win_get_attr(win, key, &value, &flag);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    MPI_Win_set_name(win, "shared numbers");
    MPI_Win_get_name(win, name, &length);
    MPI_Win_create_errhandler(count_failure, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Win_lock_all(0, win);
    MPI_Put(&rank, 1, MPI_INT, size, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    printf("%d keeps: %d, %d, %s, %d failed\n", rank, *value, *flavor == MPI_WIN_FLAVOR_CREATE, name, failures);
    MPI_Errhandler_free(&handler);
    MPI_Win_free(&win);
    printf("%d freed: %d\n", rank, win == MPI_WIN_NULL);
}

static void allocated(void) {
    int *memory, *flavor, flag, got = -1, number = -1, one = 1, new = 100 + rank, found = -1;
    MPI_Request request;
    MPI_Win win;
    MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    memory[0] = 0, memory[1] = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Rget(&got, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&one, &number, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Compare_and_swap(&new, &rank, &found, MPI_INT, rank, 1, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%d allocated: %d, got %d, a number %d, counted %d, swapped %d for %d\n", rank,
           *flavor == MPI_WIN_FLAVOR_ALLOCATE, got, number >= 0 && number < size, rank ? 0 : memory[0],
           memory[1], found);
    MPI_Win_free(&win);
}

static void dynamic(void) {
    int memory = rank, got = -1;
    MPI_Aint own, others[64];
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, &memory, sizeof memory);
    MPI_Get_address(&memory, &own);
    MPI_Allgather(&own, 1, MPI_AINT, others, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, (rank + 2) % size, 0, win);
    MPI_Get(&got, 1, MPI_INT, (rank + 2) % size, others[(rank + 2) % size], 1, MPI_INT, win);
    MPI_Win_unlock((rank + 2) % size, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, &memory);
    MPI_Win_free(&win);
    printf("%d dynamic: %d\n", rank, got);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    created();
    allocated();
    dynamic();
    MPI_Finalize();
    return 0;
}
