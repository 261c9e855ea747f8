/*
 * nvshmem/device/coll.h - collectives of a team, for kernels: called by one thread, warp or block
 * of each member, all in one order.
 *
 * Small (NVSD_SMALL_BYTES for each receiver): pushed. A message goes as pairs, 8 bytes of data
 * beside their flags in 16 (proto.h), into the receiver's channel; who finds the flags has the
 * data. No barrier: one trip over the wire. A reduction is everybody's data at everybody, who fold
 * it in the order of the PEs.
 *
 * Large: pulled. A sync; each PE loads what it needs from the others' src; a sync, after which src
 * may change. In an all-reduce each PE owns a part of the elements, folds it from all inputs and
 * stores it in all outputs, so that dst may be src: whoever overwrites an element is the one who
 * reads it, and has read it everywhere before.
 *
 * When may a message be sent? Its slot is that of the sender and of the number of this round modulo
 * NVSI_CHANNEL_TURNS, so the receiver must be done with the round that many before. `synced` says
 * which rounds all members have finished: when all send to all, who is done with round r has data
 * of all in it, so all have begun it and finished those before. A broadcast tells its root nothing;
 * so when it has been broadcasts for long enough, a sync comes first. All PEs count alike, and
 * agree on that.
 *
 * Memory order: sync.h for the syncs. A pair is one access; the receiver's load of it comes before
 * its later stores, since it has looked at what was loaded. All threads of the scope meet between
 * rounds.
 */
#ifndef NVS_NVSHMEM_DEVICE_COLL_H
#define NVS_NVSHMEM_DEVICE_COLL_H

#include "nvshmem/device/fold.h"
#include "nvshmem/device/sync.h"

#define NVSD_SMALL_BYTES ((uint64_t)16384)

/* A collective as the calling thread sees it. */
struct nvsd_call {
    const char *what;
    const struct nvsi_dev_team *team;
    struct nvsi_channel_kernel *mine; /* this PE's channel; not for a team of one */
    uint64_t round, synced, slot_bytes;
    int npes, me, status;
};

/* False: there is no such team here. The scope meets. */
NVSD_FN bool nvsd_begin(nvsd_self self, enum nvsd_scope scope, const char *what, int32_t handle,
                        struct nvsd_call *call)
{
    call->what = what;
    call->team = nvsd_get_team(self, what, handle);
    nvsd_sync(scope);
    if (!call->team)
        return false;
    call->npes = call->team->npes;
    call->me = call->team->team_pe;
    call->status = 0;
    call->mine = call->npes > 1 ? nvsd_channel(self, call->team, call->me) : nullptr;
    call->slot_bytes =
        NVSI_CHANNEL_DATA_BYTES / NVSI_CHANNEL_TURNS / (unsigned)call->npes & ~(uint64_t)31;
    return true;
}

/* The scope meets, then all members do. */
NVSD_FN void nvsd_meet(nvsd_self self, enum nvsd_scope scope, struct nvsd_call *call)
{
    nvsd_sync(scope);
    if (call->npes > 1 && nvsd_sync_members(self, scope, call->what, call->team) != 0)
        call->status = NVSD_FAILED;
    nvsd_sync(scope);
}

NVSD_FN bool nvsd_is_small(const struct nvsd_call &call, uint64_t nbytes)
{
    return nbytes <= NVSD_SMALL_BYTES && nbytes <= call.slot_bytes / 2;
}

/* ---- rounds of pushed messages --------------------------------------------------------------- */

/* Where the message of member `from` in this round arrives at `at`, which is this PE or another. */
NVSD_FN struct nvsd_vec4 *nvsd_slot(nvsd_self self, const struct nvsd_call &call, int at, int from)
{
    uint64_t turn = call.round % NVSI_CHANNEL_TURNS;
    uint64_t offset = (turn * (unsigned)call.npes + (unsigned)from) * call.slot_bytes;
    char *channel = (char *)(at == call.me ? call.mine : nvsd_channel(self, call.team, at));
    return (struct nvsd_vec4 *)(channel + sizeof(struct nvsi_channel_kernel) + offset);
}

/* Once in 2^32 rounds, when flags begin anew: what is left of the last time goes. */
NVSD_COLD void nvsd_empty_slots(enum nvsd_scope scope, struct nvsi_channel_kernel *mine)
{
    struct nvsd_vec4 *slots = (struct nvsd_vec4 *)(mine + 1);
    for (uint64_t i = nvsd_rank(scope); i < NVSI_CHANNEL_DATA_BYTES / 16; i += nvsd_size(scope))
        nvsd_st_relaxed128(slots + i, nvsd_vec4_zero());
}

