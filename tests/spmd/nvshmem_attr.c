/*
 * nvshmem_attr.c - NVSHMEM's constants, sizes and initialisers, and starting with attributes as
 * real callers do it: structures that nobody initialised, and only set_attr_uniqueid_args called.
 */
#include <nvs.h>
#include <nvshmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(nvshmemx_init_attr_t) == 144 && sizeof(nvshmemx_uniqueid_t) == 128, "sizes");
_Static_assert(sizeof(nvshmemx_init_args_t) == 128 && sizeof(nvshmemx_uniqueid_args_t) == 24, "");
_Static_assert(sizeof(nvshmem_team_config_t) == 64 && sizeof(nvshmem_team_t) == 4, "sizes");
_Static_assert(NVSHMEM_CMP_GT == 2 && NVSHMEM_CMP_LE == 3 && NVSHMEM_SIGNAL_SET == 9, "values");
_Static_assert(NVSHMEMX_TEAM_NODE == 2 && NVSHMEMX_TEAM_SAME_MYNODE_INDEX == 3, "values");
_Static_assert(NVSHMEMX_INIT_WITH_MPI_COMM == 2 && NVSHMEMX_INIT_WITH_UNIQUEID == 8, "values");

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, nvs_last_error());         \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static int env_int(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

/* Everything that must be refused before the job starts. */
static void refusals(int me, int npes)
{
    nvshmemx_init_attr_t attr;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    CHECK(nvshmemx_init_attr(1 << 7, &attr) == NVS_ERR_INVALID);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, NULL) == NVS_ERR_INVALID);
    CHECK(nvshmemx_set_attr_uniqueid_args(npes, npes, &id, &attr) == NVS_ERR_INVALID);
    CHECK(nvshmemx_set_attr_uniqueid_args(0, 1, NULL, &attr) == NVS_ERR_INVALID);
    CHECK(nvshmemx_set_attr_uniqueid_args(me, npes + 1, &id, &attr) == 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) < 0);
    CHECK(strstr(nvs_last_error(), "nvsrun"));
    CHECK(nvshmemx_set_attr_mpi_comm_args(NULL, &attr) == NVS_ERR_INVALID);
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
    while (nvshmemx_error_check())
        ;
}

/* p and g of half types, and their reduction. */
static void halves(void)
{
    static const uint16_t one = 0x3c00, two = 0x4000, bfloat_one = 0x3f80;
    nvshmem_half *half = nvshmem_calloc(2, sizeof *half);
    nvshmem_bfloat16 *bfloat = nvshmem_calloc(1, sizeof *bfloat);
    int me = nvshmem_my_pe(), npes = nvshmem_n_pes(), to = (me + 1) % npes;
    nvshmem_half_p(half, one, to);
    nvshmem_bfloat16_p(bfloat, bfloat_one, to);
    nvshmem_quiet();
    CHECK(nvshmem_half_g(half, to) == one && nvshmem_bfloat16_g(bfloat, to) == bfloat_one);
    nvshmem_barrier_all();
    CHECK(nvshmem_half_sum_reduce(NVSHMEM_TEAM_WORLD, half + 1, half, 1) == 0);
    CHECK(npes != 2 || half[1] == two);
    nvshmem_free(half);
    nvshmem_free(bfloat);
}

/* A team of all PEs in reverse order, and one of this PE alone. */
static void team_by_uniqueid(int me, int npes)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team;
    uint64_t *shared = nvshmem_calloc(1, sizeof *shared);
    CHECK(nvshmemx_team_init(&team, &config, 0, npes, me) == NVS_ERR_INVALID);
    CHECK(nvshmemx_team_get_uniqueid(&config.uniqueid) == 0);
    if (me == 0)
        *shared = config.uniqueid;
    CHECK(nvshmem_uint64_broadcast(NVSHMEM_TEAM_WORLD, shared, shared, 1, 0) == 0);
    config.uniqueid = *shared;
    long mask = NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID;
    CHECK(nvshmemx_team_init(&team, &config, mask, npes, npes - 1 - me) == 0);
    CHECK(nvshmem_team_my_pe(team) == npes - 1 - me && nvshmem_team_n_pes(team) == npes);
    CHECK(nvshmem_team_translate_pe(team, 0, NVSHMEM_TEAM_WORLD) == npes - 1);
    nvshmem_team_destroy(team);
    CHECK(nvshmemx_team_init(&team, &config, mask, 1, 0) == 0 && nvshmem_team_n_pes(team) == 1);
    nvshmem_team_destroy(team);
    nvshmem_free(shared);
}

int main(void)
{
    int me = env_int("NVS_JOB_PE", 0), npes = env_int("NVS_JOB_NPES", 1);
    refusals(me, npes);

    nvshmemx_init_attr_t attr;
    nvshmemx_uniqueid_t id;
    memset(&attr, 0xa5, sizeof attr);
    memset(&id, 0xa5, sizeof id);
    CHECK(nvshmemx_get_uniqueid(&id) == 0);
    CHECK(nvshmemx_set_attr_uniqueid_args(me, npes, &id, &attr) == 0);
    attr.version = attr.args.version = -1; /* nobody reads these */
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) == 0);
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
    CHECK(nvshmem_my_pe() == me && nvshmem_n_pes() == npes);

    char buffer[8];
    CHECK(nvshmemx_buffer_register(buffer, sizeof buffer) == 0);
    CHECK(nvshmemx_buffer_register(NULL, 1) == NVS_ERR_INVALID);
    CHECK(nvshmemx_buffer_register(buffer + 4, 2) == NVS_ERR_INVALID); /* overlaps */
    CHECK(nvshmemx_buffer_unregister(buffer + 4) == NVS_ERR_INVALID);
    CHECK(nvshmemx_buffer_unregister(buffer) == 0);
    CHECK(nvshmemx_buffer_unregister(buffer) == NVS_ERR_INVALID);
    CHECK(nvshmemx_buffer_register(buffer, sizeof buffer) == 0);
    nvshmemx_buffer_unregister_all();
    CHECK(!nvshmemx_buffer_register_symmetric(buffer, sizeof buffer, 0));
    CHECK(nvshmemx_error_check() == NVS_ERR_INVALID);
    halves();
    team_by_uniqueid(me, npes);
    nvshmem_barrier_all();
    nvshmem_finalize();
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
    return failures != 0;
}
