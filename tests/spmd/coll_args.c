/*
 * coll_args.c - what nvs.h refuses: for each bad argument the status, and a sentence that names the
 * function, the argument's value and what is allowed. A refused call enters nothing: good calls
 * afterwards work, though PEs were refused unequally often.
 */
#include "coll.h"

enum { N = 8 };
static int32_t *dst, *src;

/* The latest error must have this status and contain these words; NULL: no more. */
static void refused(int line, int status, int wanted, const char *words[])
{
    CHECK(status == wanted, "line %d: status %d, not %d: %s", line, status, wanted,
          nvs_last_error());
    for (int i = 0; words[i]; i++)
        CHECK(strstr(nvs_last_error(), words[i]), "line %d: '%s' is not in '%s'", line, words[i],
              nvs_last_error());
    CHECK(strstr(nvs_strerror(wanted), "NVS_ERR_") == nvs_strerror(wanted), "%d: '%s'", wanted,
          nvs_strerror(wanted));
}

#define WORDS(...) ((const char *[]){__VA_ARGS__, NULL})
#define REFUSED(call, status, ...) refused(__LINE__, call, status, WORDS(__VA_ARGS__))
#define INVALID(call, ...) REFUSED(call, NVS_ERR_INVALID, __VA_ARGS__)

static int all_reduce(nvs_team_t team, void *to, const void *from, size_t nelems, int dtype, int op)
{
    return nvs_all_reduce(team, to, from, nelems, (enum nvs_dtype)dtype, (enum nvs_op)op, NULL);
}

static void teams_and_types(void)
{
    INVALID(all_reduce(-1, dst, src, N, NVS_INT32, NVS_SUM), "nvs_all_reduce", "team -1");
    INVALID(all_reduce(500, dst, src, N, NVS_INT32, NVS_SUM), "nvs_all_reduce", "team 500");
    INVALID(nvs_broadcast(1 << 30, dst, src, N, NVS_INT32, 0, NULL), "nvs_broadcast", "1073741824");
    INVALID(all_reduce(0, dst, src, N, 10, NVS_SUM), "data type 10", "0 to 9");
    INVALID(all_reduce(0, dst, src, N, -1, NVS_SUM), "data type -1", "0 to 9");
    INVALID(nvs_all_gather(0, dst, src, N, (enum nvs_dtype)99, NULL), "nvs_all_gather", "99");
    INVALID(nvs_all_to_all(0, dst, src, N, (enum nvs_dtype)99, NULL), "nvs_all_to_all", "99");
    INVALID(all_reduce(0, dst, src, N, NVS_INT32, 5), "operator 5", "0 to 4");
    INVALID(all_reduce(0, dst, src, N, NVS_INT32, -1), "operator -1", "0 to 4");
    INVALID(nvs_reduce_scatter(0, dst, src, N, NVS_INT32, (enum nvs_op)77, NULL),
            "nvs_reduce_scatter", "operator 77");
}

static void roots(void)
{
    char most[32], number[32];
    snprintf(most, sizeof most, "0 to %d", spmd_npes - 1);
    snprintf(number, sizeof number, "root %d", spmd_npes);
    INVALID(nvs_broadcast(0, dst, src, N, NVS_INT32, -1, NULL), "nvs_broadcast", "root -1", most);
    INVALID(nvs_broadcast(0, dst, src, N, NVS_INT32, spmd_npes, NULL), number, most);
}