NVSD_FN void nvsd_round_begin(nvsd_self self, enum nvsd_scope scope, struct nvsd_call *call)
{
    call->round = nvsd_pair_round(nvsd_ld_relaxed64(&call->mine->data_seq));
    call->synced = nvsd_ld_relaxed64(&call->mine->synced);
    bool wraps = nvsd_pair_wraps(call->round);
    if (wraps)
        nvsd_empty_slots(scope, call->mine);
    if (wraps || call->synced + NVSI_CHANNEL_TURNS <= call->round) {
        nvsd_meet(self, scope, call);
        call->synced = call->round;
    }
}

/* mutual: this PE has had data from all others in this round. */
NVSD_FN void nvsd_round_end(enum nvsd_scope scope, struct nvsd_call *call, bool mutual)
{
    nvsd_sync(scope);
    if (nvsd_rank(scope) == 0) {
        nvsd_st_relaxed64(&call->mine->data_seq, call->round);
        nvsd_st_relaxed64(&call->mine->synced, mutual ? call->round : call->synced);
    }
    nvsd_sync(scope);
}

/* The 8 bytes number i of a message from member `from`. */
NVSD_FN uint64_t nvsd_receive(nvsd_self self, struct nvsd_call *call, int from, uint64_t i)
{
    const struct nvsd_vec4 *pairs = nvsd_slot(self, *call, call->me, from) + i;
    struct nvsd_awaited awaited = {
        call->what,     NVSI_DEV_WAIT_DATA, nvsd_team_world(call->team, from),
        call->team->id, (uint64_t)pairs,    call->round};
    uint64_t data = 0;
    int entry = NVSD_NO_ENTRY;
    for (unsigned rounds = 0; !nvsd_pair_receive2(pairs, &data, call->round);)
        if (!nvsd_wait_round(self.page, awaited, &entry, &rounds,
                             nvsd_ld_relaxed64((const uint64_t *)pairs))) {
            call->status = NVSD_FAILED;
            return 0;
        }
    nvsd_wait_end(self.page, entry);
    return data;
}

/* Up to 8 bytes of the caller's memory, of any alignment. */
NVSD_FN uint64_t nvsd_take8(const char *src, uint64_t nbytes)
{
    if (nbytes >= 8 && ((uint64_t)src & 7) == 0)
        return *(const uint64_t *)src;
    uint64_t data = 0;
    for (unsigned i = 0; i < 8 && i < nbytes; i++)
        data |= (uint64_t)(uint8_t)src[i] << 8 * i;
    return data;
}

NVSD_FN void nvsd_give8(char *dst, uint64_t nbytes, uint64_t data)
{
    if (nbytes >= 8 && ((uint64_t)dst & 7) == 0) {
        *(uint64_t *)dst = data;
        return;
    }
    for (unsigned i = 0; i < 8 && i < nbytes; i++)
        dst[i] = (char)(data >> 8 * i);
}

/* Sends nbytes from src + i * step to each other member i; step 0: the same to all. */
NVSD_FN void nvsd_push(nvsd_self self, enum nvsd_scope scope, const struct nvsd_call &call,
                       const char *src, uint64_t nbytes, uint64_t step)
{
    for (int hop = 1; hop < call.npes; hop++) {
        int to = call.me + hop < call.npes ? call.me + hop : call.me + hop - call.npes;
        struct nvsd_vec4 *slot = nvsd_slot(self, call, to, call.me);
        const char *from = src + (uint64_t)to * step;
        for (uint64_t i = nvsd_rank(scope); 8 * i < nbytes; i += nvsd_size(scope))
            nvsd_pair_send2(slot + i, nvsd_take8(from + 8 * i, nbytes - 8 * i), call.round);
    }
}

/* The message of member `from` to dst. */
NVSD_FN void nvsd_take_in(nvsd_self self, enum nvsd_scope scope, struct nvsd_call *call, char *dst,
                          uint64_t nbytes, int from)
{
    for (uint64_t i = nvsd_rank(scope); 8 * i < nbytes; i += nvsd_size(scope))
        nvsd_give8(dst + 8 * i, nbytes - 8 * i, nvsd_receive(self, call, from, i));
}

