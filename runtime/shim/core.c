/* What MPI's functions do for a program on several clusters, beside what is generated for each.

   This is compiled, together with the generated functions, against the header of each cluster's own
   MPI, and preloaded into a program. A call whose handles are all native goes to that MPI; any other
   one to Python, in a thread of the same process. A communicator of several clusters is a token: a
   native communicator with a place in a table here. Nothing of MPI is called by its name, since the
   functions here have these names: the next definition is looked up when it is needed. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifndef MPI_UNWEIGHTED /* a variable: no reason to need the library by its name */
#pragma weak MPI_UNWEIGHTED
#pragma weak MPI_WEIGHTS_EMPTY
#endif

#define EXPORTED __attribute__((visibility("default")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CALLER __builtin_return_address(0)

typedef intptr_t Word; /* any argument of MPI, as Python gets it */

/* MPICH has handles of 32 bits with a sign, Open MPI and the standard ABI have addresses. */
#define WORD(handle) \
    (sizeof(handle) == 4 ? (Word)(uint32_t)(uintptr_t)(handle) : (Word)(uintptr_t)(handle))
#define BUFFER(p) ((const void *)(p) == (const void *)MPI_IN_PLACE ? (Word)1 : (Word)(p))
#define WEIGHTS(p) \
    ((const void *)(p) == (const void *)MPI_UNWEIGHTED ? (Word)0 \
     : !(p) || (const void *)(p) == (const void *)MPI_WEIGHTS_EMPTY ? (Word)1 : (Word)(p))
#define STATUS(p) \
    ((void *)(p) == (void *)MPI_STATUS_IGNORE || (void *)(p) == (void *)MPI_STATUSES_IGNORE \
         ? (Word)0 : (Word)(p))

/* --- the library of this process's MPI ------------------------------------------------------- */

static void *own_mpi; /* that of a Python program, where it is in nobody's scope; see `loaded.c` */

static void *next(const char *name) {
    void *found = dlsym(own_mpi ? own_mpi : RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "%s is not in the MPI of this cluster\n", name);
        _exit(1);
    }
    return found;
}

