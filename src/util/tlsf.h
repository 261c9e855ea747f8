/*
 * tlsf.h - a deterministic allocator over a range of offsets (two-level segregated fit).
 *
 * Why: every PE runs a replica of the allocator of the symmetric heap. Replicas that see the same
 * history of calls give the same offsets and block numbers, so that a symmetric allocation needs no
 * message that carries an address. The range itself is never touched: all metadata lives in
 * ordinary memory, where no stray remote store can reach it, and where the pages of the heap are
 * first touched by their users.
 *
 * Cost: O(1) for every call but those marked below. An allocation that is about to fail looks
 * through the free blocks that might still fit, so a range can be filled to the last byte.
 *
 * A block holds whole granules of 64 bytes, so that two blocks never share a cache line; the size
 * that was asked for is kept exactly. A block of size zero is a block like any other: it has an
 * offset of its own. Not thread safe: the caller serialises, as the common history demands anyway.
 */
#ifndef NVSI_UTIL_TLSF_H
#define NVSI_UTIL_TLSF_H

#include <stdint.h>

#define NVSI_TLSF_GRANULE 64u
#define NVSI_TLSF_ALIGN_MAX (UINT64_C(1) << 30)

struct nvsi_tlsf;

struct nvsi_tlsf_stats {
    uint64_t span;         /* bytes managed: the span of create, rounded down to granules */
    uint64_t used;         /* bytes held by live blocks, in whole granules */
    uint64_t peak;         /* the largest `used` so far */
    uint64_t largest_free; /* bytes of the largest free block */
    uint32_t nblocks;      /* live blocks */
};

/* Manages offsets 0 to span - 1. NULL: no memory. */
struct nvsi_tlsf *nvsi_tlsf_create(uint64_t span);
void nvsi_tlsf_destroy(struct nvsi_tlsf *tlsf);

/* A block of at least nbytes at a multiple of align, a power of two up to NVSI_TLSF_ALIGN_MAX.
 * The block number is small (less than twice the most blocks that ever lived at once, plus two) and
 * is reused after release. 0, or -1 = does not fit, bad align or no memory for metadata, and
 * nothing has changed. The replica that was short of memory may be the only one that failed, so
 * callers must agree on the result. */
int nvsi_tlsf_alloc(struct nvsi_tlsf *tlsf, uint64_t nbytes, uint64_t align, uint64_t *offset,
                    uint32_t *id);

/* Memory for the metadata of one more alloc or resize, so that the next one of either, with any
 * number of releases before it, cannot fail for want of it. *numbers: all block numbers are below
 * it until then. 0, or -1 = no memory. Changes nothing by which replicas could differ. */
int nvsi_tlsf_reserve(struct nvsi_tlsf *tlsf, uint32_t *numbers);

/* Frees a live block and joins it with its free neighbours at once. Cannot fail. */
void nvsi_tlsf_release(struct nvsi_tlsf *tlsf, uint32_t id);

/* Grows or shrinks a live block where it is. 0, or -1 as for alloc. */
int nvsi_tlsf_resize(struct nvsi_tlsf *tlsf, uint32_t id, uint64_t nbytes);

/* The live block that starts at offset. 0, or -1 = there is none. */
int nvsi_tlsf_find(const struct nvsi_tlsf *tlsf, uint64_t offset, uint32_t *id);

/* The live block that contains offset, the unused end of its last granule included; a linear
 * search, meant for error messages. 0, or -1 = there is none. */
int nvsi_tlsf_block(const struct nvsi_tlsf *tlsf, uint64_t offset, uint32_t *id);

/* The size that was asked for, and the offset, of a live block. */
uint64_t nvsi_tlsf_size(const struct nvsi_tlsf *tlsf, uint32_t id);
uint64_t nvsi_tlsf_offset(const struct nvsi_tlsf *tlsf, uint32_t id);

/* Bytes held by live blocks, in whole granules. */
uint64_t nvsi_tlsf_used(const struct nvsi_tlsf *tlsf);

/* Calls visit for each live block, in the order of offsets. */
void nvsi_tlsf_each_live(const struct nvsi_tlsf *tlsf,
                         void (*visit)(uint64_t offset, uint32_t id, void *arg), void *arg);

/* The same for free blocks. */
void nvsi_tlsf_each_free(const struct nvsi_tlsf *tlsf,
                         void (*visit)(uint64_t offset, uint64_t nbytes, void *arg), void *arg);

/* Linear in the number of free blocks of the largest class. */
void nvsi_tlsf_get_stats(const struct nvsi_tlsf *tlsf, struct nvsi_tlsf_stats *stats);

/* Walks all metadata. NULL = sound, or a text that says what is not. For tests and debugging. */
const char *nvsi_tlsf_check(const struct nvsi_tlsf *tlsf);

#endif