/* This PE's own block. */
NVSD_FN void nvsd_keep(enum nvsd_scope scope, char *dst, const char *src, uint64_t nbytes)
{
    if (dst != src)
        nvsd_copy<NVSD_FROM_PEER>(scope, dst, src, nbytes);
}

/* ---- pulled data ----------------------------------------------------------------------------- */

/* Whether the ranges of a large collective are in the heap; otherwise the host is told. */
NVSD_FN bool nvsd_symmetric(nvsd_self self, struct nvsd_call *call, const void *ptr,
                            uint64_t nbytes)
{
    if (NVSD_LIKELY(nvsd_in(self.heap, self.heap_bytes, ptr) &&
                    nvsd_fits(self.heap, self.heap_bytes, ptr, nbytes)))
        return true;
    if (call->npes == 1)
        return true;
    nvsd_report(self, NVSI_DEV_BAD_ADDRESS, call->what, -1, call->team->id, (uint64_t)ptr, nbytes);
    call->status = NVSD_FAILED;
    return false;
}

NVSD_FN const char *nvsd_of_member(nvsd_self self, const struct nvsd_call &call, const void *ptr,
                                   int team_pe)
{
    return (const char *)nvsd_shift(ptr, (int64_t)(nvsd_team_world(call.team, team_pe) - self.me) *
                                             self.stride);
}

/* ---- broadcast, fcollect, alltoall ----------------------------------------------------------- */

template <enum nvsd_scope scope>
NVSD_OUT_OF_LINE int nvsd_broadcast(nvsd_self self, const char *what, int32_t handle, void *dst_ptr,
                                    const void *src_ptr, uint64_t nbytes, int root)
{
    char *dst = (char *)dst_ptr;
    const char *src = (const char *)src_ptr;
    struct nvsd_call call;
    if (!nvsd_begin(self, scope, what, handle, &call))
        return NVSD_FAILED;
    if ((uint32_t)root >= (uint32_t)call.npes) {
        nvsd_report(self, NVSI_DEV_BAD_ARGUMENT, what, root, handle, (uint64_t)(int64_t)root, 0);
        return NVSD_FAILED;
    }
    if (nbytes == 0)
        return 0;
    if (call.npes > 1 && nvsd_is_small(call, nbytes)) {
        nvsd_round_begin(self, scope, &call);
        if (call.me == root)
            nvsd_push(self, scope, call, src, nbytes, 0);
        else
            nvsd_take_in(self, scope, &call, dst, nbytes, root);
        nvsd_round_end(scope, &call, false);
    } else if (nvsd_symmetric(self, &call, src, nbytes)) {
        nvsd_meet(self, scope, &call);
        if (call.me != root)
            nvsd_copy<NVSD_FROM_PEER>(scope, dst, nvsd_of_member(self, call, src, root), nbytes);
        nvsd_meet(self, scope, &call);
    }
    if (call.me == root)
        nvsd_keep(scope, dst, src, nbytes);
    nvsd_sync(scope);
    return call.status;
}

/* fcollect (exchange false): the src of all, in all dst. alltoall: block i of src goes to member i,
 * where it is block me of dst. nbytes: of a block. */
