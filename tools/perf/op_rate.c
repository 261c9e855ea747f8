/*
 * op_rate.c - how many small puts leave a PE in a second, from several threads.
 *
 * Every thread has its own share of the copies and sends through a context, by default one of its
 * own; with fewer contexts than threads they share. Threads are made before the clock starts. The
 * time is from the first start to the last end, so a thread that runs alone at either end counts.
 */
#include "perf.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    shmem_ctx_t context[MAX_THREADS];
    long count;
} made;

struct worker {
    struct call *call;
    pthread_barrier_t *start_line;
    pthread_t thread;
    shmem_ctx_t context;
    size_t first, copies, n; /* its share of the copies; its messages */
    double start, end;
};

static void contexts_make(long count)
{
    for (; made.count < count; made.count++)
        if (shmem_ctx_create(0, &made.context[made.count])) {
            fprintf(stderr, "nvs-perf: PE %d: --contexts %ld: only %ld could be made: %s\n",
                    shmem_my_pe(), count, made.count, nvs_last_error());
            shmem_global_exit(2);
        }
}

static void *send_all(void *argument)
{
    struct worker *worker = argument;
    struct call *call = worker->call;
    struct rotor at = rotor_at(call, worker->first);
    at.left = at.copies = worker->copies;
    pthread_barrier_wait(worker->start_line);
    worker->start = now();
    for (size_t n = worker->n; n; n--, rotor_next(&at))
        shmem_ctx_putmem_nbi(worker->context, at.dst, at.src, call->nbytes, call->route.to);
    shmem_ctx_quiet(worker->context);
    worker->end = now();
    return NULL;
}

/* The calling thread is worker 0. */
static void start_all(struct worker *workers, long threads)
{
    for (long i = 1; i < threads; i++) {
        int error = pthread_create(&workers[i].thread, NULL, send_all, &workers[i]);
        if (error) {
            fprintf(stderr, "nvs-perf: PE %d: --threads %ld: thread %ld: %s\n", shmem_my_pe(),
                    threads, i, strerror(error));
            shmem_global_exit(2);
        }
    }
    send_all(&workers[0]);
    for (long i = 1; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
}

static double rate_seconds(struct call *call, size_t n)
{
    static struct worker workers[MAX_THREADS];
    const struct options *options = call->options;
    long threads = options->threads;
    long contexts = options->contexts == CONTEXTS_AUTO ? threads : options->contexts;
    pthread_barrier_t start_line;
    if (call->route.to < 0)
        return 0;
    contexts_make(contexts);
    pthread_barrier_init(&start_line, NULL, (unsigned)threads);
    size_t share = call->copies / (size_t)threads;
    for (long i = 0; i < threads; i++)
        workers[i] =
            (struct worker){.call = call,
                            .start_line = &start_line,
                            .context = contexts ? made.context[i % contexts] : SHMEM_CTX_DEFAULT,
                            .first = (size_t)i * share,
                            .copies = share,
                            .n = n};
    start_all(workers, threads);
    pthread_barrier_destroy(&start_line);
    double start = workers[0].start, end = workers[0].end;
    for (long i = 1; i < threads; i++) {
        start = workers[i].start < start ? workers[i].start : start;
        end = workers[i].end > end ? workers[i].end : end;
    }
    return end - start;
}

static void rate_run(struct call *call, size_t first, size_t n)
{
    (void)first;
    rate_seconds(call, n);
}

/* One message for each copy of each thread, all of them at once. */
static size_t rate_wrong(struct call *call, uint64_t round)
{
    struct data data = {.type = call->type, .redop = REDOP_NONE, .seed = round, .npes = call->npes};
    size_t share = call->copies / (size_t)call->options->threads, wrong = 0;
    size_t used = share * (size_t)call->options->threads;
    for (size_t copy = 0; copy < used; copy++)
        copy_fill(call, copy, &data);
    shmem_barrier_all();
    rate_seconds(call, share);
    shmem_barrier_all();
    for (size_t copy = 0; copy < used; copy++)
        wrong += copy_wrong(call, copy, &data);
    return wrong;
}

static struct origin from_sender(const struct call *call, int block)
{
    (void)block;
    return (struct origin){.pe = call->route.from};
}

const struct op ops_rate[] = {
    {.name = "rate",
     .help = "how many puts leave in a second, from --threads threads over --contexts contexts",
     .group = "message rate",
     .src_shape = SHAPE_ONE,
     .dst_shape = SHAPE_ONE,
     .sized = true,
     .routed = true,
     .threaded = true,
     .default_type = NVS_FLOAT32,
     .run = rate_run,
     .seconds = rate_seconds,
     .origin = from_sender,
     .wrong = rate_wrong},
    {.name = NULL},
};
