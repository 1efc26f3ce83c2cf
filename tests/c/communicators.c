/* Communicators made of others, groups, attributes, names, error handlers, a Cartesian topology. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int copied, deleted;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    copied++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void handler(MPI_Comm *comm, int *code, ...) {
    int class, rank;
    MPI_Comm_rank(*comm, &rank);
    MPI_Error_class(*code, &class);
    printf("%d handler: %s\n", rank, class == MPI_ERR_RANK ? "rank" : "another error");
}

int main(int argc, char **argv) {
    int rank, size, provided, flag, key, length, result;
    char name[MPI_MAX_OBJECT_NAME];
    void *value;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    int *most, *universe;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
    printf("%d tags: %s\n", rank, flag && *most >= 32767 ? "enough" : "too few");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    printf("%d world: %s, %s\n", rank, name, !flag || *universe >= size ? "all" : "too small");

    MPI_Comm half, copy_of, odd;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    int place, members, sum = 0;
    MPI_Comm_rank(half, &place);
    MPI_Comm_size(half, &members);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    printf("%d split: %d of %d, sum %d\n", rank, place, members, sum);

    MPI_Comm_set_name(half, "halves");
    MPI_Comm_get_name(half, name, &length);
    MPI_Comm_create_keyval(copy, delete, &key, NULL);
    MPI_Comm_set_attr(half, key, name);
    MPI_Comm_dup(half, &copy_of);
    MPI_Comm_get_attr(copy_of, key, &value, &flag);
    MPI_Comm_compare(half, copy_of, &result);
    printf("%d dup: %s, %d copied, %s, %s\n", rank, name, copied,
           flag && value == name + 1 ? "value" : "none", result == MPI_CONGRUENT ? "congruent" : "no");
    MPI_Bcast(&sum, 1, MPI_INT, 0, copy_of);
    MPI_Comm_free(&copy_of);
    MPI_Comm_free(&half);
    printf("%d freed: %d deleted, %s\n", rank, deleted, half == MPI_COMM_NULL ? "null" : "not null");
    MPI_Comm_free_keyval(&key);

    MPI_Group all, odds, evens, both;
    int ranges[1][3] = {{1, size - 1, 2}}, first = 0, translated;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, ranges, &odds);
    MPI_Group_difference(all, odds, &evens);
    MPI_Group_union(odds, evens, &both);
    MPI_Group_compare(all, both, &result);
    MPI_Group_size(odds, &members);
    MPI_Group_translate_ranks(odds, 1, &first, all, &translated);
    printf("%d groups: %d odd, the first is %d, %s\n", rank, members, translated,
           result == MPI_SIMILAR ? "similar" : "no");
    MPI_Comm_create(MPI_COMM_WORLD, odds, &odd);
    if (odd != MPI_COMM_NULL) {
        MPI_Comm_rank(odd, &place);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, odd);
        printf("%d odd: %d, %d\n", rank, place, sum);
        MPI_Comm_free(&odd);
    }
    MPI_Group_free(&both), MPI_Group_free(&evens), MPI_Group_free(&odds), MPI_Group_free(&all);

    int dims[2] = {2, size / 2}, periods[2] = {0, 1}, coords[2], up, down, left, right, kind;
    MPI_Comm cart, row;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    MPI_Topo_test(cart, &kind);
    MPI_Cart_coords(cart, rank, 2, coords);
    MPI_Cart_shift(cart, 0, 1, &up, &down);
    MPI_Cart_shift(cart, 1, 1, &left, &right);
    printf("%d cart: %s (%d,%d) down %d right %d\n", rank, kind == MPI_CART ? "cart" : "no",
           coords[0], coords[1], down == MPI_PROC_NULL ? -1 : down, right);
    int remain[2] = {0, 1};
    MPI_Cart_sub(cart, remain, &row);
    MPI_Comm_size(row, &members);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
    printf("%d row: %d, %d\n", rank, members, sum);
    MPI_Comm_free(&row), MPI_Comm_free(&cart);

    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    MPI_Errhandler_free(&own);
    MPI_Query_thread(&result);
    printf("%d level: %s\n", rank, result >= MPI_THREAD_FUNNELED ? "as asked" : "too low");
    MPI_Finalize();
    MPI_Finalized(&flag);
    printf("%d finalized: %d\n", rank, flag);
    return 0;
}
