/*
 * buckets.cu - gradients are added up over the PEs while backward still computes others.
 *
 * Backward finishes the last layer first. The flat array of gradients is cut at layers into buckets
 * of BUCKET_BYTES or more; the embedding's, which is used at both ends, comes last. When the work
 * that completes a bucket has been put into `compute`, an event is recorded there, `comm` waits for
 * it, and the all-reduce goes into `comm`: so it runs beside the rest of the backward pass. The
 * update waits for the last one. All PEs have the same layers, hence the same buckets in the same
 * order, which is what makes their calls match.
 */
#include "trainer.h"

static const size_t BUCKET_BYTES = 1 << 20; /* far beyond what an all-reduce costs anyway */

static void bucket_add(struct gpu_trainer *t, int layer, size_t first, size_t end)
{
    struct bucket *b = &t->buckets[t->nbuckets++];
    *b = {};
    b->layer = layer;
    b->offset = first;
    b->nelems = end - first;
    b->elements = t->sent ? (void *)(t->sent + first) : (void *)(t->grads + first);
}

/* In the order in which they are completed. */
static void buckets_cut(struct gpu_trainer *t)
{
    const struct gpt *g = t->settings.gpt;
    size_t each = t->sent ? sizeof(bfloat16) : sizeof(float), end = g->nparams;
    int layers = g->config.layers;
    bucket_add(t, layers, 0, TAIL_NELEMS); /* the loss is known before backward begins */
    t->buckets[0].tail = true;
    t->buckets[0].elements = t->tail;
    for (int l = layers - 1; l >= 0; l--) {
        size_t first = gpt_offset(g, l, 0);
        if (l > 0 && (end - first) * each < BUCKET_BYTES)
            continue;
        bucket_add(t, l, first, end);
        end = first;
    }
    bucket_add(t, -1, 0, end);
}

int buckets_create(struct gpu_trainer *t)
{
    buckets_cut(t);
    for (int i = 0; i < t->nbuckets; i++) {
        struct bucket *b = &t->buckets[i];
        if (gpu_attempt(cudaEventCreateWithFlags(&b->ready, cudaEventDisableTiming),
                        "make an event") ||
            gpu_attempt(cudaEventCreate(&b->began), "make an event") ||
            gpu_attempt(cudaEventCreate(&b->ended), "make an event"))
            return -1;
    }
    return gpu_attempt(cudaEventCreate(&t->computed), "make an event") ||
                   gpu_attempt(cudaEventCreate(&t->joined), "make an event")
               ? -1
               : 0;
}

void buckets_destroy(struct gpu_trainer *t)
{
    for (int i = 0; i < t->nbuckets; i++) {
        struct bucket *b = &t->buckets[i];
        cudaEvent_t events[] = {b->ready, b->began, b->ended};
        for (cudaEvent_t event : events)
            if (event)
                cudaEventDestroy(event);
    }
    if (t->computed)
        cudaEventDestroy(t->computed);
    if (t->joined)
        cudaEventDestroy(t->joined);
}

/* Notes a time that the host reads after the step. In a graph only external events can be read. */
static int time_note(struct gpu_trainer *t, cudaEvent_t event, cudaStream_t stream)
{
    unsigned flags = t->capturing ? cudaEventRecordExternal : cudaEventRecordDefault;
    return gpu_attempt(cudaEventRecordWithFlags(event, stream, flags), "record an event");
}

static int bucket_start(struct gpu_trainer *t, struct bucket *b)
{
    bool in_bfloat16 = t->sent && !b->tail;
    if (gpu_attempt(cudaEventRecord(b->ready, t->compute), "record an event") ||
        gpu_attempt(cudaStreamWaitEvent(t->comm, b->ready, 0), "make a stream wait") ||
        time_note(t, b->began, t->comm))
        return -1;
    if (in_bfloat16)
        convert(t->sent + b->offset, t->grads + b->offset, (long)b->nelems, t->comm);
    t->settings.all_reduce(b->elements, b->nelems, in_bfloat16, t->comm);
    if (in_bfloat16)
        convert(t->grads + b->offset, t->sent + b->offset, (long)b->nelems, t->comm);
    return time_note(t, b->ended, t->comm);
}

void buckets_start(void *arg, int layer)
{
    struct gpu_trainer *t = (struct gpu_trainer *)arg;
    for (int i = 0; i < t->nbuckets; i++)
        if (t->buckets[i].layer == layer && !t->failed)
            t->failed = bucket_start(t, &t->buckets[i]) != 0;
}

int buckets_join(struct gpu_trainer *t)
{
    struct bucket *last = &t->buckets[t->nbuckets - 1];
    if (time_note(t, t->computed, t->compute) ||
        gpu_attempt(cudaEventRecord(last->ready, t->comm), "record an event") ||
        gpu_attempt(cudaStreamWaitEvent(t->compute, last->ready, 0), "make a stream wait"))
        return -1;
    return time_note(t, t->joined, t->compute);
}

static int seconds_between(cudaEvent_t first, cudaEvent_t second, double *sum)
{
    float milliseconds;
    if (gpu_attempt(cudaEventElapsedTime(&milliseconds, first, second), "read a time"))
        return -1;
    *sum += milliseconds > 0 ? 1e-3 * (double)milliseconds : 0;
    return 0;
}

int buckets_time(struct gpu_trainer *t, struct gpu_result *result)
{
    result->comm_seconds = result->exposed_seconds = 0;
    for (int i = 0; i < t->nbuckets; i++)
        if (seconds_between(t->buckets[i].began, t->buckets[i].ended, &result->comm_seconds))
            return -1;
    return seconds_between(t->computed, t->joined, &result->exposed_seconds);
}
