/*
 * objects.c - the symmetric objects of the random program, and what each PE's copy must hold.
 */
#include "model.h"

enum { STATIC_BYTES = 24 << 10, MOST_BYTES = 2 << 20, GUARD_ALIGN = 64 };

static _Alignas(64) char static_area[STATIC_BYTES];

static struct object *free_place(void)
{
    for (int i = 0; i < MAX_OBJECTS; i++)
        if (!world.objects[i].id)
            return &world.objects[i];
    return NULL;
}

static struct object *nth_on_heap(size_t n)
{
    for (int i = 0; i < MAX_OBJECTS; i++)
        if (world.objects[i].id && world.objects[i].is_heap && n-- == 0)
            return &world.objects[i];
    return NULL;
}

static size_t count_on_heap(size_t *nbytes)
{
    size_t count = 0;
    *nbytes = 0;
    for (int i = 0; i < MAX_OBJECTS; i++)
        if (world.objects[i].id && world.objects[i].is_heap) {
            count++;
            *nbytes += world.objects[i].nbytes;
        }
    return count;
}

static void model_resize(struct object *object, size_t nbytes)
{
    for (int pe = 0; pe < world.npes; pe++) {
        object->model[pe] = realloc(object->model[pe], nbytes);
        if (!object->model[pe])
            give_up("no memory for the model of %zu bytes", nbytes);
        if (nbytes > object->nbytes)
            memset(object->model[pe] + object->nbytes, 0, nbytes - object->nbytes);
    }
    object->nbytes = nbytes;
}

/* What a fresh object, or its grown part, holds is not defined: every PE fills its own. */
static void fill_from(struct object *object, size_t from, uint64_t value)
{
    for (int pe = 0; pe < world.npes; pe++)
        data_fill(object->model[pe] + from, value + (uint64_t)pe * 7919, object->nbytes - from);
    memcpy(object->here + from, object->model[world.me] + from, object->nbytes - from);
}

/* Where an object may lie, and that none lies in another. */
static void check_place(const struct object *object, size_t align)
{
    if ((uintptr_t)object->here % align)
        give_up("object %llu at %p is not aligned to %zu", (unsigned long long)object->id,
                (void *)object->here, align);
    for (int i = 0; i < MAX_OBJECTS; i++) {
        const struct object *other = &world.objects[i];
        if (other->id && other != object && object->here < other->here + other->nbytes &&
            other->here < object->here + object->nbytes)
            give_up("object %llu (%p, %zu bytes) overlaps object %llu (%p, %zu bytes)",
                    (unsigned long long)object->id, (void *)object->here, object->nbytes,
                    (unsigned long long)other->id, (void *)other->here, other->nbytes);
    }
}

void objects_open(void)
{
    struct object *object = &world.objects[0];
    object->id = ++world.nobjects;
    object->here = static_area;
    model_resize(object, STATIC_BYTES);
    fill_from(object, 0, world.seed);
}

static size_t random_size(struct rng *rng)
{
    size_t dice = rng_below(rng, 100);
    return 1 + rng_below(rng, dice < 60 ? 500 : dice < 90 ? 20000 : dice < 98 ? 200000 : 1 << 20);
}

static void allocate(struct rng *rng)
{
    struct object *object = free_place();
    size_t nbytes = random_size(rng), align = GUARD_ALIGN, have;
    uint64_t value = rng_next(rng), how = rng_below(rng, 7);
    count_on_heap(&have);
    if (!object || have + nbytes > MOST_BYTES)
        return;
    if (how == 6)
        align <<= rng_below(rng, 10);
    char *here = how == 0    ? shmem_malloc(nbytes)
                 : how == 1  ? nvshmem_malloc(nbytes)
                 : how == 2  ? nvs_malloc(nbytes)
                 : how == 3  ? shmem_malloc_with_hints(nbytes, SHMEM_MALLOC_SIGNAL_REMOTE)
                 : how == 4  ? shmem_calloc(1, nbytes)
                 : how == 5  ? nvshmem_calloc(nbytes, 1)
                 : value & 1 ? shmem_align(align, nbytes)
                             : nvshmem_align(align, nbytes);
    if (!here)
        give_up("no symmetric memory for %zu bytes: %s", nbytes, nvs_last_error());
    *object =
        (struct object){.id = ++world.nobjects, .is_heap = true, .born = world.epoch, .here = here};
    model_resize(object, nbytes);
    check_place(object, align);
    if (how != 4 && how != 5)
        fill_from(object, 0, value);
}