static void addresses(void)
{
    const size_t huge = SIZE_MAX / 8, npes = (size_t)spmd_npes;
    INVALID(all_reduce(0, NULL, src, N, NVS_INT32, NVS_SUM), "dst", "NULL");
    INVALID(all_reduce(0, dst, NULL, N, NVS_INT32, NVS_SUM), "src", "NULL");
    INVALID(nvs_all_gather(0, NULL, src, N, NVS_INT32, NULL), "dst", "NULL");
    INVALID(nvs_all_to_all(0, dst, NULL, N, NVS_INT32, NULL), "src", "NULL");
    INVALID(nvs_broadcast(0, NULL, src, N, NVS_INT32, 0, NULL), "dst", "NULL");
    INVALID(nvs_broadcast(0, dst, NULL, N, NVS_INT32, spmd_me, NULL), "src", "NULL");
    INVALID(all_reduce(0, dst, src, SIZE_MAX, NVS_INT32, NVS_SUM), "elements", "memory");
    INVALID(nvs_all_gather(0, dst, src, huge, NVS_INT64, NULL), "elements", "memory");
    INVALID(nvs_all_to_all(0, dst, src, SIZE_MAX / 4 + 1, NVS_INT32, NULL), "elements", "memory");
    INVALID(nvs_reduce_scatter(0, dst, src, SIZE_MAX / 2 / npes + 1, NVS_INT8, NVS_SUM, NULL),
            "elements", "memory");
    INVALID(all_reduce(0, src + 1, src, N, NVS_INT32, NVS_SUM), "nvs_all_reduce", "overlap");
    INVALID(all_reduce(0, src, src + N - 1, N, NVS_INT32, NVS_SUM), "overlap");
    if (spmd_me == spmd_npes - 1 && spmd_npes > 1)
        INVALID(nvs_all_gather(0, dst, dst + 1, N, NVS_INT32, NULL), "overlap");
}

static void options(void)
{
    struct nvs_call small = {.size = 1}, large = {.size = 4096};
    INVALID(nvs_all_reduce(0, dst, src, N, NVS_INT32, NVS_SUM, &small), "size", "1");
    INVALID(nvs_all_reduce(0, dst, src, N, NVS_INT32, NVS_SUM, &large), "size", "4096");
    INVALID(nvs_all_reduce(0, NULL, src, N, NVS_INT32, NVS_SUM, NVS_CALL(.label = "grad/layer0")),
            "nvs_all_reduce", "grad/layer0");
}

static void good_calls(void)
{
    for (int i = 0; i < N; i++)
        src[i] = i;
    CHECK(nvs_all_reduce(0, dst, src, N, NVS_INT32, NVS_SUM, NVS_CALL(.label = "good")) == 0, "%s",
          nvs_last_error());
    CHECK(dst[N - 1] == (N - 1) * spmd_npes, "sum is %d", dst[N - 1]);
    /* Nothing to do is allowed with any address. */
    CHECK(all_reduce(0, NULL, NULL, 0, NVS_INT32, NVS_SUM) == 0, "%s", nvs_last_error());
    CHECK(nvs_broadcast(0, dst, spmd_me ? NULL : src, N, NVS_INT32, 0, NULL) == 0, "%s",
          nvs_last_error());
    CHECK(dst[2] == 2, "broadcast gives %d", dst[2]);
}

static void outside(const char *when)
{
    REFUSED(all_reduce(0, dst, src, N, NVS_INT32, NVS_SUM), NVS_ERR_STATE, "nvs_all_reduce", when);
    REFUSED(nvs_broadcast(0, dst, src, N, NVS_INT32, 0, NULL), NVS_ERR_STATE, "nvs_broadcast",
            when);
    REFUSED(nvs_finalize(), NVS_ERR_STATE, when);
    REFUSED(nvs_my_pe(), NVS_ERR_STATE, "nvs_my_pe", when);
    REFUSED(nvs_n_pes(), NVS_ERR_STATE, "nvs_n_pes", when);
    CHECK(nvs_malloc(8) == NULL && strstr(nvs_last_error(), when), "%s", nvs_last_error());
}

int main(int argc, char **argv)
{
    int32_t nothing[N];
    dst = src = nothing;
    outside("before");
    spmd_begin(argc, argv);
    dst = nvs_malloc(N * sizeof *dst * (size_t)spmd_npes);
    src = nvs_malloc(N * sizeof *src * (size_t)spmd_npes);
    /* Unequally often, so that a refused call that did enter would be a mismatch below. */
    for (int i = 0; i <= spmd_me % 3; i++) {
        teams_and_types();
        roots();
        addresses();
        options();
    }
    good_calls();
    nvs_free(dst);
    INVALID(nvs_free(dst), "nvs_free");
    nvs_free(src);
    shmem_finalize();
    outside("after");
    return spmd_result();
}
