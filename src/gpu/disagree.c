/*
 * disagree.c - PEs that put different collectives into streams.
 *
 * On the device nobody could tell: a kernel would take the bytes of another one's call for its own.
 * So it is seen when the calls are made. Each PE writes what its n-th call on a team is into its
 * part of the arena (struct nvsi_stream_call), and looks what its two neighbours in the team have
 * written for the same number: if all neighbours agree, all agree. Of two neighbours at least the
 * one that comes later sees the other, since each stores its own call before it looks (a full fence
 * lies between). It costs two lines of other PEs, and nobody waits.
 *
 * The ring holds the latest 496 calls. A PE that is further ahead is not seen; but each call
 * carries a hash of all before it, so the first one that can be compared again tells.
 *
 * What is compared is also the way in which each PE will do it (coll_select.c), since that depends
 * on its memory, of which a call of nvs.h takes any kind.
 *
 * Graphs. A call that is captured happens when the graph is launched, of which nobody hears, and
 * it need not be captured in the same order on all PEs. A PE that has captured a collective of a
 * team therefore takes no part in this any more, for that team: what it counts is not what happens.
 *
 * The one that sees it writes numbers into the team's place in the arena; the watchdogs of all
 * members find them there, and end what is going on with the same sentence.
 */
#include <stdio.h>
#include <string.h>

#include "boot/table.h"
#include "coll/coll.h"
#include "gpu/coll.h"

enum { RING = NVSI_SLOT_RING * NVSI_SLOT_STREAM_CALLS };

/* ---- the record of a call -------------------------------------------------------------------- */

static struct nvsi_stream_call *call_at(char *channels, int team_pe, uint64_t number)
{
    uint64_t entry = number % RING;
    struct nvsi_slot *slot =
        (struct nvsi_slot *)(void *)(channels + (size_t)team_pe * NVSI_CHANNEL_BYTES +
                                     entry / NVSI_SLOT_STREAM_CALLS * NVSI_SLOT_BYTES);
    return &slot->stream_calls[entry % NVSI_SLOT_STREAM_CALLS];
}

/* A copy that is whole; false: that call is not there. */
static bool read_call(char *channels, int team_pe, uint64_t number, struct nvsi_stream_call *copy)
{
    const struct nvsi_stream_call *at = call_at(channels, team_pe, number);
    if (atomic_load_explicit(&at->number, memory_order_acquire) != number)
        return false;
    copy->sig = at->sig;
    copy->nelems = at->nelems;
    copy->history = at->history;
    copy->way = at->way;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&at->number, memory_order_relaxed) == number;
}

