/*
 * tlsf.c - two-level segregated fit over a range of offsets; the contract is in tlsf.h, the
 * metadata is explained in tlsf_internal.h.
 *
 * Nothing here may depend on anything but the history of calls: no address, no time, no hash order,
 * no capacity of an array. Memory for metadata is reserved before anything is changed, so that a
 * call that fails leaves no trace by which replicas could differ later.
 */
#include "tlsf_internal.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define NONE NVSI_TLSF_NONE
#define GRANULE NVSI_TLSF_GRANULE
#define FIRST_CAPACITY 64u
#define NEW_BLOCKS_MAX 2u /* an allocation cuts at most a front and a back off a free block */

/* A block of size zero still needs an offset of its own. Cannot overflow, whatever nbytes is. */
static uint64_t granules(uint64_t nbytes)
{
    return nbytes ? nbytes / GRANULE + (nbytes % GRANULE != 0) : 1;
}

/* ---- numbers ---- */

static int reserve_numbers(struct nvsi_tlsf *tlsf)
{
    if (tlsf->nspare + (tlsf->capacity - tlsf->nnumbers) >= NEW_BLOCKS_MAX)
        return 0;
    if (tlsf->capacity > UINT32_MAX / 4)
        return -1;
    uint32_t capacity = tlsf->capacity ? 2 * tlsf->capacity : FIRST_CAPACITY;
    struct nvsi_tlsf_block *blocks = realloc(tlsf->blocks, capacity * sizeof(*blocks));
    if (!blocks)
        return -1;
    tlsf->blocks = blocks;
    tlsf->capacity = capacity;
    return 0;
}

static uint32_t take_number(struct nvsi_tlsf *tlsf)
{
    if (!tlsf->nspare) {
        assert(tlsf->nnumbers < tlsf->capacity);
        return tlsf->nnumbers++;
    }
    uint32_t b = tlsf->spare;
    tlsf->spare = tlsf->blocks[b].next;
    tlsf->nspare--;
    return b;
}

static void return_number(struct nvsi_tlsf *tlsf, uint32_t b)
{
    tlsf->blocks[b] = (struct nvsi_tlsf_block){.state = NVSI_TLSF_SPARE, .next = tlsf->spare};
    tlsf->spare = b;
    tlsf->nspare++;
}

/* ---- lists of free blocks ---- */

static void list_insert(struct nvsi_tlsf *tlsf, uint32_t b)
{
    uint32_t class = nvsi_tlsf_class(tlsf->blocks[b].count);
    uint32_t level = class / NVSI_TLSF_CLASSES;
    uint32_t head = tlsf->heads[class];
    tlsf->blocks[b].state = NVSI_TLSF_FREE;
    tlsf->blocks[b].prev = NONE;
    tlsf->blocks[b].next = head;
    if (head != NONE)
        tlsf->blocks[head].prev = b;
    tlsf->heads[class] = b;
    tlsf->classes[level] |= UINT32_C(1) << class % NVSI_TLSF_CLASSES;
    tlsf->levels |= UINT64_C(1) << level;
}

static void list_remove(struct nvsi_tlsf *tlsf, uint32_t b)
{
    const struct nvsi_tlsf_block *block = &tlsf->blocks[b];
    if (block->next != NONE)
        tlsf->blocks[block->next].prev = block->prev;
    if (block->prev != NONE) {
        tlsf->blocks[block->prev].next = block->next;
        return;
    }
    uint32_t class = nvsi_tlsf_class(block->count);
    uint32_t level = class / NVSI_TLSF_CLASSES;
    tlsf->heads[class] = block->next;
    if (block->next != NONE)
        return;
    tlsf->classes[level] &= ~(UINT32_C(1) << class % NVSI_TLSF_CLASSES);
    if (!tlsf->classes[level])
        tlsf->levels &= ~(UINT64_C(1) << level);
}

/* ---- cutting and joining ---- */

