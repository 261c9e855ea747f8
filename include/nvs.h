/*
 * nvs.h - the training API of nvs: collectives over symmetric or ordinary memory.
 *
 * One grammar for every call: team, dst, src, nelems (elements, never bytes), dtype, op, and last
 * `const struct nvs_call *call` (NULL for the defaults). Every function that can fail returns a
 * status: 0, or a negative NVS_ERR_* value; nvs_strerror() names it and nvs_last_error() tells the
 * whole sentence. Nothing here exits or prints.
 *
 * A program may mix these calls with those of shmem.h and nvshmem.h: they share one heap, one set
 * of teams and one numbering of PEs.
 */
#ifndef NVS_H
#define NVS_H

#include <stddef.h>
#include <stdint.h>

#include "nvshmem/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------------------------- */

enum nvs_status {
    NVS_SUCCESS = 0,
    NVS_ERR_INVALID = -1,     /* an argument is outside of what is allowed */
    NVS_ERR_STATE = -2,       /* the library is not initialised, or already finalized */
    NVS_ERR_MEMORY = -3,      /* out of symmetric or ordinary memory */
    NVS_ERR_SYMMETRIC = -4,   /* an address that must be symmetric is not */
    NVS_ERR_PE_LOST = -5,     /* a PE of the team died */
    NVS_ERR_TIMEOUT = -6,     /* a wait was longer than it was allowed to be */
    NVS_ERR_MISMATCH = -7,    /* PEs disagree about a collective call */
    NVS_ERR_SYSTEM = -8,      /* the operating system refused; the sentence holds errno */
    NVS_ERR_UNSUPPORTED = -9, /* not available in this build or on this machine */
    NVS_ERR_LAUNCH = -10,     /* the launcher and the program do not fit together */
    NVS_ERR_LIMIT = -11       /* a fixed limit is reached; the sentence says which */
};

/* The name and meaning of a status, for example "NVS_ERR_PE_LOST: a PE of the team died". Any
 * integer is allowed. The string is static. Any thread, any time. */
NVS_API const char *nvs_strerror(int status);

/* The sentence that describes the latest error of the calling thread: which argument, which value,
 * what is allowed, on which PE. Empty if there was none. Valid until the thread's next error. Any
 * time. */
NVS_API const char *nvs_last_error(void);

/* ---- start and end ------------------------------------------------------------------------ */

/* Joins the job: every PE must call it. May be called again after it succeeded (also through
 * shmem_init or nvshmem_init): calls are counted and each needs its own nvs_finalize. A program
 * that was started without a launcher becomes a job of one PE.
 * Returns 0, NVS_ERR_LAUNCH, NVS_ERR_MEMORY or NVS_ERR_SYSTEM. */
NVS_API int nvs_init(void);

/* Leaves the job when called as often as nvs_init was: waits for all PEs, releases the heap.
 * Collective. Returns 0, NVS_ERR_STATE, or NVS_ERR_PE_LOST if a PE died before it arrived. */
NVS_API int nvs_finalize(void);

/* This PE's number (0 .. n_pes-1) and the number of PEs in the job; NVS_ERR_STATE (negative)
 * outside of init .. finalize. Any thread. */
NVS_API int nvs_my_pe(void);
NVS_API int nvs_n_pes(void);

/* The number of the current life between init and finalize, counted from 1 in each process; 0
 * outside of it. A pointer or a team belongs to the life in which it was made. Any thread, any
 * time. */
NVS_API unsigned nvs_session(void);

/* ---- memory ------------------------------------------------------------------------------- */

/* Allocates `size` bytes of symmetric host memory, aligned to 64 bytes. Collective over all PEs,
 * which must pass the same size. NULL if size is 0 or on error (nvs_last_error says why), on all
 * PEs alike. */
NVS_API void *nvs_malloc(size_t size);

/* The same in the memory of this PE's GPU: of the one that the process has selected
 * (cudaSetDevice), or of device number my_pe modulo the number of GPUs. NULL also if a PE has no
 * GPU. The functions that take symmetric memory take this, too; the host cannot load and store it.
 */
