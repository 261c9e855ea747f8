/*
 * ops.c - all operations, in the order of --help; finding one by its name.
 */
#include "perf.h"

#include <string.h>

static const struct op *const groups[] = {ops_p2p, ops_atomic, ops_sync, ops_coll, ops_rate};

const struct op *op_at(size_t index)
{
    for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++)
        for (const struct op *op = groups[group]; op->name; op++)
            if (index-- == 0)
                return op;
    return NULL;
}

const char *op_name(size_t index)
{
    return op_at(index) ? op_at(index)->name : NULL;
}

/* allreduce and all-reduce are all_reduce, too. */
const struct op *op_find(const char *name)
{
    for (size_t i = 0; op_at(i); i++)
        if (word_distance(op_at(i)->name, name) == 0)
            return op_at(i);
    return NULL;
}

bool op_takes(const struct op *op, const struct dtype *type)
{
    return !op->types || op->types >> type->code & 1;
}