/* Cuts a block after `count` granules; the upper part is a new block, which is returned. */
static uint32_t split(struct nvsi_tlsf *tlsf, uint32_t b, uint64_t count)
{
    uint32_t upper = take_number(tlsf);
    struct nvsi_tlsf_block *lower = &tlsf->blocks[b];
    tlsf->blocks[upper] = (struct nvsi_tlsf_block){
        .start = lower->start + count,
        .count = lower->count - count,
        .below = b,
        .above = lower->above,
    };
    if (lower->above != NONE)
        tlsf->blocks[lower->above].below = upper;
    lower->above = upper;
    lower->count = count;
    return upper;
}

/* Joins a block with the one above it, which must be on no list. */
static void join_above(struct nvsi_tlsf *tlsf, uint32_t b)
{
    struct nvsi_tlsf_block *lower = &tlsf->blocks[b];
    uint32_t upper = lower->above;
    lower->count += tlsf->blocks[upper].count;
    lower->above = tlsf->blocks[upper].above;
    if (lower->above != NONE)
        tlsf->blocks[lower->above].below = b;
    return_number(tlsf, upper);
}

static bool is_free(const struct nvsi_tlsf *tlsf, uint32_t b)
{
    return b != NONE && tlsf->blocks[b].state == NVSI_TLSF_FREE;
}

/* Makes a block free that is on no list. */
static void give_back(struct nvsi_tlsf *tlsf, uint32_t b)
{
    uint32_t above = tlsf->blocks[b].above, below = tlsf->blocks[b].below;
    if (is_free(tlsf, above)) {
        list_remove(tlsf, above);
        join_above(tlsf, b);
    }
    if (is_free(tlsf, below)) {
        list_remove(tlsf, below);
        join_above(tlsf, below);
        b = below;
    }
    list_insert(tlsf, b);
}

/* ---- finding a free block ---- */

/* How far into the block its first multiple of `step`, a power of two, lies. */
static uint64_t gap_before(const struct nvsi_tlsf *tlsf, uint32_t b, uint64_t step)
{
    return (0 - tlsf->blocks[b].start) & (step - 1);
}

static bool fits(const struct nvsi_tlsf *tlsf, uint32_t b, uint64_t count, uint64_t step)
{
    uint64_t gap = gap_before(tlsf, b, step);
    return tlsf->blocks[b].count >= gap && tlsf->blocks[b].count - gap >= count;
}

/* The head of the first non-empty class whose blocks all have at least `count` granules. */
static uint32_t find_certain(const struct nvsi_tlsf *tlsf, uint64_t count)
{
    if (count >= NVSI_TLSF_CLASSES) {
        uint32_t log = 63 - (uint32_t)__builtin_clzll(count);
        count += (UINT64_C(1) << (log - NVSI_TLSF_CLASS_BITS)) - 1;
    }
    uint32_t class = nvsi_tlsf_next_class(tlsf, nvsi_tlsf_class(count));
    return class == NONE ? NONE : tlsf->heads[class];
}

/* Looks at every free block that may be large enough; the last resort, so that what fits is found.
 */
static uint32_t find_any(const struct nvsi_tlsf *tlsf, uint64_t count, uint64_t step)
{
    uint32_t class = nvsi_tlsf_next_class(tlsf, nvsi_tlsf_class(count));
    while (class != NONE) {
        for (uint32_t b = tlsf->heads[class]; b != NONE; b = tlsf->blocks[b].next) {
            if (fits(tlsf, b, count, step))
                return b;
        }
        class = nvsi_tlsf_next_class(tlsf, class + 1);
    }
    return NONE;
}

/* From the tightest guess to the most expensive one. The first two also keep fragmentation low: a
 * program that frees and allocates the same size again gets the same place, whatever the alignment.
 */
static uint32_t find_free(const struct nvsi_tlsf *tlsf, uint64_t count, uint64_t step)
{
    uint32_t b = tlsf->heads[nvsi_tlsf_class(count)];
    if (b != NONE && fits(tlsf, b, count, step))
        return b;
    b = find_certain(tlsf, count);
    if (b != NONE && fits(tlsf, b, count, step))
        return b;
    b = find_certain(tlsf, count + step - 1);
    return b != NONE ? b : find_any(tlsf, count, step);
}

