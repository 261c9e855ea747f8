/*
 * state_test.cu - what kernels know of the job, from before init to after finalize: the constant of
 * this translation unit, the table of teams, and modules that were loaded at run time.
 */
#include "gputest.h"

#include <dlfcn.h>

#include "nvshmem.h"
#include "nvshmem/device/unit.h"
#include "nvshmemx.h"

struct args {
    struct nvsi_dev_state *state;
    struct nvsi_dev_team *teams; /* a copy of the table */
    int *pes;                    /* of team `handle` */
    int handle;
};

GT_KERNEL(look, struct args, args)
{
    if (threadIdx.x != 0)
        return;
    *args.state = nvsi_device;
    for (int i = 0; nvsi_device.teams && i < NVSI_DEV_CHANNELS; i++)
        args.teams[i] = nvsi_device.teams[i];
    const struct nvsi_dev_team *team =
        nvsi_device.teams ? &nvsi_device.teams[args.handle % NVSI_DEV_CHANNELS] : nullptr;
    for (int i = 0; team && team->id == args.handle && i < team->npes; i++)
        args.pes[i] = team->pes[i];
}

static struct args device, host;

static void make_room(void)
{
    const size_t teams = NVSI_DEV_CHANNELS * sizeof(struct nvsi_dev_team);
    device.state = (struct nvsi_dev_state *)gt_malloc(sizeof *device.state);
    device.teams = (struct nvsi_dev_team *)gt_malloc(teams);
    device.pes = (int *)gt_malloc(1024 * sizeof(int));
    host.state = (struct nvsi_dev_state *)malloc(sizeof *host.state);
    host.teams = (struct nvsi_dev_team *)malloc(teams);
    host.pes = (int *)malloc(1024 * sizeof(int));
}

static void see(int handle)
{
    device.handle = handle;
    GT_LAUNCH(look, 1, 32, NULL, device);
    gt_read(host.state, device.state, sizeof *host.state);
    gt_read(host.teams, device.teams, NVSI_DEV_CHANNELS * sizeof *host.teams);
    gt_read(host.pes, device.pes, 1024 * sizeof *host.pes);
}

static void expect_nothing(const char *when)
{
    see(0);
    GT_CHECK(host.state->version == 0 && host.state->npes == 0, "%s: version %u, %d PEs", when,
             host.state->version, host.state->npes);
}

static void expect_team(nvshmem_team_t team)
{
    see(team);
    const struct nvsi_dev_team *seen = &host.teams[team % NVSI_DEV_CHANNELS];
    int npes = nvshmem_team_n_pes(team);
    GT_CHECK(seen->id == team, "team %d is %d", team, seen->id);
    GT_CHECK(seen->npes == npes, "%d of %d PEs", seen->npes, npes);
    GT_CHECK(seen->team_pe == nvshmem_team_my_pe(team), "%d", seen->team_pe);
    for (int i = 0; i < npes; i++) {
        int pe = nvshmem_team_translate_pe(team, i, NVSHMEM_TEAM_WORLD);
        GT_CHECK(host.pes[i] == pe, "member %d is PE %d, not %d", i, host.pes[i], pe);
        if (seen->step)
            GT_CHECK(seen->start + i * seen->step == pe, "member %d, evenly spaced", i);
    }
    GT_CHECK((seen->channel == 0) == (seen->slot < 0), "channel %llx of slot %d",
             (unsigned long long)seen->channel, seen->slot);
}

static void test_session(void *object)
{
    see(0);
    const struct nvsi_dev_state *state = host.state;
    uint64_t address = (uint64_t)(uintptr_t)object;
    GT_CHECK(state->version == NVSI_DEV_VERSION, "version %u", state->version);
    GT_CHECK(state->me == nvshmem_my_pe() && state->npes == nvshmem_n_pes(), "PE %d of %d",
             state->me, state->npes);
    GT_CHECK(address - state->heap < state->heap_bytes, "%p is in the heap", object);
    GT_CHECK(state->page != NULL, "the page");
    expect_team(NVSHMEM_TEAM_WORLD);
    expect_team(NVSHMEMX_TEAM_NODE);
}

/* Teams that come and go, while a stream of this thread is being captured. */
static void test_teams(void)
{
    nvshmem_team_t reversed, own;
    int npes = nvshmem_n_pes(), me = nvshmem_my_pe();
    gt_stream stream = gt_stream_new();
    gt_capture(stream);
    GT_LAUNCH(look, 1, 32, stream, device);
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &reversed);
    nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, me, 1, 1, NULL, 0, &own);
    gt_graph graph = gt_captured(stream); /* not spoilt */
    gt_replay(graph, stream);
    gt_sync(stream);
    expect_team(reversed);
    GT_CHECK(host.teams[reversed % NVSI_DEV_CHANNELS].step == (npes > 1 ? -1 : 1), "step");
    if (own >= 0)
        expect_team(own);
    nvshmem_team_destroy(reversed);
    see(0);
    GT_CHECK(host.teams[reversed % NVSI_DEV_CHANNELS].id == -1, "team %d is still there", reversed);
    expect_team(NVSHMEM_TEAM_WORLD);
    gt_graph_free(graph);
    gt_stream_free(stream);
}

/* ---- units that their runtime does not know when they are announced -------------------------- */

static int late_asked;
static bool late_known;
static int late_address(void **device_ptr, void *shadow)
{
    late_asked++;
    if (!late_known)
        return 13; /* cudaErrorInvalidSymbol */
    *device_ptr = shadow;
    return 0;
}

static void expect_late(const struct nvsx_device_unit *unit, int npes, const char *when)
{
    gt_read(host.state, unit->shadow, sizeof *host.state);
    GT_CHECK(host.state->npes == npes, "%s: %d PEs", when, host.state->npes);
}

