/* A code in C that exchanges with one in Python all kinds of values, and looks at what cannot be. */
#include <gcm.h>
#include <stdio.h>
#include <string.h>

static const char *class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class == MPI_SUCCESS ? "success" : class == MPI_ERR_TYPE ? "type"
         : class == MPI_ERR_TRUNCATE ? "truncate" : class == MPI_ERR_COUNT ? "count"
         : class == MPI_ERR_BUFFER ? "buffer" : class == MPI_ERR_ARG ? "arg" : class == MPI_ERR_OTHER ? "other" : "another";
}

int main(int argc, char **argv) {
    static double large[100000];
    int flag = 0, integers[] = {3, -4, 5}, size;
    float single = 0;
    char text[32];
    gcm_message message;
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    gcm_send(integers, 3, MPI_INT, "python", 0, 1);
    gcm_send("h\303\251", 3, MPI_CHAR, "python", 0, 2);
    gcm_send("\0\1", 2, MPI_BYTE, "python", 0, 3);
    gcm_send(NULL, 0, MPI_DOUBLE, "python", 0, 4);
    for (int at = 0; at < 100000; at++) large[at] = at;
    gcm_send(large, 100000, MPI_DOUBLE, "python", 0, 5);
    large[99999] = 0; /* which has been sent */

    gcm_recv(large, 2, MPI_DOUBLE, NULL, GCM_ANY, GCM_ANY, &message);
    printf("%g %g: %d of %s %d %d\n", large[0], large[1], message.count, message.code, message.rank,
           message.tag);
    gcm_recv(text, sizeof text, MPI_CHAR, "python", 0, 2, &message);
    printf("%.*s\n", message.count, text);
    gcm_recv(&single, 1, MPI_FLOAT, "python", 0, 3, NULL);
    gcm_recv(integers, 3, MPI_INT, "python", 0, 4, NULL);
    printf("%g, %d %d %d\n", single, integers[0], integers[1], integers[2]);
    /* messages that do not fit; each is gone, as with MPI */
    printf("%s", class_of(gcm_recv(integers, 3, MPI_INT, "python", 0, 5, NULL)));
    printf(" %s", class_of(gcm_recv(integers, 3, MPI_INT, "python", 0, 5, NULL)));
    printf(" %s", class_of(gcm_recv(integers, 1, MPI_INT, "python", 0, 5, NULL)));
    printf(" %s\n", class_of(gcm_recv(integers, 1, MPI_INT, "python", 0, 5, NULL)));
    MPI_Type_contiguous(2, MPI_INT, &pair);
    printf("%s", class_of(gcm_send(integers, 1, pair, "python", 0, 9)));
    printf(" %s", class_of(gcm_send(integers, -1, MPI_INT, "python", 0, 9)));
    printf(" %s", class_of(gcm_send(integers, 1, MPI_INT, "nobody", 0, 9)));
    printf(" %s", class_of(gcm_send(integers, 1, MPI_INT, NULL, 0, 9)));
    printf(" %s", class_of(gcm_send(integers, 1, MPI_INT, "python", 7, 9)));
    printf(" %s\n", class_of(gcm_code_size("nobody", &size)));
    gcm_send(integers, 1, MPI_INT, "python", 0, 10);
    while (!flag) gcm_has("python", 0, 10, &flag);
    /* the message stays for the right call */
    printf("%s", class_of(gcm_recv(integers, -1, MPI_INT, "python", 0, 10, NULL)));
    printf(" %s", class_of(gcm_recv(NULL, 1, MPI_INT, "python", 0, 10, NULL)));
    printf(" %s", class_of(gcm_recv(large, 1, MPI_2INT, "python", 0, 10, NULL)));
    printf(" %s", class_of(gcm_recv(large, 1, MPI_WCHAR, "python", 0, 10, NULL)));
    printf(" %s", class_of(gcm_recv(large, 1, pair, "python", 0, 10, NULL)));
    printf(" %s", class_of(gcm_send(NULL, 1, MPI_INT, "python", 0, 10)));
    printf(" %s", class_of(gcm_code(NULL, &size)));
    printf(" %s\n", class_of(gcm_before_walltime(NULL, NULL)));
    MPI_Type_free(&pair);
    gcm_recv(integers, 1, MPI_INT, "python", 0, 10, NULL);
    printf("%d\n", integers[0]);
    fflush(stdout);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (argc > 1) gcm_recv(integers, 1, MPI_INT, "python", 0, 11, NULL);
    return MPI_Finalize();
}