/* ---- the interface ---- */

struct nvsi_tlsf *nvsi_tlsf_create(uint64_t span)
{
    struct nvsi_tlsf *tlsf = calloc(1, sizeof(*tlsf));
    if (!tlsf)
        return NULL;
    for (uint32_t c = 0; c < NVSI_TLSF_LEVELS * NVSI_TLSF_CLASSES; c++)
        tlsf->heads[c] = NONE;
    tlsf->spare = NONE;
    tlsf->span = span / GRANULE;
    if (reserve_numbers(tlsf) != 0) {
        free(tlsf);
        return NULL;
    }
    if (tlsf->span) {
        uint32_t b = take_number(tlsf);
        tlsf->blocks[b] =
            (struct nvsi_tlsf_block){.count = tlsf->span, .below = NONE, .above = NONE};
        list_insert(tlsf, b);
    }
    return tlsf;
}

void nvsi_tlsf_destroy(struct nvsi_tlsf *tlsf)
{
    if (!tlsf)
        return;
    nvsi_offset_table_destroy(&tlsf->starts);
    free(tlsf->blocks);
    free(tlsf);
}

int nvsi_tlsf_reserve(struct nvsi_tlsf *tlsf, uint32_t *numbers)
{
    if (reserve_numbers(tlsf) != 0 || nvsi_offset_table_reserve(&tlsf->starts) != 0)
        return -1;
    *numbers = tlsf->capacity;
    return 0;
}

static void count_used(struct nvsi_tlsf *tlsf, uint64_t more, uint64_t less)
{
    tlsf->used += more - less;
    if (tlsf->used > tlsf->peak)
        tlsf->peak = tlsf->used;
}

int nvsi_tlsf_alloc(struct nvsi_tlsf *tlsf, uint64_t nbytes, uint64_t align, uint64_t *offset,
                    uint32_t *id)
{
    uint64_t count = granules(nbytes);
    uint64_t step = align > GRANULE ? align / GRANULE : 1;
    if (!align || (align & (align - 1)) || align > NVSI_TLSF_ALIGN_MAX || count > tlsf->span)
        return -1;
    uint32_t b = find_free(tlsf, count, step);
    if (b == NONE || reserve_numbers(tlsf) != 0 || nvsi_offset_table_reserve(&tlsf->starts) != 0)
        return -1;

    /* The neighbours of a free block are live, so what is cut off has nothing to join with. */
    list_remove(tlsf, b);
    uint64_t gap = gap_before(tlsf, b, step);
    if (gap) {
        uint32_t front = b;
        b = split(tlsf, front, gap);
        list_insert(tlsf, front);
    }
    if (tlsf->blocks[b].count > count)
        list_insert(tlsf, split(tlsf, b, count));

    struct nvsi_tlsf_block *block = &tlsf->blocks[b];
    block->state = NVSI_TLSF_LIVE;
    block->nbytes = nbytes;
    nvsi_offset_table_insert(&tlsf->starts, block->start, b);
    tlsf->nlive++;
    count_used(tlsf, count, 0);
    *offset = block->start * GRANULE;
    *id = b;
    return 0;
}

static const struct nvsi_tlsf_block *live_block(const struct nvsi_tlsf *tlsf, uint32_t id)
{
    assert(id < tlsf->nnumbers && tlsf->blocks[id].state == NVSI_TLSF_LIVE);
    return &tlsf->blocks[id];
}

void nvsi_tlsf_release(struct nvsi_tlsf *tlsf, uint32_t id)
{
    const struct nvsi_tlsf_block *block = live_block(tlsf, id);
    nvsi_offset_table_remove(&tlsf->starts, block->start);
    tlsf->nlive--;
    count_used(tlsf, 0, block->count);
    give_back(tlsf, id);
}