#define NATIVE(name) \
    ({ static __typeof__(&name) native_; if (UNLIKELY(!native_)) native_ = next(#name); native_; })

/* --- tokens ---------------------------------------------------------------------------------- */

enum { COMMUNICATOR = 1, GROUP, TYPE, OPERATION, WINDOW, OPEN_FILE }; /* the `rank` of a window is its flavor */
enum { PLACES = 1 << 14, FREE = 0, REMOVED = 1 };
struct token { Word handle; int kind, rank, size; };

static struct token tokens[PLACES];
static int tokens_used;
static struct token world;
static int greatest_tag; /* that the MPIs of all clusters have; 0 until it is known */
static int has_grid; /* whether COMM_WORLD has several clusters */
enum { BEFORE, UP, AFTER, IN_CHILD }; /* a child that a rank has forked has the sockets of that rank */
static int life = BEFORE;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static inline unsigned place_of(Word handle, int kind) {
    return (unsigned)(((uint64_t)handle * 0x9e3779b97f4a7c15ull) >> 50) ^ (unsigned)kind;
}

static struct token *find(Word handle, int kind) {
    for (unsigned at = place_of(handle, kind);; at++) {
        struct token *one = tokens + at % PLACES;
        Word there = __atomic_load_n(&one->handle, __ATOMIC_ACQUIRE);
        if (there == handle && one->kind == kind) return one;
        if (there == FREE) return NULL;
    }
}

static inline struct token *grid_comm(MPI_Comm comm) {
    if (!has_grid) return NULL;
    if (comm == MPI_COMM_WORLD) return &world;
    return tokens_used ? find(WORD(comm), COMMUNICATOR) : NULL;
}

static inline int is_grid_group(MPI_Group group) {
    return tokens_used && find(WORD(group), GROUP) != NULL;
}

static inline struct token *grid_window(MPI_Win win) {
    return tokens_used ? find(WORD(win), WINDOW) : NULL;
}

static inline struct token *grid_file(MPI_File file) {
    return tokens_used ? find(WORD(file), OPEN_FILE) : NULL;
}

EXPORTED int gcm_remember(Word handle, int kind, int rank, int size) {
    int done = 0;
    pthread_mutex_lock(&changing);
    for (unsigned at = place_of(handle, kind); !done; at++) {
        struct token *one = tokens + at % PLACES;
        if (one->handle != FREE && one->handle != REMOVED) continue;
        if (one->handle == FREE && tokens_used >= PLACES / 2) break; /* searches need free ones */
        tokens_used += one->handle == FREE; /* what was removed ends no search */
        one->kind = kind, one->rank = rank, one->size = size;
        __atomic_store_n(&one->handle, handle, __ATOMIC_RELEASE);
        done = 1;
    }
    pthread_mutex_unlock(&changing);
    return done;
}

EXPORTED void gcm_forget(Word handle, int kind) {
    struct token *one = find(handle, kind);
    if (one) __atomic_store_n(&one->handle, REMOVED, __ATOMIC_RELEASE);
}

EXPORTED void gcm_let_world_be_grid(int rank, int size, int tag) {
    world.rank = rank, world.size = size;
    greatest_tag = tag;
    has_grid = 1;
}

/* --- Python ---------------------------------------------------------------------------------- */

typedef struct object Object;
static struct {
    int (*ensure)(void);
    void (*release)(int);
    void *(*save)(void);
    void *(*state)(void);
    Object *(*number)(long);
    long (*value)(Object *);
    Object *(*call)(Object *, Object **, size_t, Object *);
    void (*forget)(Object *);
    void (*print)(void);
    int (*is)(Object *);
    void (*take)(Object **, Object **, Object **);
    void (*raise)(Object *, Object *, Object *);
    int (*soon)(int (*)(void *), void *);
    Object **exception;
} python;

static Object **functions;
static __thread int is_attached;
static int ends_all; /* Python has said why, and MPI_Abort of one process calls `exit` */

/* The numbers of functions of Python that are no function of MPI; see `runtime.shim.functions`. */
enum { FATAL, TOLD, BLAMED, ABORT, FINALIZE, DUPLICATE, BEGIN_DUPLICATE, FREE_COMM, FREE_GROUP,
       FREE_TYPE, FREE_WINDOW, CLOSE_FILE, GET_STATUS_ANY, GET_STATUS_ALL, GET_STATUS_SOME,
       WAIT, TEST, GET_STATUS, CANCEL, FREE_REQUEST, START, WAITALL, WAITANY, WAITSOME,
       TESTALL, TESTANY, TESTSOME, OWN, ATTRIBUTE, FIRST_ROW };

static void begin_as_child(void) {
    if (functions && life != AFTER) life = IN_CHILD;
}

EXPORTED void gcm_install(Object **given) {
    static int is_watched;
    if (!is_watched) is_watched = !pthread_atfork(NULL, NULL, begin_as_child);
    void *everywhere = dlopen(NULL, RTLD_NOW);
    python.ensure = dlsym(everywhere, "PyGILState_Ensure");
    python.release = dlsym(everywhere, "PyGILState_Release");
    python.save = dlsym(everywhere, "PyEval_SaveThread");
    python.state = dlsym(everywhere, "PyGILState_GetThisThreadState");
    python.number = dlsym(everywhere, "PyLong_FromLong");
    python.value = dlsym(everywhere, "PyLong_AsLong");
    python.call = dlsym(everywhere, "PyObject_Vectorcall");
    python.forget = dlsym(everywhere, "Py_DecRef");
    python.print = dlsym(everywhere, "PyErr_Print");
    python.is = dlsym(everywhere, "PyErr_ExceptionMatches");
    python.take = dlsym(everywhere, "PyErr_Fetch");
    python.raise = dlsym(everywhere, "PyErr_Restore");
    python.soon = dlsym(everywhere, "Py_AddPendingCall");
    python.exception = dlsym(everywhere, "PyExc_Exception");
    functions = given;
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *); /* of glibc */
extern void *__dso_handle;

/* A thread of the program ends: so does what Python knows of it. */
static void detach(void *nothing) {
    (void)nothing;
    if (!is_attached || !functions) return;
    is_attached = 0;
    python.ensure();
    python.release(0); /* as if it had been there before, which leaves the lock taken */
    python.release(1);
}

static void python_has_ended(void) {
    fprintf(stderr, "MPI is called for several clusters after the end of Python\n");
    _exit(1);
}

/* An exception that ends the program, as KeyboardInterrupt: no call of C has failed of it, and no C
   knows it. It is raised again as soon as this thread is in Python, until then each of its calls
   fails. Other threads go on. */
static Object *ending[3];
static int is_raised_soon;

static int end_program(void *nothing) {
    (void)nothing;
    Object *type = ending[0];
    ending[0] = NULL;
    if (type) python.raise(type, ending[1], ending[2]);
    return type ? -1 : 0;
}

static int is_main_thread(void) { return syscall(SYS_gettid) == getpid(); }

static void raise_soon(void) {
    is_raised_soon = !python.soon(end_program, NULL); /* else no place is free */
}

static int keep_end_of_program(void) {
    if (!is_main_thread() || python.is(*python.exception)) return 0;
    python.take(ending, ending + 1, ending + 2);
    raise_soon();
    return 1;
}

static void not_now(const char *name);

/* Ask Python; its answer is not negative if the call has succeeded, else the error with a minus. */
static long ask(int function, const Word *words, int count) {
    Object *arguments[24], *answer;
    long value = -(long)MPI_ERR_OTHER; /* whatever happens there, it is no success */
    if (UNLIKELY(!functions)) python_has_ended();
    if (UNLIKELY(life == IN_CHILD)) not_now("MPI"); /* of requests, for which nothing else looks */
    if (UNLIKELY(function == FATAL || function == ABORT)) ends_all = 1;
    if (UNLIKELY(!is_attached)) {      /* once for a thread: its state stays, without the lock */
        if (!python.state()) {         /* a thread of Python has one */
            python.ensure();
            python.save();
            __cxa_thread_atexit_impl(detach, NULL, &__dso_handle);
        }
        is_attached = 1;
    }
    sigset_t pipes, mask; /* programs handle SIGPIPE, or let it end them; what we write to may be gone */
    if (!own_mpi) {       /* Python ignores it */
        sigemptyset(&pipes), sigaddset(&pipes, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipes, &mask);
    }
    int before = python.ensure();
    if (UNLIKELY(ending[0] && !is_raised_soon)) raise_soon();
    for (int at = 0; at < count; at++) arguments[at] = python.number(words[at]);
    answer = python.call(functions[function], arguments, (size_t)count, NULL);
    if (answer) {
        value = python.value(answer);
        python.forget(answer);
    } else if (!keep_end_of_program()) {
        python.print();
    }
    for (int at = 0; at < count; at++) python.forget(arguments[at]);
    python.release(before);
    if (!own_mpi && !sigismember(&mask, SIGPIPE)) {
        const struct timespec now = {0};
        while (sigtimedwait(&pipes, NULL, &now) == SIGPIPE) continue;
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
    }
    return value;
}

/* --- errors ---------------------------------------------------------------------------------- */

static void not_now(const char *name) {
    fprintf(stderr, "%s is called %s\n", name,
            life == BEFORE ? "before MPI_Init"
            : life == AFTER ? "after MPI_Finalize"
            : "in a child of a rank (fork), which is no rank");
    fflush(stderr);
    if (!functions || life == IN_CHILD) _exit(1);
    Word words[] = {1};
    ask(ABORT, words, 1);
    _exit(1);
}

#define CHECK_LIFE() do { if (UNLIKELY(life != UP)) not_now(__func__); } while (0)

/* Say where an address is: program(function+0x1f) and, for `addr2line`, program and offset. */
EXPORTED void gcm_where(void *address, char *text, size_t size, char *file, Word *offset) {
    Dl_info found;
    *text = *file = 0;
    if (!dladdr(address, &found) || !found.dli_fname) return;
    const char *name = strrchr(found.dli_fname, '/');
    *offset = (char *)address - (char *)found.dli_fbase;
    snprintf(file, size, "%s", found.dli_fname);
    snprintf(text, size, "%s(%s+0x%lx)", name ? name + 1 : found.dli_fname,
             found.dli_sname ? found.dli_sname : "",
             (long)((char *)address - (char *)(found.dli_sname ? found.dli_saddr : found.dli_fbase)));
}

/* Do what an error handler says; false for a function of the program. `text` says what has failed,
   NULL where Python knows it. */
static int is_handled(MPI_Errhandler handler, int code, void *caller, const char *text) {
    Word words[] = {code, (Word)caller, (Word)text};
    if (handler == MPI_ERRORS_RETURN) {
        ask(TOLD, words, 3);
        return 1;
    }
    int is_fatal = handler == MPI_ERRORS_ARE_FATAL;
#if MPI_VERSION >= 4
    is_fatal |= handler == MPI_ERRORS_ABORT;
#endif
    if (is_fatal) {
        ask(FATAL, words, 3);
        _exit(1);
    }
    return 0;
}

/* Whose error handler is asked: a communicator's, a window's or a file's. */
struct owner { int kind; Word handle; };
#define OF_COMM(it) ((struct owner){COMMUNICATOR, WORD(it)})
#define OF_WIN(it) ((struct owner){WINDOW, WORD(it)})
#define OF_FILE(it) ((struct owner){OPEN_FILE, WORD(it)})

/* Do what the error handler says; return the code. */
static int failed_by(struct owner owner, int code, void *caller, const char *text) {
    if (ending[0] && is_main_thread()) return code;
    MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
    MPI_Comm comm = (MPI_Comm)(uintptr_t)owner.handle;
    MPI_Win win = (MPI_Win)(uintptr_t)owner.handle;
    MPI_File file = (MPI_File)(uintptr_t)owner.handle;
    if (owner.kind == WINDOW) NATIVE(MPI_Win_get_errhandler)(win, &handler);
    else if (owner.kind == OPEN_FILE) NATIVE(MPI_File_get_errhandler)(file, &handler);
    else NATIVE(MPI_Comm_get_errhandler)(comm, &handler);
    if (is_handled(handler, code, caller, text)) return code;
    if (owner.kind == WINDOW) NATIVE(MPI_Win_call_errhandler)(win, code);
    else if (owner.kind == OPEN_FILE) NATIVE(MPI_File_call_errhandler)(file, code);
    else NATIVE(MPI_Comm_call_errhandler)(comm, code);
    return code;
}

/* The classes of errors about lost processes in this header, in the order of Python; 0 for none. */
EXPORTED void gcm_failure_classes(int classes[3]) {
    memset(classes, 0, 3 * sizeof *classes);
#ifdef MPIX_ERR_PROC_FAILED
    classes[0] = MPIX_ERR_PROC_FAILED;
#endif
#ifdef MPIX_ERR_PROC_FAILED_PENDING
    classes[1] = MPIX_ERR_PROC_FAILED_PENDING;
#endif
#ifdef MPIX_ERR_REVOKED
    classes[2] = MPIX_ERR_REVOKED;
#endif
}

static int failed(struct owner owner, int code, void *caller) {
    return failed_by(owner, code, caller, NULL);
}

/* Let Python do a call. What it answers goes into `made`, a handle of 4 or 8 bytes, if there is one. */
static int served(struct owner owner, int row, const Word *words, int count, void *made, size_t size,
                  void *caller) {
    long answer = ask(row, words, count);
    if (UNLIKELY(answer < 0)) return failed(owner, (int)-answer, caller);
    if (size == 4) *(uint32_t *)made = (uint32_t)answer;
    if (size == 8) *(uint64_t *)made = (uint64_t)answer;
    return MPI_SUCCESS;
}

static int refused(struct owner owner, const char *name, const char *cure, void *caller) {
    char text[512];
    snprintf(text, sizeof text, "%s: it does not work over several clusters. %s", name, cure);
    return failed_by(owner, MPI_ERR_UNSUPPORTED_OPERATION, caller, text);
}

enum { TOPOLOGY_DEPTHS = -7011, TOPOLOGY_COLORS = -7012 }; /* as in `gcm.h` */

static int no_address(struct owner owner, const char *name, void *caller) {
    char text[256];
    snprintf(text, sizeof text, "%s: the address of its result is NULL", name);
    return failed_by(owner, MPI_ERR_ARG, caller, text);
}

/* --- requests -------------------------------------------------------------------------------- */

enum { MOST_REQUESTS = 1 << 24 };
static Word first_request = 0x7e000000; /* of handles of 32 bits, no MPICH gives any from there on */

__attribute__((constructor)) static void reserve(void) {
    if (sizeof(MPI_Request) == 8) /* addresses where nothing else can be */
        first_request = (Word)mmap(NULL, MOST_REQUESTS, PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static inline int is_ours(MPI_Request request) {
    return (uintptr_t)(WORD(request) - first_request) < MOST_REQUESTS;
}

/* Messages that were probed for have handles of the same range. */
static inline int is_grid_request(MPI_Request request) { return is_ours(request); }

static inline int is_grid_message(MPI_Message message) {
    return (uintptr_t)(WORD(message) - first_request) < MOST_REQUESTS;
}

static inline Word number_of(MPI_Request request) { return WORD(request) - first_request; }

EXPORTED Word gcm_first_request(void) { return first_request; }

static int is_any_ours(int count, const MPI_Request *requests) {
    for (int at = 0; at < count; at++)
        if (is_ours(requests[at])) return 1;
    return 0;
}

/* The error handler is that of the communicator of the request, or of its window or file; no two of
   these have the same handle. */
static int from_request(long answer, void *caller) {
    if (answer >= 0) return MPI_SUCCESS;
    struct owner owner = {COMMUNICATOR, ask(BLAMED, NULL, 0)};
    if (find(owner.handle, WINDOW)) owner.kind = WINDOW;
    if (find(owner.handle, OPEN_FILE)) owner.kind = OPEN_FILE;
    return failed(owner, (int)-answer, caller);
}

/* What Python answers, which writes a null handle in place of what has gone. */
enum { DONE, PENDING };

EXPORTED int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    if (!is_ours(*request)) return NATIVE(MPI_Wait)(request, status);
    Word words[] = {(Word)request, STATUS(status)};
    long answer = ask(WAIT, words, 2);
    return from_request(answer, CALLER);
}

EXPORTED int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (!is_ours(*request)) return NATIVE(MPI_Test)(request, flag, status);
    Word words[] = {(Word)request, STATUS(status)};
    long answer = ask(TEST, words, 2);
    *flag = answer != PENDING;
    return from_request(answer, CALLER);
}

EXPORTED int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    if (!is_ours(request)) return NATIVE(MPI_Request_get_status)(request, flag, status);
    Word words[] = {number_of(request), STATUS(status)};
    long answer = ask(GET_STATUS, words, 2);
    *flag = answer != PENDING;
    return from_request(answer, CALLER);
}

EXPORTED int MPI_Cancel(MPI_Request *request) {
    if (!is_ours(*request)) return NATIVE(MPI_Cancel)(request);
    Word words[] = {number_of(*request)};
    return from_request(ask(CANCEL, words, 1), CALLER);
}

EXPORTED int MPI_Request_free(MPI_Request *request) {
    if (!is_ours(*request)) return NATIVE(MPI_Request_free)(request);
    Word words[] = {number_of(*request)};
    *request = MPI_REQUEST_NULL;
    return from_request(ask(FREE_REQUEST, words, 1), CALLER);
}

EXPORTED int MPI_Start(MPI_Request *request) {
    if (!is_ours(*request)) return NATIVE(MPI_Start)(request);
    Word words[] = {number_of(*request)};
    return from_request(ask(START, words, 1), CALLER);
}

EXPORTED int MPI_Startall(int count, MPI_Request requests[]) {
    for (int at = 0; at < count; at++) {
        int code = MPI_Start(requests + at);
        if (code) return code;
    }
    return MPI_SUCCESS;
}

/* Several requests: natively if all of them are native. */
#define SEVERAL(name, function, ...) \
    do { \
        if (!is_any_ours(count, requests)) return NATIVE(name) __VA_ARGS__; \
    } while (0)

EXPORTED int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    SEVERAL(MPI_Waitall, WAITALL, (count, requests, statuses));
    Word words[] = {count, (Word)requests, STATUS(statuses)};
    return from_request(ask(WAITALL, words, 3), CALLER);
}

EXPORTED int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    SEVERAL(MPI_Testall, TESTALL, (count, requests, flag, statuses));
    Word words[] = {count, (Word)requests, STATUS(statuses)};
    long answer = ask(TESTALL, words, 3);
    *flag = answer != PENDING;
    return from_request(answer, CALLER);
}

