/*
 * device_heap.c - the heap of GPU memory: a random history of allocations with a pattern in every
 * object, frees in different orders and at different times, and memory that really comes back.
 */
#include "device.h"

enum { SLOTS = 24, HISTORY = 250, LATE = 6, GRANULE = 2 << 20 };

struct object {
    unsigned char *ptr;
    size_t nbytes;
    uint64_t key;
};

static unsigned char *buffer; /* the largest object fits */
enum { LARGEST = 7 << 20 };

static void pattern(const struct object *object, int pe)
{
    uint64_t value = rng_mix(object->key + (uint64_t)pe);
    for (size_t i = 0; i < object->nbytes; i++)
        buffer[i] = (unsigned char)(value + i * 7);
}

static void fill(const struct object *object)
{
    pattern(object, spmd_me);
    nvshmem_putmem(object->ptr, buffer, object->nbytes, spmd_me);
}

static void check(const struct object *object, int pe, const char *when)
{
    unsigned char *have = malloc(object->nbytes);
    if (!have)
        exit(9);
    nvshmem_getmem(have, object->ptr, object->nbytes, pe);
    pattern(object, pe);
    CHECK(memcmp(have, buffer, object->nbytes) == 0, "%s: %zu bytes at %p of PE %d are wrong", when,
          object->nbytes, (void *)object->ptr, pe);
    free(have);
}

static size_t random_size(struct rng *rng)
{
    static const size_t scales[] = {100, 5000, 100000, 3000000, LARGEST};
    return 1 + rng_below(rng, scales[rng_below(rng, 5)]);
}

static void make(struct object *object, struct rng *rng)
{
    size_t align = (size_t)64 << rng_below(rng, 17);
    int how = (int)rng_below(rng, 4);
    *object = (struct object){.nbytes = random_size(rng), .key = rng_next(rng)};
    if (how == 0)
        object->ptr = nvshmem_calloc(object->nbytes, 1);
    else if (how == 1)
        object->ptr = nvshmem_align(align, object->nbytes);
    else if (how == 2)
        object->ptr = nvs_malloc_device(object->nbytes);
    else
        object->ptr = nvshmem_malloc(object->nbytes);
    CHECK(object->ptr, "no %zu bytes: %s", object->nbytes, nvs_last_error());
    if (!object->ptr)
        nvshmem_global_exit(1);
    CHECK(how != 1 || (uintptr_t)object->ptr % align == 0, "%p is not aligned to %zu",
          (void *)object->ptr, align);
    if (how == 0) {
        nvshmem_getmem(buffer, object->ptr, object->nbytes, spmd_me);
        for (size_t i = 0; i < object->nbytes; i++)
            if (buffer[i]) {
                CHECK(false, "calloc: byte %zu of %zu is %d", i, object->nbytes, buffer[i]);
                break;
            }
    }
    fill(object);
}

/* Objects that this PE has not freed yet, though others may have. */
static struct object late[LATE];

static void free_late(int i)
{
    if (!late[i].ptr)
        return;
    check(&late[i], spmd_me, "late");
    nvshmem_free(late[i].ptr);
    late[i].ptr = NULL;
}

/* Odd PEs free some objects only later, at a moment of their own. */
static void let_go(struct object *object, struct rng *mine)
{
    int i = (int)rng_below(mine, LATE);
    if (spmd_me % 2 && rng_below(mine, 2)) {
        free_late(i);
        late[i] = *object;
    } else {
        nvshmem_free(object->ptr);
    }
    object->ptr = NULL;
}

static void history(void)
{
    struct object objects[SLOTS] = {0};
    struct rng rng = rng_of(1, 1), mine = rng_of(2, (uint64_t)spmd_me);
    for (int step = 0; step < HISTORY; step++) {
        struct object *object = &objects[rng_below(&rng, SLOTS)];
        if (object->ptr) {
            check(object, spmd_me, "before free");
            let_go(object, &mine);
        } else {
            make(object, &rng);
        }
        if (step % 16 == 0) {
            nvshmem_barrier_all();
            for (int i = 0; i < SLOTS; i++)
                if (objects[i].ptr)
                    check(&objects[i], (spmd_me + 1) % spmd_npes, "of the neighbour");
            nvshmem_barrier_all();
        }
        if (rng_below(&mine, 8) == 0)
            free_late((int)rng_below(&mine, LATE));
    }
    for (int i = 0; i < LATE; i++)
        free_late(i);
    for (int i = 0; i < SLOTS; i++)
        if (objects[i].ptr)
            nvshmem_free(objects[i].ptr);
}

/* What this process holds of its own memory, and has mapped; 0 on a real GPU, which does not tell.
 */