int nvsi_tlsf_resize(struct nvsi_tlsf *tlsf, uint32_t id, uint64_t nbytes)
{
    const uint64_t old_count = live_block(tlsf, id)->count;
    const uint64_t count = granules(nbytes);
    if (count > old_count) {
        uint32_t above = tlsf->blocks[id].above;
        if (!is_free(tlsf, above) || tlsf->blocks[above].count < count - old_count)
            return -1;
        list_remove(tlsf, above);
        join_above(tlsf, id);
    } else if (count < old_count && reserve_numbers(tlsf) != 0) {
        return -1;
    }
    if (tlsf->blocks[id].count > count)
        give_back(tlsf, split(tlsf, id, count));
    tlsf->blocks[id].nbytes = nbytes;
    count_used(tlsf, count, old_count);
    return 0;
}

int nvsi_tlsf_find(const struct nvsi_tlsf *tlsf, uint64_t offset, uint32_t *id)
{
    if (offset % GRANULE)
        return -1;
    uint32_t b = nvsi_offset_table_find(&tlsf->starts, offset / GRANULE);
    if (b == NVSI_OFFSET_NONE)
        return -1;
    *id = b;
    return 0;
}

int nvsi_tlsf_block(const struct nvsi_tlsf *tlsf, uint64_t offset, uint32_t *id)
{
    uint64_t granule = offset / GRANULE;
    for (uint32_t b = 0; b < tlsf->nnumbers; b++) {
        const struct nvsi_tlsf_block *block = &tlsf->blocks[b];
        if (block->state == NVSI_TLSF_LIVE && granule >= block->start &&
            granule - block->start < block->count) {
            *id = b;
            return 0;
        }
    }
    return -1;
}

uint64_t nvsi_tlsf_size(const struct nvsi_tlsf *tlsf, uint32_t id)
{
    return live_block(tlsf, id)->nbytes;
}

uint64_t nvsi_tlsf_offset(const struct nvsi_tlsf *tlsf, uint32_t id)
{
    return live_block(tlsf, id)->start * GRANULE;
}

uint64_t nvsi_tlsf_used(const struct nvsi_tlsf *tlsf)
{
    return tlsf->used * GRANULE;
}

void nvsi_tlsf_each_live(const struct nvsi_tlsf *tlsf,
                         void (*visit)(uint64_t offset, uint32_t id, void *arg), void *arg)
{
    for (uint32_t b = tlsf->span ? 0 : NONE; b != NONE; b = tlsf->blocks[b].above)
        if (tlsf->blocks[b].state == NVSI_TLSF_LIVE)
            visit(tlsf->blocks[b].start * GRANULE, b, arg);
}

void nvsi_tlsf_each_free(const struct nvsi_tlsf *tlsf,
                         void (*visit)(uint64_t offset, uint64_t nbytes, void *arg), void *arg)
{
    for (uint32_t b = tlsf->span ? 0 : NONE; b != NONE; b = tlsf->blocks[b].above)
        if (is_free(tlsf, b))
            visit(tlsf->blocks[b].start * GRANULE, tlsf->blocks[b].count * GRANULE, arg);
}

void nvsi_tlsf_get_stats(const struct nvsi_tlsf *tlsf, struct nvsi_tlsf_stats *stats)
{
    uint64_t largest = 0;
    if (tlsf->levels) {
        uint32_t level = 63 - (uint32_t)__builtin_clzll(tlsf->levels);
        uint32_t within = 31 - (uint32_t)__builtin_clz(tlsf->classes[level]);
        uint32_t b = tlsf->heads[level * NVSI_TLSF_CLASSES + within];
        for (; b != NONE; b = tlsf->blocks[b].next) {
            if (tlsf->blocks[b].count > largest)
                largest = tlsf->blocks[b].count;
        }
    }
    *stats = (struct nvsi_tlsf_stats){
        .span = tlsf->span * GRANULE,
        .used = tlsf->used * GRANULE,
        .peak = tlsf->peak * GRANULE,
        .largest_free = largest * GRANULE,
        .nblocks = tlsf->nlive,
    };
}