EXPORTED int MPI_Waitany(int count, MPI_Request requests[], int *which, MPI_Status *status) {
    SEVERAL(MPI_Waitany, WAITANY, (count, requests, which, status));
    Word words[] = {count, (Word)requests, (Word)which, STATUS(status)};
    return from_request(ask(WAITANY, words, 4), CALLER);
}

EXPORTED int MPI_Testany(int count, MPI_Request requests[], int *which, int *flag,
                         MPI_Status *status) {
    SEVERAL(MPI_Testany, TESTANY, (count, requests, which, flag, status));
    Word words[] = {count, (Word)requests, (Word)which, STATUS(status)};
    long answer = ask(TESTANY, words, 4);
    *flag = answer != PENDING;
    return from_request(answer, CALLER);
}

EXPORTED int MPI_Waitsome(int count, MPI_Request requests[], int *done, int which[],
                          MPI_Status statuses[]) {
    SEVERAL(MPI_Waitsome, WAITSOME, (count, requests, done, which, statuses));
    Word words[] = {count, (Word)requests, (Word)done, (Word)which, STATUS(statuses)};
    return from_request(ask(WAITSOME, words, 5), CALLER);
}

EXPORTED int MPI_Testsome(int count, MPI_Request requests[], int *done, int which[],
                          MPI_Status statuses[]) {
    SEVERAL(MPI_Testsome, TESTSOME, (count, requests, done, which, statuses));
    Word words[] = {count, (Word)requests, (Word)done, (Word)which, STATUS(statuses)};
    return from_request(ask(TESTSOME, words, 5), CALLER);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
EXPORTED int MPI_Request_get_status_any(int count, const MPI_Request requests[], int *which,
                                        int *flag, MPI_Status *status) {
    SEVERAL(MPI_Request_get_status_any, , (count, requests, which, flag, status));
    Word words[] = {count, (Word)requests, (Word)which, STATUS(status)};
    long answer = ask(GET_STATUS_ANY, words, 4);
    *flag = answer != PENDING;
    return from_request(answer, CALLER);
}

EXPORTED int MPI_Request_get_status_all(int count, const MPI_Request requests[], int *flag,
                                        MPI_Status statuses[]) {
    SEVERAL(MPI_Request_get_status_all, , (count, requests, flag, statuses));
    Word words[] = {count, (Word)requests, STATUS(statuses)};
    long answer = ask(GET_STATUS_ALL, words, 3);
    *flag = answer != PENDING;
    return from_request(answer, CALLER);
}

EXPORTED int MPI_Request_get_status_some(int count, const MPI_Request requests[], int *done,
                                         int which[], MPI_Status statuses[]) {
    SEVERAL(MPI_Request_get_status_some, , (count, requests, done, which, statuses));
    Word words[] = {count, (Word)requests, (Word)done, (Word)which, STATUS(statuses)};
    return from_request(ask(GET_STATUS_SOME, words, 5), CALLER);
}
#endif

/* --- communicators, groups, types and operations ---------------------------------------------- */

EXPORTED int MPI_Comm_rank(MPI_Comm comm, int *rank) {
    CHECK_LIFE();
    struct token *grid = grid_comm(comm);
    if (!grid) return NATIVE(MPI_Comm_rank)(comm, rank);
    if (UNLIKELY(!rank)) return no_address(OF_COMM(comm), __func__, CALLER);
    *rank = grid->rank;
    return MPI_SUCCESS;
}

EXPORTED int MPI_Comm_size(MPI_Comm comm, int *size) {
    CHECK_LIFE();
    struct token *grid = grid_comm(comm);
    if (!grid) return NATIVE(MPI_Comm_size)(comm, size);
    if (UNLIKELY(!size)) return no_address(OF_COMM(comm), __func__, CALLER);
    *size = grid->size;
    return MPI_SUCCESS;
}

/* Attributes are native; of those that MPI sets two are not the same for all clusters. Those of the
   topology are only here. */
EXPORTED int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag) {
    CHECK_LIFE();
    if (keyval == TOPOLOGY_DEPTHS || keyval == TOPOLOGY_COLORS) {
        Word words[] = {WORD(comm), keyval};
        if (!value || !flag) return no_address(OF_COMM(comm), __func__, CALLER);
        int code = served(OF_COMM(comm), ATTRIBUTE, words, 2, value, sizeof(void *), CALLER);
        *flag = !code;
        return code;
    }
    int code = NATIVE(MPI_Comm_get_attr)(comm, keyval, value, flag);
    if (code || !*flag || !grid_comm(comm)) return code;
    int **found = value;
    if (keyval == MPI_TAG_UB && greatest_tag) *found = &greatest_tag;
    if (keyval == MPI_UNIVERSE_SIZE && **found < world.size) *found = &world.size;
    return code;
}