NVS_API void *nvs_malloc_device(size_t size);

/* Frees memory of nvs_malloc and nvs_malloc_device. For memory of a GPU it waits, as cudaFree does,
 * until everything is done that was put into streams before. Not a barrier: the memory is used
 * again once every PE has freed it. NULL is allowed. Returns 0, NVS_ERR_STATE, or NVS_ERR_INVALID
 * for a pointer that these did not return or that this PE freed already. */
NVS_API int nvs_free(void *ptr);

/* ---- collectives -------------------------------------------------------------------------- */

/* A team of PEs: NVSHMEM's and OpenSHMEM's teams are the same objects. */
typedef int32_t nvs_team_t;
#define NVS_TEAM_WORLD ((nvs_team_t)0)

/* Element types and operators; the values are NCCL's. */
enum nvs_dtype {
    NVS_INT8 = 0,
    NVS_UINT8 = 1,
    NVS_INT32 = 2,
    NVS_UINT32 = 3,
    NVS_INT64 = 4,
    NVS_UINT64 = 5,
    NVS_FLOAT16 = 6,
    NVS_FLOAT32 = 7,
    NVS_FLOAT64 = 8,
    NVS_BFLOAT16 = 9
};

enum nvs_op { NVS_SUM = 0, NVS_PROD = 1, NVS_MAX = 2, NVS_MIN = 3, NVS_AVG = 4 };

/* Options of one call. Made by NVS_CALL(), which fills in the size. */
struct nvs_call {
    size_t size;       /* sizeof(struct nvs_call) */
    const char *label; /* a name for this call in error messages, or NULL */
    void *stream;      /* a cudaStream_t, or one of NVS_STREAM_*; NULL: a blocking call */
};

/* Streams with a fixed value, CUDA's: its stream 0 is one of these, as --default-stream says. */
#define NVS_STREAM_DEFAULT ((void *)1)    /* cudaStreamLegacy */
#define NVS_STREAM_PER_THREAD ((void *)2) /* cudaStreamPerThread */

#define NVS_CALL(...) (&(const struct nvs_call){.size = sizeof(struct nvs_call), __VA_ARGS__})

/*
 * What holds for every collective below.
 *  - All PEs of the team call it, in the same order, with the same nelems, dtype, op and root.
 *  - dst and src may be any memory that this PE can address. Symmetric memory (nvs_malloc,
 *    shmem_malloc, global variables of the executable) is used in place, without a copy; ordinary
 *    memory is staged through a buffer, which costs one more pass over it.
 *  - No PE writes the dst of a PE that has not entered the call. On return dst is complete and this
 *    PE may change src; another PE may do so once it knows that this one has returned.
 *  - In place: dst == src; for all_gather and reduce_scatter also NCCL's form (below). Any other
 *    overlap of dst and src is an error.
 *  - Results have the same bits on all PEs and in every run: inside one host sums are taken in the
 *    order of PEs; half types are added in float and rounded once.
 *  - nelems == 0 is allowed; the call then only synchronises.
 *  - From any thread, but only one thread at a time for one team.
 *  - Blocking, unless the call has a stream: then it returns at once, and the collective happens
 *    when the stream has come to it. It takes its turn among the team's collectives when it is
 *    called. What goes wrong later is found by the call that synchronises with the stream, and by
 *    nvshmemx_error_check(). docs/streams.md.
 *  - Memory of the GPU, where the PEs use GPUs: all PEs pass such memory, or none does. A blocking
 *    call takes symmetric memory on some and ordinary memory (cudaMalloc) on others, too. A call
 *    with a stream cannot ask the others before it returns, so there all PEs pass symmetric memory
 *    (the same object) or all other memory that the GPU reaches, and all work in place or none.
 * What is different is NVS_ERR_MISMATCH on all PEs. Returns 0, NVS_ERR_STATE, NVS_ERR_INVALID
 * (argument named in nvs_last_error), NVS_ERR_MISMATCH, NVS_ERR_PE_LOST or NVS_ERR_TIMEOUT (only
 * with NVS_TIMEOUT). After the last three the team is broken: every later call on it returns the
 * same.
 */

