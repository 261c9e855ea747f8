/* floor_ops.h - what the hardware can do with two processes, as operations of bench.h. */
#ifndef FLOOR_OPS_H
#define FLOOR_OPS_H

#include "bench.h"

#include <stdint.h>

struct floor_line {
    _Alignas(128) uint64_t value;
};

/* The words that the two processes share. */
struct floor_words {
    struct floor_line flag[2], arrived[2], packed[2], counter;
    struct {
        _Alignas(128) double value;
    } time[2];
};

/* The same memory in both processes, though not at the same address: the words; two buffers of
 * MAX_BYTES of each process, x its inputs, y its outputs. */
struct floor_memory {
    struct floor_words *words;
    char *x[2], *y[2];
    char *own; /* MAX_BYTES of this process alone */
};

extern const struct operation floor_operations[];

void floor_open(const struct floor_memory *memory, int me);
void floor_barrier(void);
double floor_largest(double value);

#endif