EXPORTED int MPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag) {
    return MPI_Comm_get_attr(comm, keyval, value, flag);
}

/* MPICH asks COMM_WORLD for what has no communicator, such as an error of a type, unless COMM_SELF
   has a handler of its own. Here it always has one: it was given the one that a program finds. */
EXPORTED int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    static int has_own_handler;
    CHECK_LIFE();
    int code = NATIVE(MPI_Comm_set_errhandler)(comm, handler);
    if (comm == MPI_COMM_SELF) has_own_handler = 1;
#ifndef OPEN_MPI
    if (!code && comm == MPI_COMM_WORLD && !own_mpi && !has_own_handler)
        NATIVE(MPI_Comm_set_errhandler)(MPI_COMM_SELF, handler);
#endif
    return code;
}

#undef MPI_Errhandler_set /* a macro of Open MPI, which programs of older times may need to have */
EXPORTED int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler) {
    return MPI_Comm_set_errhandler(comm, handler);
}

static int duplicated(MPI_Comm comm, MPI_Info info, MPI_Comm *made, void *caller) {
    Word words[] = {WORD(comm), WORD(info)};
    if (!made) return no_address(OF_COMM(comm), "MPI_Comm_dup", caller);
    *made = MPI_COMM_NULL;
    return served(OF_COMM(comm), DUPLICATE, words, 2, made, sizeof *made, caller);
}

