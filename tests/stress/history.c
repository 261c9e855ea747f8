/*
 * history.c - remembers the latest operations, so that a difference comes with what was done there.
 */
#include "model.h"

enum { LENGTH = 8192, MOST_PRINTED = 8 };

static struct op history[LENGTH];
static uint64_t total;

static const char *const kind_names[NUM_KINDS] = {
#define X(name) #name,
    KINDS(X)
#undef X
};

void history_add(const struct op *op)
{
    history[total++ % LENGTH] = *op;
}

static const char *detail(const struct op *op)
{
    if (op->kind == OP_ATOMIC)
        return atomic_names[op->fn];
    return op->kind == OP_COLLECTIVE ? together_name(op) : "";
}

static int add_part(char *text, size_t size, const char *name, const struct part *part)
{
    if (!part->id)
        return 0;
    return snprintf(text, size, ", %s: object %llu bytes %zu to %zu", name,
                    (unsigned long long)part->id, part->at, part->at + part->nbytes);
}

void op_describe(const struct op *op, char *text, size_t size)
{
    size_t used = (size_t)snprintf(
        text, size,
        "epoch %llu #%d: %s %s by PE %d on PE %d (%s, context %d, team %d): %zu elements of %zu "
        "bytes, strides %zu %zu",
        (unsigned long long)op->epoch, op->number, kind_names[op->kind], detail(op), op->actor,
        op->target, op->nvshmem ? "nvshmem" : "shmem", op->ctx, op->team, op->nelems,
        op->elem_bytes, op->dst_stride, op->src_stride);
    used += (size_t)add_part(text + used, size - used, "dst", &op->dst);
    add_part(text + used, size - used, "src", &op->src);
}

static bool covers(const struct part *part, uint64_t id, size_t at)
{
    return part->id == id && at >= part->at && at < part->at + part->nbytes;
}

void history_print(uint64_t id, size_t at)
{
    int printed = 0;
    char text[512];
    fprintf(stderr, "PE %d: the latest operations on that byte, on whatever PE, newest first:\n",
            world.me);
    for (uint64_t i = total; i-- > 0 && total - i <= LENGTH && printed < MOST_PRINTED;) {
        const struct op *op = &history[i % LENGTH];
        if (!covers(&op->dst, id, at) && !covers(&op->src, id, at))
            continue;
        op_describe(op, text, sizeof text);
        fprintf(stderr, "PE %d:   %s\n", world.me, text);
        printed++;
    }
    if (!printed)
        fprintf(stderr, "PE %d:   none of the last %d\n", world.me, LENGTH);
}