template <enum nvsd_scope scope>
NVSD_OUT_OF_LINE int nvsd_collect(nvsd_self self, const char *what, int32_t handle, void *dst_ptr,
                                  const void *src_ptr, uint64_t nbytes, bool exchange)
{
    char *dst = (char *)dst_ptr;
    const char *src = (const char *)src_ptr;
    uint64_t step = exchange ? nbytes : 0;
    struct nvsd_call call;
    if (!nvsd_begin(self, scope, what, handle, &call))
        return NVSD_FAILED;
    if (nbytes == 0)
        return 0;
    uint64_t own = (unsigned)call.me * nbytes;
    if (call.npes > 1 && nvsd_is_small(call, nbytes)) {
        nvsd_round_begin(self, scope, &call);
        nvsd_push(self, scope, call, src, nbytes, step);
        for (int i = 0; i < call.npes; i++)
            if (i != call.me)
                nvsd_take_in(self, scope, &call, dst + (unsigned)i * nbytes, nbytes, i);
        nvsd_round_end(scope, &call, true);
    } else if (nvsd_symmetric(self, &call, src, exchange ? nbytes * (unsigned)call.npes : nbytes)) {
        nvsd_meet(self, scope, &call);
        for (int hop = 1; hop < call.npes; hop++) {
            int i = call.me + hop < call.npes ? call.me + hop : call.me + hop - call.npes;
            nvsd_copy<NVSD_FROM_PEER>(scope, dst + (unsigned)i * nbytes,
                                      nvsd_of_member(self, call, src, i) + (unsigned)call.me * step,
                                      nbytes);
        }
        nvsd_meet(self, scope, &call);
    }
    nvsd_keep(scope, dst + own, src + (unsigned)call.me * step, nbytes);
    nvsd_sync(scope);
    return call.status;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* What is folded is a constant of the template: NVSD_FOLD(dtype, op) of fold.h, or this: CUDA's
 * double2, a value and where it was found; the pair with the greatest value, of equal ones that of
 * the lowest PE. */
#define NVSD_FOLD_MAXLOC 0xffffu

NVSD_FN constexpr unsigned nvsd_elem_bytes(unsigned code)
{
    return code == NVSD_FOLD_MAXLOC    ? 16
           : code >> 3 <= NVSD_UINT8   ? 1
           : code >> 3 <= NVSD_UINT32  ? 4
           : code >> 3 <= NVSD_UINT64  ? 8
           : code >> 3 == NVSD_FLOAT32 ? 4
           : code >> 3 == NVSD_FLOAT64 ? 8
                                       : 2;
}

/* A fold of vectors under way. */
template <unsigned code> struct nvsd_folding {
    struct nvsd_fold_acc acc[1];
};

template <unsigned code>
NVSD_FN void nvsd_fold_first(struct nvsd_folding<code> &f, struct nvsd_vec4 vec)
{
    const struct nvsd_vec4 first[1] = {vec};
    nvsd_fold_begin<1>(code == NVSD_FOLD_MAXLOC ? NVSD_FOLD(NVSD_FLOAT64, NVSD_MAX) : code, f.acc,
                       first);
}

template <unsigned code>
NVSD_FN void nvsd_fold_add(struct nvsd_folding<code> &f, struct nvsd_vec4 vec)
{
    const struct nvsd_vec4 next[1] = {vec};
    uint32_t *w = f.acc[0].w;
    if (code != NVSD_FOLD_MAXLOC) {
        nvsd_fold_next<1>(code, f.acc, next);
    } else if (nvsd_less(nvsd_double(nvsd_join(w[0], w[1])),
                         nvsd_double(nvsd_join(vec.x, vec.y)))) {
        w[0] = vec.x, w[1] = vec.y, w[2] = vec.z, w[3] = vec.w;
    }
}

template <unsigned code>
NVSD_FN struct nvsd_vec4 nvsd_fold_result(const struct nvsd_folding<code> &f)
{
    struct nvsd_vec4 result[1] = {{f.acc[0].w[0], f.acc[0].w[1], f.acc[0].w[2], f.acc[0].w[3]}};
    if (code != NVSD_FOLD_MAXLOC)
        nvsd_fold_end<1>(code, 1, f.acc, result);
    return result[0];
}

/* One element, or a whole vector, as a vector. */
NVSD_FN struct nvsd_vec4 nvsd_as_vec(uint64_t bits)
{
    struct nvsd_vec4 vec = {(uint32_t)bits, (uint32_t)(bits >> 32), 0, 0};
    return vec;
}
NVSD_FN struct nvsd_vec4 nvsd_as_vec(struct nvsd_vec4 vec)
{
    return vec;
}
template <typename W> NVSD_FN W nvsd_from_vec(struct nvsd_vec4 vec, const W *)
{
    return (W)nvsd_join(vec.x, vec.y);
}
NVSD_FN struct nvsd_vec4 nvsd_from_vec(struct nvsd_vec4 vec, const struct nvsd_vec4 *)
{
    return vec;
}

/* The 16 bytes at 8 * i of the small message from member `pe`; this PE's own is at src. */
NVSD_FN struct nvsd_vec4 nvsd_pushed(nvsd_self self, struct nvsd_call *call, const char *src,
                                     uint64_t nbytes, uint64_t i, int pe)
{
    bool own = pe == call->me, both = 8 * (i + 1) < nbytes;
    uint64_t left = nbytes - 8 * i, high = 0;
    uint64_t low = own ? nvsd_take8(src + 8 * i, left) : nvsd_receive(self, call, pe, i);
    if (both)
        high = own ? nvsd_take8(src + 8 * i + 8, left - 8) : nvsd_receive(self, call, pe, i + 1);
    struct nvsd_vec4 vec = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                            (uint32_t)(high >> 32)};
    return vec;
}

