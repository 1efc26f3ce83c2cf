/* What a program in C or C++ can ask of the machine that gcm-deploy joins of several clusters, and of
   other codes, whatever language they are in. Programs need none of this to have one MPI_COMM_WORLD.

       mpicc -I$(gcm-deploy --include) -o ocean ocean.c     (before glibc 2.34 also -ldl)

   There is nothing to link with. Functions return MPI_SUCCESS or a code of MPI, after the error
   handler of MPI_COMM_WORLD, as functions of MPI do; they are called between MPI_Init and
   MPI_Finalize. Where mpiexec alone has started the program, it is one cluster without other codes. */

#ifndef GCM_H
#define GCM_H

#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the machine ------------------------------------------------------------------------------- */

/* As MPI.COMM_CLUSTER and its kin in Python; MPI_COMM_NULL where this process is no member. */
#define GCM_COMM_CLUSTER gcm_comm("COMM_CLUSTER")
#define GCM_COMM_SITE gcm_comm("COMM_SITE")
#define GCM_COMM_GRID gcm_comm("COMM_GRID")
#define GCM_COMM_SITE_GATEWAYS gcm_comm("COMM_SITE_GATEWAYS")
#define GCM_COMM_GRID_GATEWAYS gcm_comm("COMM_GRID_GATEWAYS")

/* Attributes of any communicator, under gcm-deploy only, by MPI_Comm_get_attr: `int *depths`, how many
   levels each rank has, and `int **colors`, where colors[rank][level] is the same for all that share
   that level: GCM_LEVEL_GRID, the site, the cluster, the node. */
enum { GCM_TOPOLOGY_DEPTHS = -7011, GCM_TOPOLOGY_COLORS = -7012 };
enum { GCM_LEVEL_GRID, GCM_LEVEL_SITE, GCM_LEVEL_CLUSTER, GCM_LEVEL_NODE };

typedef intptr_t gcm_word;
typedef long gcm_asked(const char *name, const gcm_word *words, int count);

#define GCM_FUNCTION static inline __attribute__((always_inline, unused))
#define GCM_WORD(handle) \
    (sizeof(handle) == 4 ? (gcm_word)(uint32_t)(uintptr_t)(handle) : (gcm_word)(uintptr_t)(handle))

GCM_FUNCTION gcm_asked *gcm_deployed(void) {
    union { void *found; gcm_asked *ask; } own;
    own.found = dlsym(NULL, "gcm_ask");
    return own.ask;
}

GCM_FUNCTION int gcm_ask_for(const char *name, const gcm_word *words, int count) {
    gcm_asked *ask = gcm_deployed();
    if (ask) return (int)ask(name, words, count);
    const char *why = getenv("GCM_CLUSTER_ALONE");
    if (!why) why = getenv("GCM_UNSERVED");
    if (!why) why = "this program is not a rank of a deployment; start it with gcm-deploy";
    fprintf(stderr, "%s: %s\n", name, why);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

GCM_FUNCTION MPI_Comm gcm_comm(const char *name) {
    MPI_Comm found = MPI_COMM_NULL;
    gcm_word words[] = {(gcm_word)name, (gcm_word)&found};
    int is_alone = !gcm_deployed() && (!getenv("GCM_CLUSTER_ALONE") || !strcmp(name, "COMM_CLUSTER"));
    if (is_alone) return MPI_COMM_WORLD;
    gcm_ask_for("gcm_comm", words, 2);
    return found;
}

/* --- the time that batch systems have granted --------------------------------------------------- */

/* Seconds until the run is ended; INFINITY where nothing limits it. Ranks ask at different times. */
GCM_FUNCTION double gcm_time_left(void) {
    double left = INFINITY;
    gcm_word words[] = {(gcm_word)&left};
    if (gcm_deployed() || getenv("GCM_UNSERVED")) gcm_ask_for("gcm_time_left", words, 1);
    return left;
}

/* Have this thread call `save(what)` once before that, at its next call of MPI over clusters, or of
   a function here. It may not wait for other ranks, which save at other times. */
GCM_FUNCTION int gcm_before_walltime(void (*save)(void *), void *what) {
    gcm_word words[] = {(gcm_word)save, (gcm_word)what};
    if (!gcm_deployed() && !getenv("GCM_UNSERVED")) return MPI_SUCCESS;
    return gcm_ask_for("gcm_before_walltime", words, 2);
}

/* --- other codes ------------------------------------------------------------------------------- */

#define GCM_ANY (-1)         /* any rank, any tag; any code is NULL */
#define GCM_DRIVER "driver"  /* the program in Python that drives the machine */

typedef struct { char code[128]; int rank, tag, count; } gcm_message; /* from whom, and how much */

/* The name of this code, its rank in it, and how many ranks a code has; `code` of NULL is this one. */
GCM_FUNCTION int gcm_code(char name[128], int *rank) {
    gcm_word words[] = {(gcm_word)name, 128, (gcm_word)rank};
    return gcm_ask_for("gcm_code", words, 3);
}

GCM_FUNCTION int gcm_code_size(const char *code, int *size) {
    gcm_word words[] = {(gcm_word)code, (gcm_word)size};
    return gcm_ask_for("gcm_code_size", words, 2);
}

/* Send `count` entries of a basic type to a rank of a code; they may be changed afterwards. Python
   receives an array of numpy, `str` of MPI_CHAR (in UTF-8), and `bytes` of MPI_BYTE. */
GCM_FUNCTION int gcm_send(const void *data, int count, MPI_Datatype type, const char *code, int rank,
                          int tag) {
    gcm_word words[] = {(gcm_word)data, count, GCM_WORD(type), (gcm_word)code, rank, tag};
    return gcm_ask_for("gcm_send", words, 6);
}

/* Receive at most `count` entries. Of what Python sends, numbers, lists of numbers and arrays that lose
   nothing in this type are received, and a `float` or a list of them is rounded to MPI_FLOAT; else it is
   MPI_ERR_TYPE. `message` may be NULL. */
GCM_FUNCTION int gcm_recv(void *data, int count, MPI_Datatype type, const char *code, int rank, int tag,
                          gcm_message *message) {
    gcm_word words[] = {(gcm_word)data, count, GCM_WORD(type), (gcm_word)code, rank, tag,
                        (gcm_word)message};
    return gcm_ask_for("gcm_recv", words, 7);
}

/* Whether such a message has arrived. */
GCM_FUNCTION int gcm_has(const char *code, int rank, int tag, int *flag) {
    gcm_word words[] = {(gcm_word)code, rank, tag, (gcm_word)flag};
    return gcm_ask_for("gcm_has", words, 4);
}

#endif