EXPORTED int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) {
    CHECK_LIFE();
    if (!grid_comm(comm)) return NATIVE(MPI_Comm_dup)(comm, made);
    return duplicated(comm, MPI_INFO_NULL, made, CALLER);
}

EXPORTED int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made) {
    CHECK_LIFE();
    if (!grid_comm(comm)) return NATIVE(MPI_Comm_dup_with_info)(comm, info, made);
    return duplicated(comm, info, made, CALLER);
}

static int begun_duplicate(MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request,
                           void *caller) {
    Word words[] = {WORD(comm), WORD(info), (Word)made};
    if (!made || !request) return no_address(OF_COMM(comm), "MPI_Comm_idup", caller);
    *made = MPI_COMM_NULL, *request = MPI_REQUEST_NULL;
    return served(OF_COMM(comm), BEGIN_DUPLICATE, words, 3, request, sizeof *request, caller);
}

EXPORTED int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
    CHECK_LIFE();
    if (!grid_comm(comm)) return NATIVE(MPI_Comm_idup)(comm, made, request);
    return begun_duplicate(comm, MPI_INFO_NULL, made, request, CALLER);
}

#if MPI_VERSION >= 4
EXPORTED int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made,
                                     MPI_Request *request) {
    CHECK_LIFE();
    if (!grid_comm(comm)) return NATIVE(MPI_Comm_idup_with_info)(comm, info, made, request);
    return begun_duplicate(comm, info, made, request, CALLER);
}
#endif