/* As -rdc has it: a unit's constructor comes before the runtime knows the unit, and nobody says
 * when it does. The next unit of the library is one chance, a host call the other. */
static void test_late(void)
{
    static struct nvsx_device_unit units[2];
    int npes = nvshmem_n_pes();
    memset(host.state, 0, sizeof *host.state);
    for (int i = 0; i < 2; i++) {
        units[i] = {NVSI_DEV_VERSION, gt_malloc(sizeof *host.state), late_address, nullptr};
        gt_copy(units[i].shadow, host.state, sizeof *host.state);
    }
    late_known = false;
    nvsx_device_register(&units[0]);
    nvshmem_quiet();
    expect_late(&units[0], 0, "not known yet");
    late_known = true;
    nvsx_device_register(&units[1]);
    expect_late(&units[1], npes, "known at once");
    expect_late(&units[0], npes, "when the next one came");
    nvsx_device_unregister(&units[0]);

    late_known = false;
    memset(host.state, 0, sizeof *host.state);
    gt_copy(units[0].shadow, host.state, sizeof *host.state);
    nvsx_device_register(&units[0]);
    late_known = true;
    nvshmem_quiet();
    expect_late(&units[0], npes, "after a host call");
    late_asked = 0;
    nvshmem_quiet();
    GT_CHECK(late_asked == 0, "asked %d times for what is known", late_asked);
    nvsx_device_unregister(&units[0]);

    late_known = false; /* for ever: the calls stop to ask */
    nvsx_device_register(&units[0]);
    for (int i = 0; i < 100; i++)
        nvshmem_quiet();
    GT_CHECK(late_asked > 1 && late_asked < 50, "asked %d times", late_asked);
    for (int i = 0; i < 2; i++) {
        nvsx_device_unregister(&units[i]);
        gt_free(units[i].shadow);
    }
}

#if defined(NVS_EMULATE_DEVICE)

/* Modules as a driver shows them. (Real ones are in examples/cuda, compiled by NVRTC.) */
static void test_modules(void)
{
    static struct nvsi_dev_state variable, other;
    /* static: they stay loaded, since finalize still knows the first one. */
    static CUmodule module, without;
    static CUlibrary old;
    module = fakecuda_module("nvsi_device", &variable, sizeof variable);
    without = fakecuda_module("something", &other, sizeof other);
    old = fakecuda_library("nvsi_device", &other, sizeof other - 8);
    GT_CHECK(nvshmemx_cumodule_init(module) == 0, "a good module");
    GT_CHECK(variable.npes == nvshmem_n_pes(), "%d PEs", variable.npes);
    GT_CHECK(nvshmemx_cumodule_init(module) == 0, "once more");
    GT_CHECK(nvshmemx_cumodule_finalize(module) == 0, "and back");
    GT_CHECK(nvshmemx_cumodule_finalize(module) < 0, "it has been taken back");
    GT_CHECK(nvshmemx_cumodule_init(NULL) < 0, "no module");
    GT_CHECK(nvshmemx_cumodule_init(without) < 0, "a module without device code of ours");
    GT_CHECK(nvshmemx_culibrary_init(old) < 0, "a library of another version");
    nvshmemx_error_check();
    GT_CHECK(nvshmemx_cumodule_init(module) == 0, "again, and left to finalize");
}

#define STATE_PART "STATE_PART"
#define STATE_PART_IS_LATE false

#else

static void test_modules(void) {}
#define STATE_PART "STATE_PART_CUDA"
#define STATE_PART_IS_LATE true

#endif

/* A library with device code knows the job as soon as it is open, also if that happens while this
 * thread captures a stream; and it can be closed. The one for a GPU was compiled with -rdc and is
 * late (CMakeLists.txt). */
static void test_part(void)
{
    gt_stream stream = gt_stream_new();
    gt_capture(stream);
    void *part = dlopen(getenv(STATE_PART), RTLD_NOW | RTLD_LOCAL);
    gt_graph graph = gt_captured(stream);
    GT_CHECK(part, "%s", dlerror());
    void (*see_part)(struct nvsi_dev_state *) =
        part ? (void (*)(struct nvsi_dev_state *))dlsym(part, "part_see") : nullptr;
    if (!see_part)
        return;
    if (STATE_PART_IS_LATE)
        nvshmem_quiet();
    see_part(device.state);
    gt_read(host.state, device.state, sizeof *host.state);
    GT_CHECK(host.state->npes == nvshmem_n_pes() && host.state->teams, "the part sees %d PEs",
             host.state->npes);
    dlclose(part);
    gt_graph_free(graph);
    gt_stream_free(stream);
}

int main(void)
{
    gt_need_gpu();
    setenv("NVS_ON_ERROR", "return", 1);
    nvshmem_init();
    gt_select(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gt_devices());
    make_room();
    expect_nothing("before stage two");
    void *object = nvshmem_malloc(100);
    GT_CHECK(object, "nvshmem_malloc");
    test_session(object);
    test_teams();
    test_modules();
    test_part();
    test_late();
    nvshmem_free(object);
    nvshmem_finalize();
    expect_nothing("after finalize");

    nvshmem_init(); /* a GPU is selected now */
    see(0);
    GT_CHECK(host.state->npes == nvshmem_n_pes() && host.state->me == nvshmem_my_pe(),
             "before stage two PE %d of %d", host.state->me, host.state->npes);
    object = nvshmem_malloc(5000);
    test_session(object);
    nvshmem_finalize();
    expect_nothing("after the second finalize");
    return gt_result();
}