/* Their fold over all members. */
template <unsigned code>
NVSD_FN void nvsd_fold_pushed(nvsd_self self, struct nvsd_call *call, char *dst, const char *src,
                              uint64_t nbytes, uint64_t i)
{
    uint64_t left = nbytes - 8 * i;
    struct nvsd_folding<code> folding;
    nvsd_fold_first(folding, nvsd_pushed(self, call, src, nbytes, i, 0));
    for (int pe = 1; pe < call->npes; pe++)
        nvsd_fold_add(folding, nvsd_pushed(self, call, src, nbytes, i, pe));
    struct nvsd_vec4 result = nvsd_fold_result(folding);
    nvsd_give8(dst + 8 * i, left, nvsd_join(result.x, result.y));
    if (left > 8)
        nvsd_give8(dst + 8 * i + 8, left - 8, nvsd_join(result.z, result.w));
}

/* Pushes and folds nbytes: from src + j * step to member j. A thread folds what it has sent, so dst
 * may be what is sent. */
template <unsigned code>
NVSD_FN void nvsd_reduce_pushed(nvsd_self self, enum nvsd_scope scope, struct nvsd_call *call,
                                char *dst, const char *src, uint64_t nbytes, uint64_t step)
{
    uint64_t first = 2 * (uint64_t)nvsd_rank(scope), next = 2 * (uint64_t)nvsd_size(scope);
    nvsd_round_begin(self, scope, call);
    for (int hop = 1; hop < call->npes; hop++) {
        int to = call->me + hop < call->npes ? call->me + hop : call->me + hop - call->npes;
        struct nvsd_vec4 *slot = nvsd_slot(self, *call, to, call->me);
        const char *from = src + (unsigned)to * step;
        for (uint64_t i = first; 8 * i < nbytes; i += next) {
            nvsd_pair_send2(slot + i, nvsd_take8(from + 8 * i, nbytes - 8 * i), call->round);
            if (8 * (i + 1) < nbytes)
                nvsd_pair_send2(slot + i + 1, nvsd_take8(from + 8 * i + 8, nbytes - 8 * i - 8),
                                call->round);
        }
    }
    for (uint64_t i = first; 8 * i < nbytes; i += next)
        nvsd_fold_pushed<code>(self, call, dst, src + (unsigned)call->me * step, nbytes, i);
    nvsd_round_end(scope, call, true);
}

/* One word W of elements, from `src` of all members to `dst` of this PE, or of all. */
template <unsigned code, typename W>
NVSD_FN void nvsd_fold_word(nvsd_self self, const struct nvsd_call &call, char *dst,
                            const char *src, bool to_all)
{
    struct nvsd_folding<code> folding;
    nvsd_fold_first(folding,
                    nvsd_as_vec(nvsd_load_shared((const W *)nvsd_of_member(self, call, src, 0))));
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int pe = 1; pe < call.npes; pe++)
        nvsd_fold_add(
            folding, nvsd_as_vec(nvsd_load_shared((const W *)nvsd_of_member(self, call, src, pe))));
    W word = nvsd_from_vec(nvsd_fold_result(folding), (const W *)nullptr);
    if (!to_all) {
        nvsd_store_shared((W *)dst, word);
        return;
    }
    for (int hop = 0; hop < call.npes; hop++) {
        int to = call.me + hop < call.npes ? call.me + hop : call.me + hop - call.npes;
        nvsd_store_shared((W *)nvsd_of_member(self, call, dst, to), word);
    }
}

/* nelems elements, in words of 16 bytes where dst and src are aligned alike. */
template <unsigned code>
NVSD_FN void nvsd_fold_pulled(nvsd_self self, enum nvsd_scope scope, const struct nvsd_call &call,
                              char *dst, const char *src, uint64_t nelems, bool to_all)
{
    const unsigned elem_bytes = nvsd_elem_bytes(code);
    typedef typename nvsd_word<nvsd_elem_bytes(code)>::type word;
    const uint64_t per_vec = 16 / elem_bytes;
    uint64_t head = (-(uint64_t)dst & 15) / elem_bytes, rank = nvsd_rank(scope);
    if ((((uint64_t)dst ^ (uint64_t)src) & 15) != 0 || head > nelems)
        head = nelems;
    uint64_t nvecs = (nelems - head) / per_vec, tail = head + nvecs * per_vec;
    for (uint64_t i = rank; i < nvecs; i += nvsd_size(scope)) {
        uint64_t offset = (head + i * per_vec) * elem_bytes;
        nvsd_fold_word<code, struct nvsd_vec4>(self, call, dst + offset, src + offset, to_all);
    }
    for (uint64_t i = rank; i < head + (nelems - tail); i += nvsd_size(scope)) {
        uint64_t offset = (i < head ? i : tail + i - head) * elem_bytes;
        nvsd_fold_word<code, word>(self, call, dst + offset, src + offset, to_all);
    }
}

