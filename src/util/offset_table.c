/*
 * offset_table.c - see offset_table.h.
 */
#include "offset_table.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_CAPACITY 64u

/* Offsets are multiples of large powers of two more often than not, so the low bits of a key say
 * little; the top bits of the product depend on all of them. */
static uint32_t home(const struct nvsi_offset_table *table, uint64_t key)
{
    return (uint32_t)((key * 0x9E3779B97F4A7C15u) >> (33 + __builtin_clz(table->capacity)));
}

/* The slot of the key, or the empty slot where it would go. */
static uint32_t probe(const struct nvsi_offset_table *table, uint64_t key)
{
    uint32_t slot = home(table, key);
    while (table->entries[slot].value != NVSI_OFFSET_NONE && table->entries[slot].key != key)
        slot = (slot + 1) & (table->capacity - 1);
    return slot;
}

void nvsi_offset_table_destroy(struct nvsi_offset_table *table)
{
    free(table->entries);
    *table = (struct nvsi_offset_table){0};
}

int nvsi_offset_table_reserve(struct nvsi_offset_table *table)
{
    if (table->count < table->capacity / 2)
        return 0;
    if (table->capacity > UINT32_MAX / 4)
        return -1;
    struct nvsi_offset_table larger = {
        .capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY,
    };
    larger.entries = malloc(larger.capacity * sizeof(*larger.entries));
    if (!larger.entries)
        return -1;
    for (uint32_t i = 0; i < larger.capacity; i++)
        larger.entries[i].value = NVSI_OFFSET_NONE;
    for (uint32_t i = 0; i < table->capacity; i++) {
        const struct nvsi_offset_entry *entry = &table->entries[i];
        if (entry->value != NVSI_OFFSET_NONE)
            nvsi_offset_table_insert(&larger, entry->key, entry->value);
    }
    free(table->entries);
    *table = larger;
    return 0;
}

void nvsi_offset_table_insert(struct nvsi_offset_table *table, uint64_t key, uint32_t value)
{
    assert(value != NVSI_OFFSET_NONE && table->count < table->capacity / 2);
    uint32_t slot = probe(table, key);
    assert(table->entries[slot].value == NVSI_OFFSET_NONE);
    table->entries[slot] = (struct nvsi_offset_entry){.key = key, .value = value};
    table->count++;
}

void nvsi_offset_table_remove(struct nvsi_offset_table *table, uint64_t key)
{
    const uint32_t mask = table->capacity - 1;
    uint32_t hole = probe(table, key);
    assert(table->entries[hole].value != NVSI_OFFSET_NONE);
    for (uint32_t slot = (hole + 1) & mask; table->entries[slot].value != NVSI_OFFSET_NONE;
         slot = (slot + 1) & mask) {
        /* An entry may move back into the hole unless the hole lies before its home slot. */
        uint32_t from_home = (slot - home(table, table->entries[slot].key)) & mask;
        uint32_t from_hole = (slot - hole) & mask;
        if (from_home < from_hole)
            continue;
        table->entries[hole] = table->entries[slot];
        hole = slot;
    }
    table->entries[hole].value = NVSI_OFFSET_NONE;
    table->count--;
}

uint32_t nvsi_offset_table_find(const struct nvsi_offset_table *table, uint64_t key)
{
    if (!table->capacity)
        return NVSI_OFFSET_NONE;
    return table->entries[probe(table, key)].value;
}
