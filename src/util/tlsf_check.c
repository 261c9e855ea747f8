/*
 * tlsf_check.c - proves the metadata of the allocator sound: every invariant that tlsf_internal.h
 * states, checked from both sides (each block is where the lists say, each list holds what the
 * blocks say).
 */
#include "tlsf_internal.h"

#include <stddef.h>

#define NONE NVSI_TLSF_NONE

struct totals {
    uint64_t span, used;
    uint32_t nlive, nfree;
};

static const char *check_block(const struct nvsi_tlsf *tlsf, uint32_t b, struct totals *totals)
{
    const struct nvsi_tlsf_block *block = &tlsf->blocks[b];
    if (!block->count || block->start != totals->span)
        return "blocks leave a gap or overlap";
    totals->span += block->count;
    if (block->state == NVSI_TLSF_FREE) {
        totals->nfree++;
        if (block->above != NONE && tlsf->blocks[block->above].state == NVSI_TLSF_FREE)
            return "two free neighbours were not joined";
        return NULL;
    }
    if (block->state != NVSI_TLSF_LIVE)
        return "a spare number is linked as a block";
    totals->nlive++;
    totals->used += block->count;
    uint64_t needed = block->nbytes / NVSI_TLSF_GRANULE + (block->nbytes % NVSI_TLSF_GRANULE != 0);
    if (block->count != (needed ? needed : 1))
        return "a live block holds more or less than its size needs";
    if (nvsi_offset_table_find(&tlsf->starts, block->start) != b)
        return "a live block cannot be found by its offset";
    return NULL;
}

static const char *check_range(const struct nvsi_tlsf *tlsf, struct totals *totals)
{
    uint32_t below = NONE;
    for (uint32_t b = tlsf->span ? 0 : NONE; b != NONE; b = tlsf->blocks[b].above) {
        if (b >= tlsf->nnumbers || tlsf->blocks[b].below != below)
            return "the links between neighbours do not agree";
        const char *wrong = check_block(tlsf, b, totals);
        if (wrong)
            return wrong;
        below = b;
    }
    if (totals->span != tlsf->span)
        return "the blocks do not cover the range";
    if (totals->nlive != tlsf->nlive || totals->nlive != tlsf->starts.count)
        return "the number of live blocks is wrong";
    if (totals->used != tlsf->used || tlsf->used > tlsf->peak)
        return "the sum of live blocks is wrong";
    return NULL;
}

static const char *check_class(const struct nvsi_tlsf *tlsf, uint32_t class, uint32_t *nlisted)
{
    uint32_t level = class / NVSI_TLSF_CLASSES;
    int marked = tlsf->classes[level] >> class % NVSI_TLSF_CLASSES & 1;
    if (marked != (tlsf->heads[class] != NONE))
        return "the bit of a class is wrong";
    uint32_t prev = NONE;
    for (uint32_t b = tlsf->heads[class]; b != NONE; b = tlsf->blocks[b].next) {
        const struct nvsi_tlsf_block *block = &tlsf->blocks[b];
        if (block->state != NVSI_TLSF_FREE || nvsi_tlsf_class(block->count) != class)
            return "a block is on a list where it does not belong";
        if (block->prev != prev)
            return "the links of a list do not agree";
        prev = b;
        ++*nlisted;
    }
    return NULL;
}

static const char *check_lists(const struct nvsi_tlsf *tlsf, const struct totals *totals)
{
    uint32_t nlisted = 0;
    for (uint32_t level = 0; level < NVSI_TLSF_LEVELS; level++) {
        int marked = tlsf->levels >> level & 1;
        if (marked != (tlsf->classes[level] != 0))
            return "the bit of a level is wrong";
    }
    for (uint32_t class = 0; class < NVSI_TLSF_LEVELS * NVSI_TLSF_CLASSES; class ++) {
        const char *wrong = check_class(tlsf, class, &nlisted);
        if (wrong)
            return wrong;
    }
    return nlisted == totals->nfree ? NULL : "a free block is on no list";
}

const char *nvsi_tlsf_check(const struct nvsi_tlsf *tlsf)
{
    struct totals totals = {0};
    const char *wrong = check_range(tlsf, &totals);
    if (!wrong)
        wrong = check_lists(tlsf, &totals);
    if (!wrong && totals.nlive + totals.nfree + tlsf->nspare != tlsf->nnumbers)
        wrong = "a block number is lost";
    return wrong;
}