/* The share of the elements that this PE folds for all: whole vectors, if the beginnings are. */
NVSD_FN uint64_t nvsd_share(const struct nvsd_call &call, uint64_t nelems, unsigned elem_bytes,
                            uint64_t *begin)
{
    uint64_t unit = 16 / elem_bytes;
    uint64_t share = (nelems / (unsigned)call.npes + unit) / unit * unit;
    *begin = (unsigned)call.me * share;
    if (*begin >= nelems)
        *begin = nelems;
    return nelems - *begin < share ? nelems - *begin : share;
}

template <enum nvsd_scope scope, unsigned code>
NVSD_OUT_OF_LINE int nvsd_reduce(nvsd_self self, const char *what, int32_t handle, void *dst_ptr,
                                 const void *src_ptr, uint64_t nelems)
{
    char *dst = (char *)dst_ptr;
    const char *src = (const char *)src_ptr;
    const unsigned elem_bytes = nvsd_elem_bytes(code);
    uint64_t nbytes = nelems * elem_bytes, begin;
    struct nvsd_call call;
    if (!nvsd_begin(self, scope, what, handle, &call))
        return NVSD_FAILED;
    if (nelems == 0)
        return 0;
    if (call.npes == 1) {
        nvsd_fold_pulled<code>(self, scope, call, dst, src, nelems, false);
    } else if (nvsd_is_small(call, nbytes)) {
        nvsd_reduce_pushed<code>(self, scope, &call, dst, src, nbytes, 0);
    } else if (nvsd_symmetric(self, &call, dst, nbytes) &&
               nvsd_symmetric(self, &call, src, nbytes)) {
        uint64_t mine = nvsd_share(call, nelems, elem_bytes, &begin);
        nvsd_meet(self, scope, &call);
        nvsd_fold_pulled<code>(self, scope, call, dst + begin * elem_bytes,
                               src + begin * elem_bytes, mine, true);
        nvsd_meet(self, scope, &call);
    }
    nvsd_sync(scope);
    return call.status;
}

/* Member j gets the fold of block j of all src. dst may be a part of src: then all goes the small
 * way, piece by piece. */
template <enum nvsd_scope scope, unsigned code>
NVSD_OUT_OF_LINE int nvsd_reduce_scatter(nvsd_self self, const char *what, int32_t handle,
                                         void *dst_ptr, const void *src_ptr, uint64_t nelems)
{
    char *dst = (char *)dst_ptr;
    const char *src = (const char *)src_ptr;
    uint64_t block = nelems * nvsd_elem_bytes(code);
    struct nvsd_call call;
    if (!nvsd_begin(self, scope, what, handle, &call))
        return NVSD_FAILED;
    if (nelems == 0)
        return 0;
    uint64_t whole = block * (unsigned)call.npes;
    uint64_t piece = nvsd_is_small(call, NVSD_SMALL_BYTES) ? NVSD_SMALL_BYTES : call.slot_bytes / 2;
    bool overlap = (uint64_t)dst - (uint64_t)src < whole || (uint64_t)src - (uint64_t)dst < block;
    if (call.npes == 1) {
        nvsd_fold_pulled<code>(self, scope, call, dst, src, nelems, false);
    } else if (overlap || nvsd_is_small(call, block)) {
        for (uint64_t at = 0; at < block; at += piece)
            nvsd_reduce_pushed<code>(self, scope, &call, dst + at, src + at,
                                     block - at < piece ? block - at : piece, block);
    } else if (nvsd_symmetric(self, &call, src, whole)) {
        nvsd_meet(self, scope, &call);
        nvsd_fold_pulled<code>(self, scope, call, dst, src + (unsigned)call.me * block, nelems,
                               false);
        nvsd_meet(self, scope, &call);
    }
    nvsd_sync(scope);
    return call.status;
}

#endif
