/*
 * reach.c - whose memory this PE's GPU reaches, and how.
 *
 * Each process numbers GPUs in its own way, and may not see all of them, so they are compared by
 * their unique numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/open.h"

static bool same_gpu(const struct nvsi_hello *a, const struct nvsi_hello *b)
{
    return memcmp(&a->uuid, &b->uuid, sizeof a->uuid) == 0;
}

/* A GPU as this process numbers them, or -1: CUDA_VISIBLE_DEVICES hides it. */
static int ordinal_of(const CUuuid *uuid)
{
    int count = 0;
    (void)cu.cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        CUdevice device;
        CUuuid found;
        if (!cu.cuDeviceGet(&device, i) && !cu.cuDeviceGetUuid(&found, device) &&
            memcmp(&found, uuid, sizeof found) == 0)
            return i;
    }
    return -1;
}

static const char *find_reach(const struct nvsi_hello *all, int pe)
{
    int can = 0, ordinal = nvsi_gpu.ordinals[pe];
    CUdevice peer = 0;
    nvsi_gpu.reach[pe] = NVSI_GPU_DIRECT;
    if (same_gpu(&all[pe], &all[nvsi.me]))
        return NULL;
    nvsi_gpu.reach[pe] = ordinal < 0 ? NVSI_GPU_HIDDEN : NVSI_GPU_STAGED;
    if (!nvsi.config.gpu_p2p)
        return "NVS_GPU_P2P=no";
    /* A hidden GPU cannot be asked about, but CUDA reaches it all the same where the hardware does;
     * mapping its memory will tell. */
    if (ordinal >= 0 && !cu.cuDeviceGet(&peer, ordinal) &&
        (cu.cuDeviceCanAccessPeer(&can, nvsi_gpu.device, peer) || !can))
        return "the driver finds no way for loads and stores between them";
    nvsi_gpu.reach[pe] = NVSI_GPU_DIRECT;
    return NULL;
}

/* Loads and stores get there, but atomics over some buses are no atomics there. The lower one of
 * two says so. */
static void warn_atomics(int pe)
{
    int atomic = 1, ordinal = nvsi_gpu.ordinals[pe];
    CUdevice peer;
    if (pe <= nvsi.me || nvsi_gpu.reach[pe] != NVSI_GPU_DIRECT || ordinal < 0 ||
        ordinal == nvsi_gpu.ordinal || cu.cuDeviceGet(&peer, ordinal) ||
        cu.cuDeviceGetP2PAttribute(&atomic, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                   nvsi_gpu.device, peer) ||
        atomic)
        return;
    nvsi_log(NVSI_LOG_WARN,
             "the connection of the GPUs of PE %d and PE %d has no atomics: atomics and signals "
             "that add, on each other's GPU memory, may lose updates",
             nvsi.me, pe);
}

/* Peers on other GPUs that are reached by copies: the driver needs their context for that. */
static int retain_peer(const char *fn, int pe)
{
    CUcontext context;
    CUdevice device;
    CUresult result = cu.cuDeviceGet(&device, nvsi_gpu.ordinals[pe]);
    if (!result)
        result = cu.cuDevicePrimaryCtxRetain(&context, device);
    return result ? nvsi_cuda_error(fn, result, "open the GPU of PE %d", pe) : 0;
}

int nvsi_gpu_look_around(const char *fn, const struct nvsi_hello *all,
                         struct nvsi_unreachable *unreachable)
{
    int status = 0;
    nvsi_gpu.reach = calloc((size_t)nvsi.npes, sizeof *nvsi_gpu.reach);
    nvsi_gpu.ordinals = calloc((size_t)nvsi.npes, sizeof *nvsi_gpu.ordinals);
    if (!nvsi_gpu.reach || !nvsi_gpu.ordinals)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for %d PEs", fn, nvsi.npes);
    nvsi_gpu.sharers = 1;
    nvsi_gpu.all_reachable = true;
    for (int pe = 0; !status && pe < nvsi.npes; pe++) {
        nvsi_gpu.ordinals[pe] = ordinal_of(&all[pe].uuid);
        nvsi_gpu.sharers += pe != nvsi.me && same_gpu(&all[pe], &all[nvsi.me]);
        const char *why = find_reach(all, pe);
        if (why && unreachable->pe < 0) {
            unreachable->pe = pe;
            unreachable->why = why;
        }
        nvsi_gpu.all_reachable &= nvsi_gpu.reach[pe] == NVSI_GPU_DIRECT;
        if (nvsi_gpu.reach[pe] == NVSI_GPU_STAGED)
            status = retain_peer(fn, pe);
        warn_atomics(pe);
    }
    long limit = nvsi.config.sm_limit ? nvsi.config.sm_limit : nvsi_gpu.sm_count;
    long share = nvsi_gpu.sm_count / nvsi_gpu.sharers;
    limit = limit < share ? limit : share;
    nvsi_gpu.sm_limit = limit > 1 ? (int)limit : 1;
    return status;
}

void nvsi_gpu_warn_unreachable(const struct nvsi_hello *all,
                               const struct nvsi_unreachable *unreachable)
{
    int pe = unreachable->pe;
    const struct nvsi_hello *mine = &all[nvsi.me], *other = &all[pe];
    bool staged = nvsi_gpu.reach[pe] == NVSI_GPU_STAGED;
    nvsi_log(
        NVSI_LOG_WARN,
        "the GPUs of PE %d (%04x:%02x:%02x) and PE %d (%04x:%02x:%02x) do not reach each other's "
        "memory: %s. %s",
        nvsi.me, (unsigned)mine->pci_domain, (unsigned)mine->pci_bus, (unsigned)mine->pci_device,
        pe, (unsigned)other->pci_domain, (unsigned)other->pci_bus, (unsigned)other->pci_device,
        unreachable->why,
        staged ? "Puts, gets and collectives go through host memory instead; atomics, signals that "
                 "add and operations in kernels are refused"
               : "CUDA_VISIBLE_DEVICES hides one from the other, so that only collectives are "
                 "possible, through host memory");
}

int nvsi_gpu_put_reach(const char *fn)
{
    size_t nwords = ((size_t)nvsi.npes + 31) / 32;
    CUdeviceptr at = 0;
    if (nvsi_gpu.all_reachable)
        return 0; /* no table: kernels need not look */
    uint32_t *bits = calloc(nwords, sizeof *bits);
    if (!bits)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for %d PEs", fn, nvsi.npes);
    for (int pe = 0; pe < nvsi.npes; pe++)
        if (nvsi_gpu.reach[pe] == NVSI_GPU_DIRECT)
            bits[pe / 32] |= UINT32_C(1) << (pe % 32);
    CUresult result = cu.cuMemAlloc(&at, nwords * sizeof *bits);
    if (!result) {
        nvsi_gpu.state.reach = (const uint32_t *)(uintptr_t)at;
        result = cu.cuMemcpyHtoD(at, bits, nwords * sizeof *bits);
    }
    free(bits);
    return result ? nvsi_cuda_error(fn, result, "store a table on the GPU") : 0;
}

void nvsi_gpu_release_peers(void)
{
    CUdevice device;
    for (int pe = 0; nvsi_gpu.reach && pe < nvsi.npes; pe++)
        if (nvsi_gpu.reach[pe] == NVSI_GPU_STAGED &&
            !cu.cuDeviceGet(&device, nvsi_gpu.ordinals[pe]))
            (void)cu.cuDevicePrimaryCtxRelease(device);
}
