/*
 * heap.c - the symmetric heap: a random history of malloc, calloc, align, realloc and free, the
 * same on all PEs, with a pattern in every object that each PE and its neighbours check.
 *
 * nvshmem_free is local: PEs free in different orders and at different times, and the memory must
 * come back all the same. `heap many` is the long history, which looks at growth only.
 */
#include "spmd.h"

#include <nvshmem.h>
#include <nvshmemx.h>

enum { SLOTS = 60, HISTORY = 800, LATE = 8 };

struct object {
    unsigned char *ptr;
    size_t nbytes;
    uint64_t key;
};

static unsigned char byte_of(const struct object *object, int pe, size_t i)
{
    return (unsigned char)(rng_mix(object->key + (uint64_t)pe) + i * 7);
}

static void fill(const struct object *object, size_t from)
{
    for (size_t i = from; i < object->nbytes; i++)
        object->ptr[i] = byte_of(object, spmd_me, i);
}

/* The first n bytes, as stored by this PE. */
static void check_mine(const struct object *object, size_t n, const char *when)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char want = byte_of(object, spmd_me, i);
        CHECK(object->ptr[i] == want, "%s: byte %zu of %zu at %p is %02x, expected %02x", when, i,
              object->nbytes, (void *)object->ptr, object->ptr[i], want);
        if (object->ptr[i] != want)
            return;
    }
}

/* Two bytes of a peer's part: by get, and by load where that is possible. */
static void check_peer(const struct object *object, struct rng *rng)
{
    int pe = (spmd_me + 1) % spmd_npes;
    size_t i = rng_below(rng, object->nbytes);
    unsigned char want = byte_of(object, pe, i), have = shmem_uchar_g(object->ptr + i, pe);
    CHECK(have == want, "byte %zu of PE %d: %02x, expected %02x", i, pe, have, want);
    const unsigned char *there = shmem_ptr(object->ptr, pe);
    if (there)
        CHECK(there[i] == want, "byte %zu of PE %d through shmem_ptr: %02x", i, pe, there[i]);
}

static size_t random_size(struct rng *rng)
{
    static const size_t scales[] = {16, 200, 5000, 100000};
    return 1 + rng_below(rng, scales[rng_below(rng, 4)]);
}

static bool overlaps(const struct object *objects, const struct object *one)
{
    for (int i = 0; i < SLOTS; i++)
        if (&objects[i] != one && objects[i].ptr && one->ptr < objects[i].ptr + objects[i].nbytes &&
            objects[i].ptr < one->ptr + one->nbytes)
            return true;
    return false;
}

static void make(struct object *object, struct rng *rng, int how)
{
    object->nbytes = random_size(rng);
    object->key = rng_next(rng);
    size_t align = (size_t)8 << rng_below(rng, 10);
    if (how == 0) {
        object->ptr = shmem_malloc(object->nbytes);
    } else if (how == 1) {
        object->ptr = nvshmem_malloc(object->nbytes);
    } else if (how == 2) {
        object->ptr = shmem_calloc(object->nbytes, 1);
        size_t zeros = 0;
        while (zeros < object->nbytes && object->ptr[zeros] == 0)
            zeros++;
        CHECK(zeros == object->nbytes, "calloc: byte %zu of %zu is not zero", zeros,
              object->nbytes);
    } else {
        object->ptr =
            how == 3 ? shmem_align(align, object->nbytes) : nvshmem_align(align, object->nbytes);
        CHECK((uintptr_t)object->ptr % align == 0, "%p for alignment %zu", (void *)object->ptr,
              align);
    }
    CHECK((uintptr_t)object->ptr % 64 == 0, "%p", (void *)object->ptr);
    fill(object, 0);
}

static void resize(struct object *object, struct rng *rng)
{
    size_t nbytes = random_size(rng), kept = nbytes < object->nbytes ? nbytes : object->nbytes;
    object->ptr = shmem_realloc(object->ptr, nbytes);
    object->nbytes = nbytes;
    check_mine(object, kept, "after realloc");
    fill(object, kept);
}

