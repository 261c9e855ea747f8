/*
 * offset_table.h - a hash table from offsets to block numbers: how the allocator recognises the
 * pointer it is given.
 *
 * The allocator keeps its metadata outside of the range that it hands out, so a block has no header
 * in front of it that would name it. Open addressing with linear probing, at most half full;
 * removal moves later entries back, so that there are no tombstones and a table never degrades with
 * age.
 */
#ifndef NVSI_UTIL_OFFSET_TABLE_H
#define NVSI_UTIL_OFFSET_TABLE_H

#include <stdint.h>

#define NVSI_OFFSET_NONE UINT32_MAX /* not a value that can be stored */

struct nvsi_offset_entry {
    uint64_t key;
    uint32_t value; /* NVSI_OFFSET_NONE = empty slot */
};

/* All zero is an empty table. */
struct nvsi_offset_table {
    struct nvsi_offset_entry *entries;
    uint32_t capacity; /* a power of two, or 0 */
    uint32_t count;
};

void nvsi_offset_table_destroy(struct nvsi_offset_table *table);

/* Makes room for one more entry. 0, or -1 = no memory and nothing changed. */
int nvsi_offset_table_reserve(struct nvsi_offset_table *table);

/* The key must be absent and room must have been reserved, so this cannot fail. */
void nvsi_offset_table_insert(struct nvsi_offset_table *table, uint64_t key, uint32_t value);

/* The key must be present. */
void nvsi_offset_table_remove(struct nvsi_offset_table *table, uint64_t key);

/* The value of the key, or NVSI_OFFSET_NONE. */
uint32_t nvsi_offset_table_find(const struct nvsi_offset_table *table, uint64_t key);

#endif