/* dst[i] = op over all PEs of src[i], i < nelems, on every PE. */
NVS_API int nvs_all_reduce(nvs_team_t team, void *dst, const void *src, size_t nelems,
                           enum nvs_dtype dtype, enum nvs_op op, const struct nvs_call *call);

/* dst of every PE (the root too) = src of PE `root` of the team. src is ignored elsewhere. */
NVS_API int nvs_broadcast(nvs_team_t team, void *dst, const void *src, size_t nelems,
                          enum nvs_dtype dtype, int root, const struct nvs_call *call);

/* dst holds nelems elements for each PE: block p is src (nelems elements) of PE p. In place also
 * with src == dst + my_pe * nelems. */
NVS_API int nvs_all_gather(nvs_team_t team, void *dst, const void *src, size_t nelems,
                           enum nvs_dtype dtype, const struct nvs_call *call);

/* src holds nelems elements for each PE; dst (nelems elements) = op over all PEs of their block
 * number my_pe. In place also with dst == src + my_pe * nelems. */
NVS_API int nvs_reduce_scatter(nvs_team_t team, void *dst, const void *src, size_t nelems,
                               enum nvs_dtype dtype, enum nvs_op op, const struct nvs_call *call);

/* Block p of dst (nelems elements) = block number my_pe of the src of PE p. */
NVS_API int nvs_all_to_all(nvs_team_t team, void *dst, const void *src, size_t nelems,
                           enum nvs_dtype dtype, const struct nvs_call *call);

/* ---- what this library is, and what it finds here ------------------------------------------- */

/* How the text of a fact reads: words, a decimal integer, one that counts bytes, "yes" or "no". */
enum nvs_fact_kind {
    NVS_FACT_TEXT = 0,
    NVS_FACT_NUMBER = 1,
    NVS_FACT_BYTES = 2,
    NVS_FACT_FLAG = 3
};

/* Later versions may add members at the end. */
struct nvs_fact {
    const char *section; /* what it is about: "library", "kernels", "transports", "heap", ... */
    const char *key;     /* its name there: lower case, words joined by '_' */
    enum nvs_fact_kind kind;
    const char *value; /* NULL: not known */
    const char *note;  /* why it is so, or what follows from it; NULL: nothing to say */
};

/* Calls each(fact, arg) for every fact about this build and about what it would use on this
 * machine; facts of one section come one after the other. What only a job has, such as the size of
 * the heap, is known between init and finalize. The strings live until each() returns. Any thread,
 * any time. Returns 0, or NVS_ERR_INVALID if each is NULL. */
NVS_API int nvs_info_facts(void (*each)(const struct nvs_fact *fact, void *arg), void *arg);

/* A variable of the environment. Later versions may add members at the end. */
struct nvs_variable {
    const char *name;           /* NULL: the problem is about a name that does not exist */
    const char *const *aliases; /* other names that count where it is not set; up to a NULL */
    const char *value;          /* in the form in which it is typed; NULL: refused */
    const char *default_value;
    const char *set_by;  /* the name that set it; NULL: it has its default */
    const char *takes;   /* what is allowed, in words */
    const char *help;    /* what it does */
    const char *problem; /* what init would say against it; NULL: nothing */
};

/* Calls each(variable, arg) for every variable that nvs reads, then once for every name in the
 * environment that looks like one and is none, with nothing set but the problem. Between init and
 * finalize the values are those in force, outside of that those of the environment. The strings
 * live until each() returns. Any thread, any time, unless another one changes the environment.
 * Returns 0, or NVS_ERR_INVALID if each is NULL. */
NVS_API int nvs_info_variables(void (*each)(const struct nvs_variable *variable, void *arg),
                               void *arg);

#ifdef __cplusplus
}
#endif

#endif