static void write_call(char *channels, int team_pe, uint64_t number,
                       const struct nvsi_stream_call *call)
{
    struct nvsi_stream_call *at = call_at(channels, team_pe, number);
    atomic_store_explicit(&at->number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    at->sig = call->sig;
    at->nelems = call->nelems;
    at->history = call->history;
    at->way = call->way;
    atomic_store_explicit(&at->number, number, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst); /* before the looks at the neighbours' */
}

static const struct nvsi_coll_kind *const kinds[] = {
    [NVSI_SOP_BARRIER] = &nvsi_kind_sync, /* where a barrier meets a sync, nothing is wrong */
    [NVSI_SOP_SYNC] = &nvsi_kind_sync,
    [NVSI_SOP_BROADCAST] = &nvsi_kind_broadcast,
    [NVSI_SOP_ALL_GATHER] = &nvsi_kind_all_gather,
    [NVSI_SOP_ALL_TO_ALL] = &nvsi_kind_all_to_all,
    [NVSI_SOP_ALL_REDUCE] = &nvsi_kind_all_reduce,
    [NVSI_SOP_REDUCE_SCATTER] = &nvsi_kind_reduce_scatter,
};

static struct nvsi_stream_call describe(const struct nvsi_gpu_call *call, uint32_t *history)
{
    const struct nvsi_stream_op *op = call->op;
    bool data = op->op >= NVSI_SOP_BROADCAST;
    struct nvsi_coll_args args = {.nelems = data ? op->nelems : 0,
                                  .dst_stride = 1,
                                  .src_stride = 1,
                                  .dtype = data ? op->dtype : -1,
                                  .elem_bytes = data ? op->elem_bytes : 1,
                                  .op = data ? op->redop : 0,
                                  .root = op->root};
    struct nvsi_coll coll = {.kind = kinds[op->op], .args = &args, .history = *history};
    coll.sig = nvsi_coll_sig(&coll);
    *history = nvsi_coll_history(&coll);
    return (struct nvsi_stream_call){.sig = coll.sig,
                                     .nelems = args.nelems,
                                     .history = coll.history,
                                     .way = args.nelems ? 1 + (uint32_t)nvsi_gpu_coll_select(call)
                                                        : 0};
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool differ(const struct nvsi_stream_call *a, const struct nvsi_stream_call *b)
{
    return a->sig != b->sig || a->nelems != b->nelems || a->way != b->way;
}

/* Whether it is done in a way for any memory. */
static bool takes_any(const struct nvsi_stream_call *call)
{
    return call->way == 1 + NVSI_SHAPE_PUSH || call->way == 1 + NVSI_SHAPE_STAGED;
}

/* The first call that both have, and differently; `number` if there is none. */
static uint64_t first_difference(char *channels, int one, int other, uint64_t number)
{
    struct nvsi_stream_call a, b;
    for (uint64_t n = number < RING ? 1 : number - RING + 1; n < number; n++)
        if (read_call(channels, one, n, &a) && read_call(channels, other, n, &b) && differ(&a, &b))
            return n;
    return number;
}

/* "PEs disagree about collective #3 on streams of the world team: PE 0 calls ..., PE 1 calls ..."
 */
static void sentence_of(const struct nvsi_team *team, int one, int other, uint64_t number,
                        char *sentence, size_t size)
{
    struct nvsi_text text = {.at = sentence, .left = size};
    struct nvsi_stream_call a = {0}, b = {0};
    char mine[96], theirs[96];
    number = first_difference(team->channels, one, other, number);
    bool known = read_call(team->channels, one, number, &a) &&
                 read_call(team->channels, other, number, &b) && differ(&a, &b);
    nvsi_text_add(&text, "PEs disagree about %s #%llu on streams of ",
                  known ? "collective" : "a collective before", (unsigned long long)number);
    nvsi_team_name(nvsi.job, team->slot, &text);
    nvsi_coll_call_words(a.sig, a.nelems, mine, sizeof mine);
    nvsi_coll_call_words(b.sig, b.nelems, theirs, sizeof theirs);
    if (known && a.sig == b.sig && a.nelems == b.nelems)
        nvsi_text_add(&text,
                      ": in %s PE %d passes %s, and PE %d does not: all PEs must, or none, and all "
                      "in place, or none",
                      mine, team->pes[takes_any(&a) ? other : one],
                      "the same symmetric memory of the GPU as the others",
                      team->pes[takes_any(&a) ? one : other]);
    else if (known)
        nvsi_text_add(&text, ": PE %d calls %s, PE %d calls %s", team->pes[one], mine,
                      team->pes[other], theirs);
    else
        nvsi_text_add(&text, ": PE %d and PE %d have called different things", team->pes[one],
                      team->pes[other]);
}

/* ---- telling all ----------------------------------------------------------------------------- */

/* As the arena holds it: who, and in which call; never 0. */
static uint64_t clash(int one, int other, uint64_t number)
{
    return number << 24 | (uint64_t)one << 12 | (uint64_t)other;
}
_Static_assert(NVSI_MAX_PES <= 1 << 12, "12 bits for a member");

static int disagreed(const struct nvsi_gpu_call *call, int other, uint64_t number)
{
    const struct nvsi_team *team = call->team;
    int me = team->team_pe, one = me < other ? me : other;
    char sentence[400];
    uint64_t none = 0;
    other = me < other ? other : me;
    sentence_of(team, one, other, number, sentence, sizeof sentence);
    atomic_compare_exchange_strong(&nvsi.job->teams[team->slot].stream_clash, &none,
                                   clash(one, other, number));
    nvsi_gpu_break_off(NVS_ERR_MISMATCH, sentence);
    return nvsi_error(NVS_ERR_MISMATCH, "%s: %s", call->fn, sentence);
}

static bool clashed(const struct nvsi_team *team, char *sentence, size_t size)
{
    if (!team || team->slot < 0 || team->npes < 2)
        return false;
    uint64_t word = atomic_load(&nvsi.job->teams[team->slot].stream_clash);
    if (!word)
        return false;
    sentence_of(team, (int)(word >> 12 & 0xfff), (int)(word & 0xfff), word >> 24, sentence, size);
    return true;
}

bool nvsi_gpu_disagreement(char *sentence, size_t size)
{
    bool found = false;
    pthread_mutex_lock(&nvsi.lock);
    for (int i = 0; i < NVSI_MAX_TEAMS && !found; i++)
        found = clashed(nvsi.teams[i], sentence, size);
    for (struct nvsi_team *team = nvsi.active_sets; team && !found; team = team->next)
        found = clashed(team, sentence, size);
    pthread_mutex_unlock(&nvsi.lock);
    return found;
}

/* ---- the way in ------------------------------------------------------------------------------ */

int nvsi_gpu_call_compare(struct nvsi_gpu_call *call)
{
    struct nvsi_gpu_team *state = call->state;
    const struct nvsi_team *team = call->team;
    if (call->last->capture)
        state->uncounted = true;
    if (state->uncounted)
        return 0;
    uint64_t number = ++state->calls;
    struct nvsi_stream_call mine = describe(call, &state->history), theirs;
    state->channels = team->channels;
    state->team_pe = team->team_pe;
    write_call(team->channels, team->team_pe, number, &mine);
    for (int side = 1; side >= -1; side -= 2) {
        int other = (team->team_pe + side + team->npes) % team->npes;
        if (read_call(team->channels, other, number, &theirs) &&
            (differ(&mine, &theirs) || mine.history != theirs.history))
            return disagreed(call, other, number);
    }
    return 0;
}

/* Before another team can come to the same place in the arena. */
void nvsi_gpu_calls_forget(struct nvsi_gpu_team *state)
{
    uint64_t used = state->calls < RING ? state->calls : RING;
    for (uint64_t i = 0; i < used; i++)
        atomic_store(&call_at(state->channels, state->team_pe, state->calls - i)->number, 0);
    state->calls = 0;
    state->history = 0;
    state->uncounted = false;
}
