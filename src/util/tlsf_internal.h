/*
 * tlsf_internal.h - the metadata of the allocator, shared by tlsf.c, which works on it, and
 * tlsf_check.c, which proves it sound.
 *
 * All sizes and positions here are in granules. The range is cut into blocks without gaps, linked
 * in the order of their offsets; block number 0 is always the lowest, because a split leaves its
 * number to the lower part and a join keeps the lower part's number. No two neighbours are both
 * free.
 *
 * Free blocks hang on lists by size class. Below 32 granules each count is a class of its own; from
 * there on each power of two (a level) is cut into 32 classes, so classes are 3 % wide. A bit per
 * class and a bit per level find the first class that has a block by two bit scans.
 */
#ifndef NVSI_UTIL_TLSF_INTERNAL_H
#define NVSI_UTIL_TLSF_INTERNAL_H

#include "offset_table.h"
#include "tlsf.h"

#define NVSI_TLSF_CLASS_BITS 5u
#define NVSI_TLSF_CLASSES (1u << NVSI_TLSF_CLASS_BITS) /* per level */
#define NVSI_TLSF_LEVELS 55u                           /* 2^64 bytes are 2^58 granules */
#define NVSI_TLSF_NONE UINT32_MAX                      /* no block, or no class */

enum nvsi_tlsf_state { NVSI_TLSF_SPARE, NVSI_TLSF_FREE, NVSI_TLSF_LIVE };

struct nvsi_tlsf_block {
    uint64_t start;
    uint64_t count;
    uint64_t nbytes;       /* LIVE: the size that was asked for, in bytes */
    uint32_t below, above; /* the neighbours by offset, or NONE */
    uint32_t prev, next;   /* FREE: the list of its class; SPARE: next spare number */
    enum nvsi_tlsf_state state;
};

struct nvsi_tlsf {
    uint64_t span, used, peak;
    uint32_t nlive;

    struct nvsi_tlsf_block *blocks;  /* by number */
    uint32_t capacity;               /* entries allocated */
    uint32_t nnumbers;               /* numbers given out so far; the rest were never used */
    uint32_t spare, nspare;          /* numbers to give out again, last one first */
    struct nvsi_offset_table starts; /* start of each live block -> its number */

    uint64_t levels;                    /* bit l: classes[l] is not zero */
    uint32_t classes[NVSI_TLSF_LEVELS]; /* bit c: the list of that class is not empty */
    uint32_t heads[NVSI_TLSF_LEVELS * NVSI_TLSF_CLASSES];
};

/* The class of a free block, counted through all levels: level = class / 32. */
static inline uint32_t nvsi_tlsf_class(uint64_t count)
{
    if (count < NVSI_TLSF_CLASSES)
        return (uint32_t)count;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(count);
    uint32_t level = log - NVSI_TLSF_CLASS_BITS + 1;
    uint32_t within = (uint32_t)(count >> (log - NVSI_TLSF_CLASS_BITS)) & (NVSI_TLSF_CLASSES - 1);
    return level * NVSI_TLSF_CLASSES + within;
}

/* The first class, at or after this one, that has a free block; or NONE. */
static inline uint32_t nvsi_tlsf_next_class(const struct nvsi_tlsf *tlsf, uint32_t class)
{
    uint32_t level = class / NVSI_TLSF_CLASSES;
    uint32_t found = tlsf->classes[level] & (UINT32_MAX << class % NVSI_TLSF_CLASSES);
    if (!found) {
        uint64_t higher = tlsf->levels & (UINT64_MAX << (level + 1));
        if (!higher)
            return NVSI_TLSF_NONE;
        level = (uint32_t)__builtin_ctzll(higher);
        found = tlsf->classes[level];
    }
    return level * NVSI_TLSF_CLASSES + (uint32_t)__builtin_ctz(found);
}

#endif
