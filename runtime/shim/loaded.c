/* Libraries that a Python program loads: their calls of MPI come here, whoever has bound them.

   The library is loaded globally before them, so that the dynamic linker finds it first. It finds
   an MPI first that was loaded globally before, and it leaves what was loaded earlier as it is. So
   the slots of each object are looked at after each load: those with the address of a function of
   this process's MPI get that of the same function here. `PMPI_` functions count, too: mpi4py and
   the MPI itself keep theirs. */

#include <elf.h>
#include <link.h>

#if defined(__aarch64__)
enum { SLOT_OF_CALL = R_AARCH64_JUMP_SLOT, SLOT_OF_ADDRESS = R_AARCH64_GLOB_DAT,
       ADDRESS_IN_DATA = R_AARCH64_ABS64 };
#else
enum { SLOT_OF_CALL = R_X86_64_JUMP_SLOT, SLOT_OF_ADDRESS = R_X86_64_GLOB_DAT,
       ADDRESS_IN_DATA = R_X86_64_64 };
#endif

static void *own_library;

/* Functions of MPI that are here: their names in order, as generated, and where both are. They are
   looked up once, and never while objects are looked at: the linker keeps a lock meanwhile, and takes
   it after that of a look-up where another thread loads something. */
enum { HERE = sizeof names_here / sizeof *names_here };
static struct { void *theirs, *profiled, *ours; } functions_here[HERE];

static void look_up_functions(void) {
    char profiled[64];
    for (int at = 0; at < HERE; at++) {
        snprintf(profiled, sizeof profiled, "P%s", names_here[at]);
        functions_here[at].theirs = dlsym(own_mpi ? own_mpi : RTLD_NEXT, names_here[at]);
        functions_here[at].profiled = dlsym(own_mpi ? own_mpi : RTLD_NEXT, profiled);
        functions_here[at].ours = dlsym(own_library, names_here[at]);
    }
}

/* What may be put into slots of an object; an object of MPI keeps its own. */
enum whose { OF_MPI, OF_PYTHON, ANY_OBJECT, NATIVE_AGAIN };

static int in_order(const void *name, const void *other) {
    return strcmp(name, *(const char *const *)other);
}

static long place_of_name(const char *name) {
    const char *const *found = bsearch(name, names_here, HERE, sizeof *names_here, in_order);
    return found ? found - names_here : -1;
}

/* The function here in place of that of MPI with a name and an address; NULL if there is none. */
static void *in_place_of(const char *name, void *theirs) {
    int is_profiled = *name == 'P';
    long at = place_of_name(name + is_profiled);
    if (at < 0 || !theirs) return NULL;
    void *known = is_profiled ? functions_here[at].profiled : functions_here[at].theirs;
    return theirs == known ? functions_here[at].ours : NULL;
}

/* Stand before the MPI of a Python program that is up. */
EXPORTED int gcm_stand_before(const char *mpi, const char *me, int asked_level) {
    own_mpi = dlopen(mpi, RTLD_NOW | RTLD_NOLOAD);
    own_library = dlopen(me, RTLD_NOW | RTLD_NOLOAD);
    if (!own_mpi || !own_library) return 0;
    look_up_functions();
    level = asked_level;
    life = UP;
    return 1;
}

/* Called when Python has ended, before anything else that C does then: all that is left is native. */
EXPORTED void gcm_python_has_ended(void) {
    has_grid = tokens_used = 0;
    functions = NULL;
}

/* What `dlsym` is for whoever looks up names of MPI. It looks at who calls it: RTLD_NEXT is behind
   that object, and RTLD_DEFAULT has what is in its scope, such as its own names where it was loaded
   locally. So all but names of MPI are left to it by a jump, which leaves the caller as it is. */
__attribute__((optimize("optimize-sibling-calls")))
static void *find_function(void *handle, const char *name) {
    const char *public_name = name + (*name == 'P');
    int is_of_mpi = !strncmp(public_name, "MPI_", 4) || !strncmp(public_name, "MPIX_", 5);
    void *found = is_of_mpi && handle != RTLD_NEXT ? dlsym(handle, name) : NULL;
    if (!found) return dlsym(handle, name);
    void *here = in_place_of(name, found);
    return here ? here : found;
}

/* What `signal` and its kin are for libraries that call MPI: they leave SIGPIPE to Python, which
   ignores it, since what the grid writes to may be gone. PETSc lets it end the process. */
typedef void Handler(int);

static Handler *handle_signal(int number, Handler *handler) {
    return number == SIGPIPE ? SIG_IGN : signal(number, handler);
}

static Handler *handle_signal_once(int number, Handler *handler) {
    return number == SIGPIPE ? SIG_IGN : __sysv_signal(number, handler);
}

static Handler *set_signal(int number, Handler *handler) {
    return number == SIGPIPE ? SIG_IGN : sigset(number, handler);
}

static int act_on_signal(int number, const struct sigaction *action, struct sigaction *before) {
    return sigaction(number, number == SIGPIPE ? NULL : action, before);
}

static void *in_place_of_signal(const char *name) {
    static const struct { const char *name; void *here; } kin[] = {
        {"signal", handle_signal}, {"bsd_signal", handle_signal}, {"ssignal", handle_signal},
        {"sysv_signal", handle_signal_once},
        {"__sysv_signal", handle_signal_once}, /* `signal` of programs for X/Open */
        {"sigset", set_signal}, {"sigaction", act_on_signal},
    };
    for (size_t at = 0; at < sizeof kin / sizeof *kin; at++)
        if (!strcmp(name, kin[at].name)) return kin[at].here;
    return NULL;
}

static void *open_library(const char *path, int flags);

