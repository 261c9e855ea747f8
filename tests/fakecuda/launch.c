/*
 * launch.c - grids: blocks on threads of the pool, as many at once as the device has room for.
 *
 * A block that is not resident has not begun, so a grid whose blocks wait for each other must fit,
 * as on a GPU. Blocks begin in their order. A cooperative grid begins when there is room for all of
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct launch {
    const struct emu_kernel *kernel;
    struct emu_dim grid, block;
    unsigned shared_bytes;
    int device;
    bool cooperative;
    _Alignas(64) char args[];
};

struct grid {
    const struct launch *launch;
    unsigned left;
};

struct one {
    struct grid *grid;
    struct emu_dim index;
};

/* As aligned as any kernel's arguments may be. */
static struct launch *launch_of(struct fake_op *op)
{
    return (void *)(((uintptr_t)op->payload + 63) / 64 * 64);
}

static unsigned threads_of(const struct launch *launch)
{
    return launch->block.x * launch->block.y * launch->block.z;
}

static unsigned warps_full(unsigned threads)
{
    return (threads + 31) / 32 * 32;
}

/* ---- room ------------------------------------------------------------------------------------ */

static bool fits_locked(const struct launch *launch, unsigned nblocks)
{
    const struct fake_device *device = &fake.devices[launch->device];
    unsigned sms = (unsigned)fake.sms;
    return device->blocks + nblocks <= FAKE_BLOCKS_PER_SM * sms &&
           device->threads + nblocks * warps_full(threads_of(launch)) <= FAKE_THREADS_PER_SM * sms;
}

static void take_room(const struct launch *launch, unsigned nblocks)
{
    pthread_mutex_lock(&fake.lock);
    while (!fits_locked(launch, nblocks))
        pthread_cond_wait(&fake.done, &fake.lock);
    fake.devices[launch->device].blocks += nblocks;
    fake.devices[launch->device].threads += nblocks * warps_full(threads_of(launch));
    pthread_mutex_unlock(&fake.lock);
}

/* ---- running --------------------------------------------------------------------------------- */

static void run_one(void *arg)
{
    struct one *one = arg;
    const struct launch *launch = one->grid->launch;
    struct emu_block block = {
        .block_idx = one->index, .block_dim = launch->block, .grid_dim = launch->grid};
    emu_run_block(launch->kernel, launch->args, &block, launch->shared_bytes);
    pthread_mutex_lock(&fake.lock);
    fake.devices[launch->device].blocks--;
    fake.devices[launch->device].threads -= warps_full(threads_of(launch));
    one->grid->left--;
    pthread_cond_broadcast(&fake.done);
    pthread_mutex_unlock(&fake.lock);
    free(one);
}

static void start_block(struct grid *grid, unsigned i)
{
    struct emu_dim dim = grid->launch->grid;
    struct one *one = malloc(sizeof *one);
    if (!one)
        abort();
    *one = (struct one){grid, {i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y}};
    fake_pool_run(run_one, one);
}

static void run_grid(struct fake_op *op)
{
    const struct launch *launch = launch_of(op);
    unsigned nblocks = launch->grid.x * launch->grid.y * launch->grid.z;
    struct grid grid = {launch, nblocks};
    if (launch->cooperative)
        take_room(launch, nblocks);
    for (unsigned i = 0; i < nblocks; i++) {
        if (!launch->cooperative)
            take_room(launch, 1);
        start_block(&grid, i);
    }
    pthread_mutex_lock(&fake.lock);
    while (grid.left)
        pthread_cond_wait(&fake.done, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

/* ---- launching ------------------------------------------------------------------------------- */

static bool good_shape(struct emu_dim grid, struct emu_dim block, unsigned shared_bytes)
{
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    return grid.x && grid.y && grid.z && grid.x <= INT32_MAX && grid.y <= 65535 &&
           grid.z <= 65535 && threads && threads <= FAKE_THREADS_PER_BLOCK && block.z <= 64 &&
           shared_bytes <= FAKE_SHARED_BYTES;
}

static CUresult launch(struct CUctx_st *context, CUfunction function, const struct launch *plan,
                       CUstream stream, void **params)
{
    const struct emu_kernel *kernel = (const void *)function;
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!params || !params[0] || !good_shape(plan->grid, plan->block, plan->shared_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_op *op =
        fake_op_new(run_grid, NULL, sizeof(struct launch) + 64 + kernel->args_bytes);
    struct launch *copy = launch_of(op);
    memcpy(copy, plan, sizeof *plan);
    copy->kernel = kernel;
    copy->device = context->device;
    memcpy(copy->args, params[0], kernel->args_bytes);
    return fake_submit(context, stream, op, NULL);
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                        void **params, void **extra)
{
    ENTER_CONTEXT(context);
    struct launch plan = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared_bytes = shared_bytes};
    return extra ? CUDA_ERROR_NOT_SUPPORTED : launch(context, function, &plan, stream, params);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
                                   CUstream stream, void **params)
{
    ENTER_CONTEXT(context);
    struct launch plan = {.grid = {gx, gy, gz},
                          .block = {bx, by, bz},
                          .shared_bytes = shared_bytes,
                          .cooperative = true};
    int per_sm;
    CUresult result = cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &per_sm, function, (int)threads_of(&plan), shared_bytes);
    if (!result && (uint64_t)gx * gy * gz > (uint64_t)per_sm * (unsigned)fake.sms)
        result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return result ? result : launch(context, function, &plan, stream, params);
}

/* The number of registers is all that anybody asks for: to have the function loaded. */
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    ENTER();
    if (!value || !function || attribute != CU_FUNC_ATTRIBUTE_NUM_REGS)
        return CUDA_ERROR_INVALID_VALUE;
    *value = 32;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *nblocks, CUfunction function,
                                                     int block_size, size_t shared_bytes)
{
    ENTER();
    if (!nblocks || !function || block_size <= 0 || block_size > FAKE_THREADS_PER_BLOCK ||
        shared_bytes > FAKE_SHARED_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    int by_threads = FAKE_THREADS_PER_SM / (int)warps_full((unsigned)block_size);
    *nblocks = by_threads < FAKE_BLOCKS_PER_SM ? by_threads : FAKE_BLOCKS_PER_SM;
    return CUDA_SUCCESS;
}
