/*
 * push.h - one-shot collectives: everybody stores its data into everybody's channel, as cells that
 * say themselves when they have arrived (nvshmem/device/proto.h), and takes what it got.
 *
 * Launch shape: as many threads as a block has vectors of 16 bytes, in blocks of up to
 * NVSK_THREADS; more vectors than threads are taken in turns. PEs need not agree on the number of
 * blocks. Each thread stores all that it has to store before it waits for anything, so that all of
 * it is under way at once, and cost is one trip over the wire plus the bytes.
 *
 * Deadlock: a cell waits for a thread of another PE that waits for nothing before it has stored,
 * but for the marks of the round after a rooted one, which are the first thing that a kernel
 * stores. So it is enough that each block gets to run at some time; blocks that wait give way to
 * nobody, which is why the host launches no more of them than are resident at once.
 *
 * Memory order: proto.h, cells and turns. A round is a kernel.
 */
#ifndef NVSI_GPU_KERNELS_PUSH_H
#define NVSI_GPU_KERNELS_PUSH_H

#include "kernel.h"

struct nvsk_push {
    const struct nvsk_push_args &args;
    struct nvsi_channel_stream *own;
    uint64_t round, buffer_bytes;
};

/* The cells, in the channel at `channel`, for what `from` sends to `to`, and their bytes. */
NVSD_FN uint64_t nvsk_cells(const struct nvsk_push &push, uint64_t channel, int from, int to)
{
    uint64_t buffer = channel + NVSI_CHANNEL_CELLS;
    if (nvsd_turn_buffer(push.round))
        buffer += push.buffer_bytes;
    return buffer + (uint64_t)(from < to ? from : from - 1) * push.args.capacity;
}

NVSD_FN uint64_t nvsk_sides(const struct nvsk_push &push, uint64_t channel, int from, int to)
{
    uint64_t senders = (uint64_t)push.args.team.npes - 1;
    uint64_t buffer = channel + NVSI_CHANNEL_CELLS + senders * push.args.capacity;
    if (nvsd_turn_buffer(push.round))
        buffer += push.buffer_bytes;
    return buffer + (uint64_t)(from < to ? from : from - 1) * (push.args.capacity / 16);
}

/* This PE's block for member i. */
NVSD_FN uint64_t nvsk_block_for(const struct nvsk_push_args &args, int i)
{
    return args.src + (uint64_t)i * args.src_step;
}

/* Sends the vectors of the block for members [first, last) that this thread has. */
NVSD_FN void nvsk_push_to(const struct nvsk_push &push, int first, int last, unsigned unit)
{
    const struct nvsk_push_args &args = push.args;
    const struct nvsk_team &team = args.team;
    for (uint64_t at = (uint64_t)nvsk_thread() * 16; at < args.nbytes;
         at += (uint64_t)nvsk_threads() * 16) {
        unsigned byte;
        struct nvsd_vec4 sealed = nvsd_cell_seal(
            nvsk_load(nvsk_block_for(args, first) + at, args.nbytes - at, unit), &byte);
        for (int i = first; i < last; i++) {
            if (i == team.team_pe)
                continue;
            uint64_t channel = team.channel + nvsk_away(team, i);
            nvsd_cell_store(
                nvsk_at<struct nvsd_vec4>(nvsk_cells(push, channel, team.team_pe, i) + at),
                nvsk_at<uint8_t>(nvsk_sides(push, channel, team.team_pe, i) + at / 16), sealed,
                byte);
        }
    }
}

NVSD_FN void nvsk_push_all(const struct nvsk_push &push)
{
    const struct nvsk_push_args &args = push.args;
    unsigned unit = nvsk_unit(args.src | args.src_step);
    if (args.src_step == 0) {
        nvsk_push_to(push, 0, args.team.npes, unit);
        return;
    }
    /* Each PE begins behind itself, so that not all send to one. */
    for (int n = 1; n < args.team.npes; n++) {
        int i = args.team.team_pe + n;
        i -= i < args.team.npes ? 0 : args.team.npes;
        nvsk_push_to(push, i, i + 1, unit);
    }
}

/* In the round after a rooted one: waits until all members that this PE sends to have begun that.
 * Every block does, for itself. */
NVSD_FN bool nvsk_push_wait_begun(const struct nvsk_push &push)
{
    const struct nvsk_team &team = push.args.team;
    bool fine = true;
    for (int i = (int)threadIdx.x; i < team.npes; i += (int)blockDim.x)
        if (i != team.team_pe)
            fine &= nvsk_await_mark(team, &push.own->begun[i], push.round - 1, i);
    return __syncthreads_and(fine);
}

NVSD_FN void nvsk_push_tell_begun(const struct nvsk_push &push)
{
    const struct nvsk_team &team = push.args.team;
    if (blockIdx.x != 0)
        return;
    for (int i = (int)threadIdx.x; i < team.npes; i += (int)blockDim.x)
        if (i != team.team_pe)
            nvsd_turn_begin_rooted(&nvsk_channel(team, i)->begun[team.team_pe], push.round);
}

/* One cell of what member `from` has sent, if it has come; else false. */
NVSD_FN bool nvsk_push_take(const struct nvsk_push &push, int from, uint64_t at,
                            struct nvsd_vec4 arrived, struct nvsd_vec4 *data)
{
    int me = push.args.team.team_pe;
    uint64_t channel = push.args.team.channel;
    return nvsd_cell_take(nvsk_at<struct nvsd_vec4>(nvsk_cells(push, channel, from, me) + at),
                          nvsk_at<uint8_t>(nvsk_sides(push, channel, from, me) + at / 16), arrived,
                          data);
}

NVSD_FN struct nvsd_vec4 nvsk_push_peek(const struct nvsk_push &push, int from, uint64_t at)
{
    return nvsd_ld_relaxed128(nvsk_at<const struct nvsd_vec4>(
        nvsk_cells(push, push.args.team.channel, from, push.args.team.team_pe) + at));
}

/* A round of waiting for a cell of member `from`. False: the team is broken now. */
NVSD_FN bool nvsk_push_wait(const struct nvsk_push &push, struct nvsk_wait *wait, int from,
                            uint64_t at)
{
    const struct nvsk_team &team = push.args.team;
    uint64_t cell = nvsk_cells(push, team.channel, from, team.team_pe) + at;
    if (nvsk_round(wait, team.page, nvsk_awaited(team, from, NVSI_DEV_WAIT_DATA, cell, push.round),
                   0))
        return true;
    nvsk_break(team);
    return false;
}

/* Begins a round: false if there is nothing to do, the team being broken. All threads of the block
 * get the same answer. */
NVSD_FN bool nvsk_push_begin(struct nvsk_push *push, bool rooted, bool sends)
{
    struct nvsi_channel_count count = nvsk_count(&push->own->pushes);
    push->round = count.round + 1;
    push->buffer_bytes =
        ((uint64_t)push->args.team.npes - 1) * (push->args.capacity + push->args.capacity / 16);
    if (count.broken) /* may be stored while this kernel runs, by another block of it */
        return false;
    if (rooted)
        nvsk_push_tell_begun(*push);
    if (sends && count.rooted && !nvsk_push_wait_begun(*push))
        return false;
    if (sends)
        nvsk_push_all(*push);
    nvsk_count_round(push->own, &push->own->pushes, push->round, rooted);
    return true;
}

#endif