/* The addresses differ between PEs, the distances from the first object do not. */
static void check_symmetry(const struct object *object, const unsigned char *anchor, long *offsets)
{
    offsets[0] = object->ptr - anchor;
    shmem_barrier_all();
    long there = shmem_long_g(&offsets[0], (spmd_me + 1) % spmd_npes);
    CHECK(there == offsets[0], "offset %ld here, %ld there", offsets[0], there);
    shmem_barrier_all();
}

static void test_history(void)
{
    static struct object objects[SLOTS];
    struct rng rng = rng_of(1, 0);
    long *offsets = shmem_malloc(sizeof *offsets);
    for (int step = 0; step < HISTORY && !spmd_failures; step++) {
        struct object *object = &objects[rng_below(&rng, SLOTS)];
        int how = (int)rng_below(&rng, 5);
        bool keep = rng_below(&rng, 3) == 0, barrier = rng_below(&rng, 2);
        if (!object->ptr) {
            make(object, &rng, how);
            CHECK(!overlaps(objects, object), "%zu bytes at %p overlap", object->nbytes,
                  (void *)object->ptr);
            if (step % 16 == 0)
                check_symmetry(object, (unsigned char *)offsets, offsets);
            continue;
        }
        check_mine(object, object->nbytes, "later");
        if (keep) {
            resize(object, &rng);
            shmem_barrier_all();
            check_peer(object, &rng);
            shmem_barrier_all();
        } else if (barrier) {
            shmem_free(object->ptr);
            object->ptr = NULL;
        } else {
            nvshmem_barrier_all(); /* nobody looks at it any more */
            nvshmem_free(object->ptr);
            object->ptr = NULL;
        }
    }
    for (int i = 0; i < SLOTS; i++)
        shmem_free(objects[i].ptr);
    memset(objects, 0, sizeof objects);
    shmem_free(offsets);
}

/* Each PE frees the objects in an order of its own and some of them much later. */
static void test_orders(void)
{
    unsigned char *objects[LATE * 2], *late[LATE] = {0}, *first = NULL;
    struct rng mine = rng_of(2, (uint64_t)spmd_me);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < LATE && round > 0 && spmd_me % 2; i++)
            nvshmem_free(late[(i + spmd_me) % LATE]);
        for (int i = 0; i < LATE * 2; i++) {
            objects[i] = nvshmem_malloc(100000);
            CHECK(objects[i], "round %d, object %d", round, i);
            memset(objects[i], i, 100000);
        }
        /* Half of the PEs freed the late ones before these allocations, the others do so now. */
        for (int i = 0; i < LATE && round > 0 && spmd_me % 2 == 0; i++)
            nvshmem_free(late[(i + spmd_me) % LATE]);
        shmem_barrier_all();
        for (int i = 0; i < LATE * 2; i++) {
            unsigned char there = shmem_uchar_g(objects[i] + 500, (spmd_me + 1) % spmd_npes);
            CHECK(there == i, "round %d: object %d has %d on the next PE", round, i, there);
        }
        shmem_barrier_all();
        for (int i = LATE * 2 - 1; i > 0; i--) {
            size_t k = rng_below(&mine, (size_t)i + 1);
            unsigned char *swap = objects[i];
            objects[i] = objects[k];
            objects[k] = swap;
        }
        /* All are freed in the end, half of them in the next round: sort those by address, since
         * the others must be the same on all PEs. */
        for (int i = 0; i < LATE * 2; i++) {
            CHECK(*objects[i] < LATE * 2, "%d", *objects[i]);
            if (*objects[i] % 2)
                late[*objects[i] / 2] = objects[i];
            else
                nvshmem_free(objects[i]);
        }
        if (!first || late[0] < first)
            first = late[0];
        CHECK(late[0] - first < 100 * 100000,
              "memory does not come back: %td bytes after %d rounds", late[0] - first, round);
    }
    for (int i = 0; i < LATE; i++)
        nvshmem_free(late[i]);
}