/* What Python answers: the native communicator is left, or it is freed, too. */
enum { LEFT, FREED };

static int freed(MPI_Comm *comm, int function(MPI_Comm *), void *caller) {
    CHECK_LIFE();
    if (*comm == MPI_COMM_WORLD || !grid_comm(*comm)) return function(comm);
    Word words[] = {WORD(*comm)};
    long answer = ask(FREE_COMM, words, 1);
    if (answer < 0) return failed(OF_COMM(*comm), (int)-answer, caller);
    if (answer == LEFT) return function(comm); /* which deletes its attributes */
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

EXPORTED int MPI_Comm_free(MPI_Comm *comm) { return freed(comm, NATIVE(MPI_Comm_free), CALLER); }

EXPORTED int MPI_Comm_disconnect(MPI_Comm *comm) {
    return freed(comm, NATIVE(MPI_Comm_disconnect), CALLER);
}

EXPORTED int MPI_Group_free(MPI_Group *group) {
    if (is_grid_group(*group)) {
        Word words[] = {WORD(*group)};
        ask(FREE_GROUP, words, 1);
    }
    return NATIVE(MPI_Group_free)(group);
}

EXPORTED int MPI_Win_free(MPI_Win *win) {
    CHECK_LIFE();
    if (!grid_window(*win)) return NATIVE(MPI_Win_free)(win);
    Word words[] = {WORD(*win)};
    long answer = ask(FREE_WINDOW, words, 1);
    if (!grid_window(*win)) *win = MPI_WIN_NULL; /* it may be gone, too, where others were lost */
    if (answer >= 0) return MPI_SUCCESS;
    return failed(*win == MPI_WIN_NULL ? OF_COMM(MPI_COMM_WORLD) : OF_WIN(*win), (int)-answer, CALLER);
}

EXPORTED int MPI_File_close(MPI_File *file) {
    CHECK_LIFE();
    if (!grid_file(*file)) return NATIVE(MPI_File_close)(file);
    Word words[] = {WORD(*file)};
    long answer = ask(CLOSE_FILE, words, 1);
    *file = MPI_FILE_NULL; /* it is closed, whatever has failed */
    return answer < 0 ? failed(OF_FILE(MPI_FILE_NULL), (int)-answer, CALLER) : MPI_SUCCESS;
}

/* The native window has the memory of this process: all that differs is how the program made it. */
EXPORTED int MPI_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag) {
    CHECK_LIFE();
    int code = NATIVE(MPI_Win_get_attr)(win, keyval, value, flag);
    struct token *grid = code || !*flag ? NULL : grid_window(win);
    if (grid && keyval == MPI_WIN_CREATE_FLAVOR) *(int **)value = &grid->rank;
    return code;
}