static void resize(struct rng *rng, struct object *object)
{
    size_t before = object->nbytes, nbytes = random_size(rng);
    uint64_t value = rng_next(rng);
    object->here = shmem_realloc(object->here, nbytes);
    if (!object->here)
        give_up("realloc from %zu to %zu bytes: %s", before, nbytes, nvs_last_error());
    model_resize(object, nbytes);
    check_place(object, GUARD_ALIGN);
    if (nbytes > before)
        fill_from(object, before, value);
}

static void let_go(struct rng *rng, struct object *object)
{
    switch (rng_below(rng, 3)) {
    case 0:
        shmem_free(object->here);
        break;
    case 1:
        nvshmem_free(object->here);
        break;
    default:
        if (nvs_free(object->here))
            give_up("nvs_free: %s", nvs_last_error());
    }
    for (int pe = 0; pe < world.npes; pe++)
        free(object->model[pe]);
    *object = (struct object){0};
}

/* The caller has a barrier before and after: nobody touches the objects meanwhile. */
void objects_change(void)
{
    struct rng rng = draw_from(world.epoch, 1000001);
    size_t nbytes, changes = rng_below(&rng, 4);
    while (changes-- > 0) {
        size_t count = count_on_heap(&nbytes), dice = rng_below(&rng, 10);
        struct object *object = count ? nth_on_heap(rng_below(&rng, count)) : NULL;
        if (!object || dice < 4)
            allocate(&rng);
        else if (dice < 6)
            resize(&rng, object);
        else if (count > 6)
            let_go(&rng, object);
    }
}

/* ---- claims --------------------------------------------------------------------------------- */

void objects_forget_claims(void)
{
    for (int i = 0; i < MAX_OBJECTS; i++)
        world.objects[i].nclaims = 0;
}

static bool is_free(const struct object *object, size_t begin, size_t end)
{
    for (size_t i = 0; i < object->nclaims; i++)
        if (begin < object->claims[i].end && object->claims[i].begin < end)
            return false;
    return true;
}

bool object_claim(struct rng *rng, size_t nbytes, size_t align, struct part *part)
{
    for (int tries = 0; tries < 12; tries++) {
        struct object *object = &world.objects[rng_below(rng, MAX_OBJECTS)];
        if (!object->id || object->nbytes < nbytes || object->nclaims == MAX_CLAIMS)
            continue;
        size_t at = rng_below(rng, object->nbytes - nbytes + 1) / align * align;
        if (!is_free(object, at, at + nbytes))
            continue;
        object->claims[object->nclaims].begin = at;
        object->claims[object->nclaims++].end = at + nbytes;
        *part = (struct part){object, object->id, at, nbytes};
        return true;
    }
    return false;
}

/* ---- comparison ----------------------------------------------------------------------------- */

static void report_difference(const struct object *object)
{
    const unsigned char *want = object->model[world.me], *have = (unsigned char *)object->here;
    size_t first = 0, last = object->nbytes - 1;
    while (have[first] == want[first])
        first++;
    while (have[last] == want[last])
        last--;
    fprintf(stderr,
            "PE %d of %d: first difference after epoch %llu: byte %zu of object %llu (%zu bytes, "
            "%s, since epoch %llu) is 0x%02x, expected 0x%02x; the last one is byte %zu\n",
            world.me, world.npes, (unsigned long long)world.epoch, first,
            (unsigned long long)object->id, object->nbytes, object->is_heap ? "heap" : "static",
            (unsigned long long)object->born, have[first], want[first], last);
    history_print(object->id, first);
    give_up("memory and model differ");
}

void objects_compare(void)
{
    for (int i = 0; i < MAX_OBJECTS; i++) {
        const struct object *object = &world.objects[i];
        if (object->id && memcmp(object->here, object->model[world.me], object->nbytes) != 0)
            report_difference(object);
    }
}

void objects_corrupt(void)
{
    struct rng rng = draw_from(world.epoch, 1000002);
    struct object *object = &world.objects[0];
    object->here[rng_below(&rng, object->nbytes)] ^= 0x10;
}