static void test_sizes(void)
{
    CHECK(shmem_malloc(0) == NULL, "malloc(0)");
    CHECK(nvshmem_malloc(0) == NULL, "malloc(0)");
    CHECK(shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL, "calloc of nothing");
    shmem_free(NULL);
    nvshmem_free(NULL);
    char *ptr = shmem_realloc(NULL, 100);
    CHECK(ptr, "realloc(NULL, 100)");
    CHECK(shmem_realloc(ptr, 0) == NULL, "realloc(ptr, 0)");
    CHECK(nvshmemx_error_check() == 0, "an error was recorded: none of this is one");
    int *hinted = shmem_malloc_with_hints(64, SHMEM_MALLOC_SIGNAL_REMOTE);
    CHECK(hinted, "malloc_with_hints");
    shmem_free(hinted);
}

/* Every PE writes into every PE through shmem_ptr. */
static void test_ptr(void)
{
    int *cells = shmem_calloc((size_t)spmd_npes, sizeof *cells);
    shmem_barrier_all();
    for (int pe = 0; pe < spmd_npes; pe++) {
        int *there = shmem_ptr(cells, pe);
        CHECK(there == nvshmem_ptr(cells, pe), "PE %d", pe);
        if (there)
            there[spmd_me] = 100 * pe + spmd_me;
        else
            shmem_int_p(&cells[spmd_me], 100 * pe + spmd_me, pe);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < spmd_npes; pe++)
        CHECK(cells[pe] == 100 * spmd_me + pe, "%d from PE %d", cells[pe], pe);
    const char *transport = getenv("NVS_TRANSPORT");
    if (!transport || strcmp(transport, "shm") == 0)
        CHECK(shmem_ptr(cells, spmd_npes - 1), "not reachable over shared memory");
    CHECK(shmem_ptr(cells, spmd_me) == cells || !shmem_ptr(cells, spmd_me), "own address differs");
    int here;
    CHECK(!shmem_ptr(&here, 0), "the stack is not symmetric");
    CHECK(!shmem_ptr(cells, spmd_npes) && !shmem_ptr(cells, -1), "PEs that do not exist");
    shmem_free(cells);
}

/* Steps operations on objects of which at most 20 live: the heap must not creep upwards. */
static void test_growth(long steps)
{
    enum { LIVE = 20 };
    char *objects[LIVE] = {0};
    struct rng rng = rng_of(3, 0);
    char *anchor = shmem_malloc(64);
    ptrdiff_t reach = 0;
    for (long step = 0; step < steps; step++) {
        char **object = &objects[rng_below(&rng, LIVE)];
        size_t nbytes = random_size(&rng);
        if (*object) {
            nvshmem_free(*object);
            *object = NULL;
            continue;
        }
        *object = nvshmem_malloc(nbytes);
        CHECK(*object, "step %ld: no memory", step);
        if (!*object)
            break;
        if (*object + nbytes - anchor > reach)
            reach = *object + (ptrdiff_t)nbytes - anchor;
    }
    CHECK(reach < 3 * LIVE * 100000, "after %ld steps the heap reaches over %td bytes", steps,
          reach);
    if (spmd_me == 0)
        printf("%ld operations, %td bytes\n", steps, reach);
    for (int i = 0; i < LIVE; i++)
        nvshmem_free(objects[i]);
    shmem_free(anchor);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    if (argc > 1 && strcmp(argv[1], "many") == 0) {
        test_growth(argc > 2 ? atol(argv[2]) : 100000);
        return spmd_end();
    }
    test_sizes();
    test_ptr();
    test_history();
    test_orders();
    test_growth(2000);
    return spmd_end();
}