static size_t used(void)
{
    return driver.used ? driver.used() : 0;
}

static size_t mapped(void)
{
    return driver.mapped ? driver.mapped() : 0;
}

static void large_comes_back(void)
{
    nvshmem_barrier_all();
    size_t before = used(), before_mapped = mapped();
    char *ptr = nvshmem_malloc(5 * (size_t)GRANULE + 1);
    CHECK(!driver.used || used() == before + 6 * (size_t)GRANULE, "%zu bytes more in use",
          used() - before);
    CHECK(!driver.mapped || mapped() == before_mapped + (size_t)spmd_npes * 6 * GRANULE,
          "%zu bytes more mapped", mapped() - before_mapped);
    nvshmem_barrier_all();
    if (spmd_me == 0)
        nvshmem_free(ptr); /* alone: PE 0 maps nothing any more, the others all of it */
    nvshmem_barrier_all();
    CHECK(!driver.mapped ||
              mapped() == before_mapped + (spmd_me ? (size_t)spmd_npes * 6 * GRANULE : 0),
          "after the free of PE 0, %zu bytes more mapped", mapped() - before_mapped);
    char byte = 7;
    if (spmd_me != 0) { /* PE 0's part is still there for them */
        nvshmem_putmem(ptr, &byte, 1, 0);
        byte = 0;
        nvshmem_getmem(&byte, ptr, 1, 0);
        CHECK(byte == 7 || spmd_npes > 2, "PE 0's part holds %d", byte);
    }
    nvshmem_barrier_all();
    if (spmd_me != 0)
        nvshmem_free(ptr);
    nvshmem_barrier_all();
    CHECK(used() == before, "after the free %zu bytes more in use", used() - before);
    CHECK(mapped() == before_mapped, "after the free %zu bytes more mapped",
          mapped() - before_mapped);
}

/* Small objects share a granule, also while some PE has given it back already. */
static void small_ones_share(void)
{
    size_t before = used();
    char *a = nvshmem_malloc(1000), *b = nvshmem_malloc(1000);
    CHECK(!driver.used || used() - before <= (size_t)GRANULE, "%zu bytes for two small objects",
          used() - before);
    nvshmem_barrier_all();
    if (spmd_me == 0) {
        nvshmem_free(a);
        nvshmem_free(b);
    }
    nvshmem_barrier_all();
    char *c = nvshmem_malloc(1000); /* not in that granule: PE 0 has no memory there */
    char value = (char)(spmd_me + 1), have = 0;
    nvshmem_putmem(c, &value, 1, (spmd_me + 1) % spmd_npes);
    nvshmem_barrier_all();
    nvshmem_getmem(&have, c, 1, spmd_me);
    CHECK(have == (spmd_me + spmd_npes - 1) % spmd_npes + 1, "c holds %d", have);
    if (spmd_me != 0) {
        nvshmem_free(a);
        nvshmem_free(b);
    }
    nvshmem_free(c);
    nvshmem_barrier_all();
    CHECK(used() == before, "after the frees %zu bytes more in use", used() - before);
}

static void mistakes(void)
{
    char *ptr = nvshmem_malloc(100);
    CHECK(nvs_free(ptr + 1) == NVS_ERR_INVALID, "%s", nvs_last_error());
    CHECK(shmem_realloc(ptr, 200) == NULL && strstr(nvs_last_error(), "memory of the GPU"), "%s",
          nvs_last_error());
    CHECK(nvs_free(ptr) == NVS_SUCCESS, "%s", nvs_last_error());
    CHECK(nvs_free(ptr) == NVS_ERR_INVALID, "%s", nvs_last_error());
    void *host = shmem_malloc(100);
    *(char *)host = 1; /* stays memory of the host */
    shmem_free(host);
    CHECK(nvshmem_align(3, 100) == NULL, "an alignment of 3");
    CHECK(nvshmem_malloc(0) == NULL, "0 bytes");
    CHECK(nvshmem_malloc((size_t)1 << 60) == NULL, "2^60 bytes");
    while (nvshmemx_error_check())
        ;
}

int main(int argc, char **argv)
{
    device_begin(argc, argv);
    buffer = malloc(LARGEST);
    char *first = nvshmem_malloc(1); /* stage two */
    CHECK(first, "%s", nvs_last_error());
    if (!first || !buffer)
        nvshmem_global_exit(1);
    nvshmem_free(first);
    size_t before = used();
    large_comes_back();
    small_ones_share();
    mistakes();
    history();
    nvshmem_barrier_all();
    CHECK(used() == before, "after everything %zu bytes more in use", used() - before);
    free(buffer);
    return device_end();
}