static enum whose whose(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strstr(path, "/mpi4py/MPI.") || !strncmp(name, "mca_", 4)) return OF_MPI;
    if (!strncmp(name, "libmpi", 6) && strchr("._-cf", name[6])) return OF_MPI;
    if (!strncmp(name, "_ctypes.", 8) || !strncmp(name, "_cffi_backend.", 14)) return OF_PYTHON;
    return ANY_OBJECT;
}

struct object {
    ElfW(Addr) base, constant, end_of_constant; /* what is read-only once the linker has done its work */
    const ElfW(Sym) *symbols;
    const char *names;
    enum whose whose;
    int calls_mpi;
};

static void put(const struct object *object, void **slot, void *value) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)slot;
    void *begin = (void *)(at & ~(page - 1));
    int is_constant = at >= object->constant && at < object->end_of_constant;
    if (is_constant && mprotect(begin, page, PROT_READ | PROT_WRITE)) return;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (is_constant) mprotect(begin, page, PROT_READ);
}

static int names_mpi(const struct object *object, const ElfW(Rela) *rows, size_t bytes) {
    for (const ElfW(Rela) *row = rows; (const char *)row < (const char *)rows + bytes; row++) {
        const char *name = object->names + object->symbols[ELF64_R_SYM(row->r_info)].st_name;
        if (!strncmp(name, "MPI_", 4) || !strncmp(name, "PMPI_", 5)) return 1;
    }
    return 0;
}

static void look_at_slots(const struct object *object, const ElfW(Rela) *rows, size_t bytes) {
    for (const ElfW(Rela) *row = rows; (const char *)row < (const char *)rows + bytes; row++) {
        unsigned type = ELF64_R_TYPE(row->r_info);
        if (type != SLOT_OF_CALL && type != SLOT_OF_ADDRESS && type != ADDRESS_IN_DATA) continue;
        const ElfW(Sym) *symbol = object->symbols + ELF64_R_SYM(row->r_info);
        if (symbol->st_shndx != SHN_UNDEF) continue; /* its own, such as that of a tool */
        const char *name = object->names + symbol->st_name;
        void **slot = (void **)(object->base + row->r_offset);
        if (object->whose == NATIVE_AGAIN) {
            long at = place_of_name(name);
            if (at >= 0 && functions_here[at].theirs) put(object, slot, functions_here[at].theirs);
            continue;
        }
        if (!strcmp(name, "dlsym")) put(object, slot, find_function);
        void *handles = object->calls_mpi ? in_place_of_signal(name) : NULL;
        if (handles) put(object, slot, handles);
        if (object->whose == OF_PYTHON && !strcmp(name, "dlopen")) put(object, slot, open_library);
        if (*name != 'M' && *name != 'P') continue;
        void *here = in_place_of(name, *slot);
        if (here && *slot != here) put(object, slot, here);
    }
}

static int look_at(struct dl_phdr_info *info, size_t size, void *native) {
    (void)size;
    if (native && strcmp(info->dlpi_name, native)) return 0;
    struct object object = {.base = info->dlpi_addr,
                            .whose = native ? NATIVE_AGAIN : whose(info->dlpi_name)};
    const ElfW(Dyn) *dynamic = NULL;
    for (int at = 0; at < info->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = info->dlpi_phdr + at;
        if (part->p_type == PT_DYNAMIC) dynamic = (void *)(object.base + part->p_vaddr);
        if (part->p_type == PT_GNU_RELRO) {
            object.constant = object.base + part->p_vaddr;
            object.end_of_constant = object.constant + part->p_memsz;
        }
    }
    int is_own = own_library && object.base == ((struct link_map *)own_library)->l_addr;
    if (!dynamic || is_own || object.whose == OF_MPI) return 0;
    const ElfW(Rela) *calls = NULL, *others = NULL;
    size_t bytes_of_calls = 0, bytes_of_others = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        ElfW(Addr) value = dynamic->d_un.d_ptr;
        /* addresses, but for objects of the system */
        void *there = (void *)(value < object.base ? object.base + value : value);
        switch (dynamic->d_tag) {
        case DT_SYMTAB: object.symbols = there; break;
        case DT_STRTAB: object.names = there; break;
        case DT_JMPREL: calls = there; break;
        case DT_RELA: others = there; break;
        case DT_PLTRELSZ: bytes_of_calls = value; break;
        case DT_RELASZ: bytes_of_others = value; break;
        }
    }
    if (!object.symbols || !object.names) return 0;
    object.calls_mpi = (calls && names_mpi(&object, calls, bytes_of_calls)) ||
                       (others && names_mpi(&object, others, bytes_of_others));
    if (calls) look_at_slots(&object, calls, bytes_of_calls);
    if (others) look_at_slots(&object, others, bytes_of_others);
    return 0;
}

/* See to it that all that is loaded calls the functions here. */
EXPORTED void gcm_look_at_all(void) {
    if (own_mpi) dl_iterate_phdr(look_at, NULL);
}

/* Load a file whose calls are native although this library was preloaded: that of mpi4py. To have
   it bound by RTLD_DEEPBIND is not enough: a program has copies of variables of Open MPI, such as
   that of MPI_COMM_WORLD, and the MPI uses those. */
EXPORTED int gcm_load_native(const char *path) {
    if (!dlopen(path, RTLD_NOW)) return 0;
    look_up_functions();
    dl_iterate_phdr(look_at, (void *)path);
    return 1;
}

static void *open_library(const char *path, int flags) {
    void *found = dlopen(path, flags);
    if (found) gcm_look_at_all();
    return found;
}

/* --- generated from here on --------------------------------------------------------------------- */
