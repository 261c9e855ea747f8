/*
 * model.h - a random program whose PEs know, each alone, what the memory of all must hold.
 *
 * The seed decides everything, and all PEs have it. An epoch is a list of operations, the same on
 * all PEs: each performs its part of an operation and then applies the whole of it to its model of
 * everybody's memory. No two operations of an epoch touch the same bytes (claims), so their order
 * does not matter until the barrier at the end; then every PE compares all its memory with the
 * model. Between epochs objects, teams and contexts come and go.
 *
 *   model.c       the epochs and the end
 *   objects.c     symmetric objects and their model; the comparison
 *   history.c     what has been done lately, for the report of a difference
 *   groups.c      teams and contexts
 *   draw.c        draws the operations of an epoch
 *   onesided.c    performs and applies puts and gets
 *   words.c       performs and applies atomics, signals, and a counter under a lock
 *   together.c    performs and applies collectives
 */
#ifndef TESTS_STRESS_MODEL_H
#define TESTS_STRESS_MODEL_H

#include "../spmd/spmd.h"

#include <nvs.h>
#include <nvshmem.h>
#include <nvshmemx.h>

enum {
    MAX_PES = 8,
    MAX_OBJECTS = 24,
    MAX_TEAMS = 24,
    NUM_CTXS = 4, /* 0: the default one */
    MAX_OPS = 48,
    MAX_CLAIMS = 2 * MAX_OPS
};

/* A symmetric object: the static area, or memory of the heap. */
struct object {
    uint64_t id;   /* 0: there is none */
    bool is_heap;  /* may be freed */
    uint64_t born; /* the epoch that made it */
    char *here;
    size_t nbytes;
    unsigned char *model[MAX_PES]; /* what the copy of each PE must hold */
    struct {
        size_t begin, end;
    } claims[MAX_CLAIMS]; /* by operations of this epoch, on whatever PE */
    size_t nclaims;
};

/* A team as all PEs know it. */
struct team {
    int npes; /* 0: there is none */
    int pes[MAX_PES];
    shmem_team_t handle; /* SHMEM_TEAM_INVALID on a PE that is not in it */
};

struct context {
    int team; /* index; -1: there is none */
    shmem_ctx_t handle;
};

#define KINDS(X)                                                                                   \
    X(PUT)                                                                                         \
    X(PUT_NBI)                                                                                     \
    X(PUT_OBJECT)                                                                                  \
    X(P)                                                                                           \
    X(IPUT)                                                                                        \
    X(GET)                                                                                         \
    X(GET_NBI)                                                                                     \
    X(IGET)                                                                                        \
    X(ECHO) X(STORE) X(POINTER) X(ATOMIC) X(ADD_ALL) X(SIGNAL) X(LOCKED) X(COLLECTIVE) X(SYNC)
enum op_kind {
#define X(name) OP_##name,
    KINDS(X)
#undef X
        NUM_KINDS
};

/* A part of an object; the same offset on all PEs that it concerns. */
struct part {
    struct object *object;
    uint64_t id; /* of the object */
    size_t at, nbytes;
};

struct op {
    enum op_kind kind;
    uint64_t epoch;
    int number;
    int actor, target; /* who does it to whose memory; collectives: the root in target */
    int ctx, team;     /* indices */
    bool nvshmem;      /* by NVSHMEM's name of the function */
    size_t elem_bytes, nelems, dst_stride, src_stride;
    struct part dst, src;
    uint64_t value; /* decides the data, and details of the kind */
    int fn;         /* ATOMIC: which; COLLECTIVE: index in coll_fns */
};

struct world {
    uint64_t seed;
    int me, npes;
    uint64_t epoch, nops, ncollectives, nobjects;
    struct object objects[MAX_OBJECTS];
    struct team teams[MAX_TEAMS]; /* 0: the world */
    struct context ctxs[NUM_CTXS];
};
extern struct world world;

/* A stream of random numbers for each pair, the same on all PEs. */
static inline struct rng draw_from(uint64_t a, uint64_t b)
{
    return (struct rng){rng_mix(world.seed + rng_mix(a * 2 + 1) + 3 * rng_mix(b * 2))};
}

/* Byte i of the data that `value` decides. */
static inline unsigned char data_byte(uint64_t value, size_t i)
{
    return (unsigned char)(rng_mix(value + i / 8) >> i % 8 * 8);
}

static inline void data_fill(void *dst, uint64_t value, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        ((unsigned char *)dst)[i] = data_byte(value, i);
}

static inline char *part_here(const struct part *part)
{
    return part->object->here + part->at;
}

static inline unsigned char *part_model(const struct part *part, int pe)
{
    return part->object->model[pe] + part->at;
}

/* The number of world PE pe in a team, or -1. */
static inline int team_number(const struct team *team, int pe)
{
    for (int i = 0; i < team->npes; i++)
        if (team->pes[i] == pe)
            return i;
    return -1;
}

/* ---- model.c: says what is wrong and ends the job */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- objects.c */
void objects_open(void);
void objects_change(void); /* allocates, resizes and frees a few */
void objects_forget_claims(void);
/* Claims a free part for an operation; false if there is none. */
bool object_claim(struct rng *rng, size_t nbytes, size_t align, struct part *part);
void objects_compare(void);
/* Breaks the own memory behind the model's back: the test of this test. */
void objects_corrupt(void);

/* ---- history.c */
void history_add(const struct op *op);
/* Prints the latest operations that touched byte `at` of an object. */
void history_print(uint64_t id, size_t at);
void op_describe(const struct op *op, char *text, size_t size);

/* ---- groups.c */
void groups_open(void);
void groups_change(void);
void contexts_quiet(void);

/* ---- draw.c: false where nothing fits */
bool op_draw(struct op *op, uint64_t epoch, int number);

/* ---- onesided.c */
void onesided_perform(const struct op *op);
void onesided_apply(const struct op *op);
/* After everything is complete: the results of non-blocking gets, and the buffers are free. */
void onesided_finish(void);
/* The data of an operation, in a buffer that lives until it is complete. */
unsigned char *data_of(const struct op *op, size_t nbytes);
/* The context, and the target's number as it counts. */
shmem_ctx_t ctx_of(const struct op *op);
int pe_of(const struct op *op);
/* What a call brought, and what it should have. */
void expect(const struct op *op, const unsigned char *got, const unsigned char *want,
            size_t nbytes);

/* ---- words.c */
extern const char *const atomic_names[];
int atomic_count(void);
void words_perform(const struct op *op);
void words_apply(const struct op *op);

/* ---- together.c */
bool together_draw(struct op *op, struct rng *rng);
void together_perform(const struct op *op);
void together_apply(const struct op *op);
const char *together_name(const struct op *op);

#endif
