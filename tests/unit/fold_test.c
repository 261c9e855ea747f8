/*
 * fold_test.c - every type, operator and instruction set against a naive scalar fold.
 *
 * Outputs must match bit for bit, except for which NaN a NaN is. Counts, numbers of sources and
 * outputs, which outputs are in place, and addresses (element-aligned, between guard bytes) are
 * random. Usage: fold_test [seed].
 */
#include "fold_buffers.h"
#include "fold_reference.h"

enum { MAX_SRC = 9, MAX_DST = 9, LARGE = 20000 };

struct trial {
    struct nvsi_fold fold;
    struct buffer src_buffers[MAX_SRC], dst_buffers[MAX_DST];
    const void *src[MAX_SRC];
    void *dst[MAX_DST];
    int in_place[MAX_DST]; /* the source that dst is, or -1 */
    char *expected;
};

static void trial_open(struct trial *trial, int dtype, int op, size_t nelems)
{
    size_t nbytes = nelems * nvsi_dtype_size(dtype);
    int free_src[MAX_SRC], nfree;

    trial->fold = (struct nvsi_fold){
        .dst = trial->dst,
        .src = trial->src,
        .nelems = nelems,
        .dtype = dtype,
        .op = op,
        .nsrc = 1 + (int)random_below(MAX_SRC),
        .ndst = 1 + (int)random_below(MAX_DST),
        .divisor = 1 + (int)random_below(random_below(2) ? 9 : 1000),
        .stream = (int)random_below(2),
    };
    nfree = trial->fold.nsrc;
    for (int s = 0; s < trial->fold.nsrc; s++) {
        buffer_open(&trial->src_buffers[s], nbytes, dtype);
        fill(trial->src_buffers[s].data, nelems, dtype);
        trial->src[s] = trial->src_buffers[s].data;
        free_src[s] = s;
    }
    for (int d = 0; d < trial->fold.ndst; d++) {
        trial->in_place[d] = -1;
        if (nfree > 0 && random_below(3) == 0) { /* each source is at most one output */
            int pick = (int)random_below((size_t)nfree);
            trial->in_place[d] = free_src[pick];
            free_src[pick] = free_src[--nfree];
            trial->dst[d] = trial->src_buffers[trial->in_place[d]].data;
        } else {
            buffer_open(&trial->dst_buffers[d], nbytes, dtype);
            trial->dst[d] = trial->dst_buffers[d].data;
        }
    }
    trial->expected = malloc(nbytes + 1);
    for (size_t i = 0; i < nelems; i++)
        references[dtype](trial->expected + i * nvsi_dtype_size(dtype), &trial->fold, i);
}

static void trial_fail(const struct trial *trial, const char *what, int index, size_t i)
{
    const struct nvsi_fold *fold = &trial->fold;
    if (failures++ < 20)
        fprintf(stderr,
                "FAIL %s %s %s: %s %d at element %zu of %zu (nsrc %d, ndst %d, stream %d)\n",
                nvsi_fold_isa(), nvsi_dtype_name(fold->dtype), nvsi_op_name(fold->op), what, index,
                i, fold->nelems, fold->nsrc, fold->ndst, fold->stream);
}

static void trial_check(const struct trial *trial, char *const src_copies[])
{
    const struct nvsi_fold *fold = &trial->fold;
    size_t size = nvsi_dtype_size(fold->dtype);
    int written[MAX_SRC] = {0};

    for (int d = 0; d < fold->ndst; d++) {
        const char *got = trial->dst[d];
        for (size_t i = 0; i < fold->nelems; i++)
            if (!element_equal(got + i * size, trial->expected + i * size, fold->dtype, fold->op)) {
                trial_fail(trial, "wrong result in dst", d, i);
                break;
            }
        if (trial->in_place[d] >= 0)
            written[trial->in_place[d]] = 1;
        else if (!buffer_guarded(&trial->dst_buffers[d]))
            trial_fail(trial, "wrote outside of dst", d, 0);
    }
    for (int s = 0; s < fold->nsrc; s++) {
        if (!buffer_guarded(&trial->src_buffers[s]))
            trial_fail(trial, "wrote outside of src", s, 0);
        if (!written[s] && memcmp(trial->src[s], src_copies[s], fold->nelems * size) != 0)
            trial_fail(trial, "changed src", s, 0);
    }
}

static void trial_run(int dtype, int op, size_t nelems)
{
    struct trial trial;
    char *src_copies[MAX_SRC];
    size_t nbytes = nelems * nvsi_dtype_size(dtype);

    trial_open(&trial, dtype, op, nelems);
    for (int s = 0; s < trial.fold.nsrc; s++) {
        src_copies[s] = malloc(nbytes + 1);
        memcpy(src_copies[s], trial.src[s], nbytes);
    }
    nvsi_fold(&trial.fold);
    trial_check(&trial, src_copies);
    for (int s = 0; s < trial.fold.nsrc; s++) {
        free(src_copies[s]);
        free(trial.src_buffers[s].base);
    }
    for (int d = 0; d < trial.fold.ndst; d++)
        if (trial.in_place[d] < 0)
            free(trial.dst_buffers[d].base);
    free(trial.expected);
}

static void test_isa(const char *isa, int rounds)
{
    int pairs = 0;
    for (int dtype = 0; dtype < NVSI_NUM_DTYPES; dtype++)
        for (int op = 0; op < NVSI_NUM_OPS; op++) {
            if (!nvsi_op_defined(dtype, op))
                continue;
            pairs++;
            for (int round = 0; round < rounds; round++)
                trial_run(dtype, op, random_below(round % 2 ? 301 : 40));
            trial_run(dtype, op, 1000 + random_below(LARGE));
        }
    printf("%s: %d pairs of type and operator\n", isa, pairs);
}

int main(int argc, char **argv)
{
    static const char *const isas[] = {"generic", "neon", "avx2", "avx512"};
    random_begin(argc, argv);
    nvsi_fold_setup();
    printf("best: %s\n", nvsi_fold_isa());
    for (size_t k = 0; k < sizeof(isas) / sizeof(isas[0]); k++) {
        if (nvsi_fold_select(isas[k]) != 0)
            printf("%s: not on this machine, not tested\n", isas[k]);
        else
            test_isa(isas[k], 60);
    }
    printf(failures ? "%d failures\n" : "ok\n", failures);
    return failures != 0;
}