/* Handles of types and operations are used again: Python must not take new ones for old ones. It
   is told of those that it knows. */
EXPORTED int MPI_Type_free(MPI_Datatype *type) {
    Word words[] = {WORD(*type)};
    if (tokens_used && life == UP && find(*words, TYPE)) ask(FREE_TYPE, words, 1);
    return NATIVE(MPI_Type_free)(type);
}

EXPORTED int MPI_Op_free(MPI_Op *op) {
    Word words[] = {WORD(*op)};
    if (!tokens_used || life != UP || !find(*words, OPERATION)) return NATIVE(MPI_Op_free)(op);
    *op = MPI_OP_NULL; /* a pending reduction may need it still */
    return MPI_SUCCESS;
}

/* --- functions of `gcm.h` ------------------------------------------------------------------------ */

EXPORTED long gcm_ask(const char *name, const Word *given, int count) {
    if (UNLIKELY(life != UP)) not_now(name);
    Word words[] = {(Word)name, (Word)given, count};
    long answer = ask(OWN, words, 3);
    return answer < 0 ? failed(OF_COMM(MPI_COMM_WORLD), (int)-answer, CALLER) : answer;
}

/* --- the life of MPI, which is up before the program begins ------------------------------------ */

static int level = MPI_THREAD_SINGLE;
static pthread_t first_thread;

static int begin_at(int asked, int *provided) {
    if (life == IN_CHILD) not_now("MPI_Init");
    if (life != BEFORE || !functions) {
        const char *when = life == UP ? "MPI_Init: it is called twice"
                                      : "MPI_Init: it is called after MPI_Finalize";
        return functions ? failed_by(OF_COMM(MPI_COMM_SELF), MPI_ERR_OTHER, CALLER, when) : MPI_ERR_OTHER;
    }
    level = asked < MPI_THREAD_SINGLE ? MPI_THREAD_SINGLE
          : asked > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE : asked;
    if (provided) *provided = level;
    first_thread = pthread_self();
    life = UP;
    return MPI_SUCCESS;
}

