/*
 * life.c - init and finalize: counted, mixed between the three APIs, again and again; what is kept
 * over them and what is not.
 */
#include "spmd.h"

#include <nvs.h>
#include <nvshmem.h>
#include <nvshmemx.h>

static int static_word;

static void use(int *heap_word, int value)
{
    int right = (shmem_my_pe() + 1) % shmem_n_pes();
    int left = (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
    shmem_barrier_all();
    shmem_int_p(&static_word, value + shmem_my_pe(), right);
    nvshmem_int_p(heap_word, value + 10 + shmem_my_pe(), right);
    shmem_barrier_all();
    CHECK(static_word == value + left, "%d", static_word);
    CHECK(*heap_word == value + 10 + left, "%d", *heap_word);
    shmem_barrier_all();
}

/* Three APIs, one job: numbers, memory and teams are the same; the last finalize ends it. */
static void test_mixed(void)
{
    nvshmem_init();
    shmem_init();
    CHECK(nvs_init() == 0, "nvs_init");
    shmem_init();
    CHECK(shmem_my_pe() == nvshmem_my_pe(), "%d %d", shmem_my_pe(), nvshmem_my_pe());
    CHECK(shmem_n_pes() == nvshmem_n_pes(), "%d %d", shmem_n_pes(), nvshmem_n_pes());
    int *a = shmem_malloc(sizeof *a), *b = nvshmem_malloc(sizeof *b), *c = nvs_malloc(sizeof *c);
    use(a, 100);
    shmem_finalize();
    use(b, 200);
    nvs_finalize();
    use(c, 300);
    nvshmem_free(a);
    nvs_free(b);
    shmem_free(c);
    nvshmem_finalize();
    int *d = nvshmem_malloc(sizeof *d);
    use(d, 400);
    nvshmem_finalize();
}

/* Start again after the end; also with teams and contexts that nobody destroyed. */
static void test_again(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        shmem_init();
        CHECK(shmem_my_pe() == spmd_me, "PE %d is now %d", spmd_me, shmem_my_pe());
        CHECK(shmem_n_pes() == spmd_npes, "%d PEs are now %d", spmd_npes, shmem_n_pes());
        CHECK(static_word == (round ? round - 1 : static_word), "round %d: static data is %d",
              round, static_word);
        int *word = shmem_calloc(1, sizeof *word);
        CHECK(word && *word == 0, "%d", word ? *word : -1);
        use(word, 1000 + round);
        shmem_team_t team, kept;
        shmem_ctx_t ctx;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, spmd_npes, NULL, 0, &kept) == 0,
              "split");
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1 + spmd_npes / 2, NULL, 0, &team) ==
                  0,
              "split");
        for (int i = 0; i < round % 3; i++)
            CHECK(shmem_team_sync(kept) == 0, "team_sync");
        CHECK(shmem_ctx_create(0, &ctx) == 0, "ctx_create");
        shmem_long_p((long *)(void *)shmem_malloc(sizeof(long)), 1, 0);
        if (round % 2)
            shmem_team_destroy(team);
        static_word = round;
        shmem_finalize();
    }
}

static void test_outside(const char *when)
{
    CHECK(shmem_my_pe() == -1 && nvshmem_n_pes() == -1, "%s: PE %d of %d", when, shmem_my_pe(),
          nvshmem_n_pes());
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: my_pe", when);
    CHECK(!shmem_malloc(8), "%s: malloc", when);
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: malloc", when);
    CHECK(strstr(nvs_last_error(), when), "'%s' does not say '%s'", nvs_last_error(), when);
    CHECK(strstr(nvs_last_error(), "shmem_malloc"), "'%s'", nvs_last_error());
    shmem_int_p(&static_word, 1, 0);
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: p", when);
    CHECK(strstr(nvs_last_error(), when), "'%s' does not say '%s'", nvs_last_error(), when);
    (void)shmem_int_atomic_fetch_inc(&static_word, 0);
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: atomic", when);
    shmem_barrier_all();
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: barrier", when);
    shmem_quiet();
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: quiet", when);
    shmem_int_wait_until(&static_word, SHMEM_CMP_EQ, static_word + 1);
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: wait_until", when);
    shmem_team_t team;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team) != 0, "%s: split",
          when);
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: split", when);
    shmem_finalize();
    CHECK(nvshmemx_error_check() == NVS_ERR_STATE, "%s: finalize", when);
    CHECK(shmem_ptr(&static_word, 0) == NULL, "%s: ptr", when);
    int major = 0, minor = 0; /* these need no init */
    char name[SHMEM_MAX_NAME_LEN];
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    CHECK(major == 1 && minor == 5 && name[0], "%d.%d '%s'", major, minor, name);
    nvshmemx_error_check();
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    test_outside("before");
    shmem_init();
    spmd_me = shmem_my_pe();
    spmd_npes = shmem_n_pes();
    shmem_finalize();
    test_outside("after");
    for (int i = 0; i < 3; i++)
        test_mixed();
    test_again(8);
    test_outside("after");
    return spmd_result();
}