EXPORTED int MPI_Init(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return begin_at(MPI_THREAD_SINGLE, NULL);
}

EXPORTED int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    (void)argc, (void)argv;
    return begin_at(required, provided);
}

EXPORTED int MPI_Initialized(int *flag) { return *flag = life != BEFORE, MPI_SUCCESS; }

EXPORTED int MPI_Finalized(int *flag) {
    if (own_mpi && !functions) return NATIVE(MPI_Finalized)(flag); /* mpi4py does it at its end */
    return *flag = life == AFTER, MPI_SUCCESS;
}

EXPORTED int MPI_Query_thread(int *provided) { return *provided = level, MPI_SUCCESS; }

EXPORTED int MPI_Is_thread_main(int *flag) {
    if (own_mpi) return NATIVE(MPI_Is_thread_main)(flag);
    CHECK_LIFE();
    return *flag = pthread_equal(first_thread, pthread_self()) != 0, MPI_SUCCESS;
}

EXPORTED int MPI_Finalize(void) {
    CHECK_LIFE();
    if (!functions) return life = AFTER, NATIVE(MPI_Finalize)();
    long answer = ask(FINALIZE, NULL, 0);
    life = AFTER;
    return answer < 0 ? (int)-answer : MPI_SUCCESS;
}

EXPORTED int MPI_Abort(MPI_Comm comm, int code) {
    (void)comm; /* all communicators: others would wait for what is aborted */
    if (!functions || life == IN_CHILD) _exit(code);
    fflush(NULL);
    Word words[] = {code};
    ask(ABORT, words, 1);
    _exit(code & 0xff ? code & 0xff : 1);
}

/* --- a program into which this was preloaded ---------------------------------------------------- */

#define VARIABLE "GCM_C_PROGRAM" /* see `runtime.shim.preload` */
#define SEPARATOR "\x1f"

typedef int Main(int, char **, char **);
static Main *program;
static char **words;
static int number_of_words, code_at_end;
static pid_t process;
static sem_t begun, over, settled;

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore)) continue; /* a signal has been handled */
}

/* Called by Python: the program may begin. Returns when it ends, with its exit code. */
EXPORTED int gcm_run(void) {
    sem_post(&begun);
    wait_for(&over);
    return code_at_end;
}

/* Called by Python: all is said, and the process may end. It takes this thread with it. */
EXPORTED void gcm_end(void) {
    sem_post(&settled);
    for (;;) pause();
}

static void leave(int code, void *nothing) {
    (void)nothing;
    if (getpid() != process || ends_all) return; /* it is a child of the program, or all is said */
    fflush(NULL);
    code_at_end = code & 0xff;
    if (life == UP && !code_at_end)
        fprintf(stderr, "this program has ended without MPI_Finalize\n");
    if (life == BEFORE) life = AFTER;
    sem_post(&over);
    wait_for(&settled);
}

static void *run_python(void *library) {
    int (*run)(int, char **) = dlsym(library, "Py_BytesMain");
    _exit(run(number_of_words, words)); /* it returns only if it cannot begin */
}

static int begin(int argc, char **argv, char **environment) {
    char *told = strdup(getenv(VARIABLE));
    unsetenv(VARIABLE);
    char *before = strsep(&told, SEPARATOR), *children = strsep(&told, SEPARATOR);
    char *libpython = strsep(&told, SEPARATOR);
    if (*before) setenv("LD_PRELOAD", before, 1); else unsetenv("LD_PRELOAD");
    if (*children) personality(strtoul(children, NULL, 10));
    words = calloc(strlen(told) + 2, sizeof *words);
    while (told) words[number_of_words++] = strsep(&told, SEPARATOR);
    (void)environment;

    void *library = dlopen(libpython, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "this program cannot use several clusters: %s\n", dlerror());
        return 1;
    }
    process = getpid();
    sem_init(&begun, 0, 0), sem_init(&over, 0, 0), sem_init(&settled, 0, 0);
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for threads of the program */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16 << 20);
    int fault = pthread_create(&thread, &attributes, run_python, library);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (fault) {
        fprintf(stderr, "this program cannot use several clusters: %s\n", strerror(fault));
        return 1;
    }
    wait_for(&begun);
    on_exit(leave, NULL);
    return program(argc, argv, environ);
}

EXPORTED int __libc_start_main(Main *main, int argc, char **argv, void (*init)(void),
                               void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    int (*start)(Main *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *) =
        next("__libc_start_main");
    if (getenv(VARIABLE)) {
        program = main;
        main = begin;
    }
    return start(main, argc, argv, init, fini, rtld_fini, stack_end);
}
