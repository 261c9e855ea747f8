/*
 * window_adopt.c - memory that callers have lent, mapped into the windows of all PEs.
 *
 * As in window_take.c the memory of each PE becomes descriptors, which the others map at the same
 * place in their picture of its window. But here each PE's part may consist of another number of
 * pieces, and begin earlier; the places of all pieces follow from what the PEs have told of them.
 */
#include "gpu/lent.h"
#include "gpu/window.h"

#include <stdlib.h>

#include "wait.h"

struct plan {
    const struct nvsi_lent_shape *shapes; /* of all PEs */
    uint64_t *sizes, *mine;               /* `most` of each PE */
    uint64_t most;
    struct nvsi_chunk *chunk;
};

uint64_t nvsi_lent_lead(const struct nvsi_lent_shape *shapes)
{
    uint64_t lead = 0;
    for (int pe = 0; pe < nvsi.npes; pe++)
        lead = shapes[pe].lead > lead ? shapes[pe].lead : lead;
    return lead;
}

uint64_t nvsi_lent_tail(const struct nvsi_lent_shape *shapes)
{
    uint64_t tail = 0;
    for (int pe = 0; pe < nvsi.npes; pe++)
        tail = shapes[pe].tail > tail ? shapes[pe].tail : tail;
    return tail;
}

static void free_plan(struct plan *plan)
{
    free(plan->mine);
    free(plan->sizes);
}

/* What this PE alone can fail at. */
static int make_tables(const char *fn, uint64_t offset, uint64_t nbytes, struct plan *plan)
{
    uint64_t count = 0;
    for (int pe = 0; pe < nvsi.npes; pe++) {
        count += plan->shapes[pe].npieces;
        if (plan->shapes[pe].npieces > plan->most)
            plan->most = plan->shapes[pe].npieces;
    }
    plan->mine = calloc(plan->most + 1, sizeof *plan->mine);
    plan->sizes = calloc((size_t)nvsi.npes * plan->most + 1, sizeof *plan->sizes);
    plan->chunk = calloc(1, sizeof *plan->chunk + count * sizeof plan->chunk->parts[0]);
    if (!plan->mine || !plan->sizes || !plan->chunk)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the tables of a buffer", fn);
    plan->chunk->offset = offset;
    plan->chunk->nbytes = nbytes;
    return 0;
}

static int tell_sizes(const char *fn, const struct nvsi_lent *lent, struct plan *plan)
{
    for (int i = 0; i < lent->npieces; i++)
        plan->mine[i] = lent->pieces[i].nbytes;
    return nvsi_gather(fn, nvsi.teams[NVSI_TEAM_WORLD], NVSI_AT_MALLOC, plan->mine,
                       plan->most * sizeof *plan->mine, plan->sizes);
}

/* Piece i of a PE, whose range begins at `offset`. */
static struct nvsi_part part_of(const struct plan *plan, int pe, uint64_t i, uint64_t offset)
{
    const uint64_t *sizes = plan->sizes + (uint64_t)pe * plan->most;
    struct nvsi_part part = {.pe = pe, .offset = offset - plan->shapes[pe].lead};
    for (uint64_t k = 0; k < i; k++)
        part.offset += sizes[k];
    part.nbytes = sizes[i];
    return part;
}

static int send_all(const char *fn, const struct nvsi_lent *lent, const struct plan *plan,
                    uint64_t offset)
{
    const struct nvsi_team *world = nvsi.teams[NVSI_TEAM_WORLD];
    int status = 0;
    for (int n = 1; n < nvsi.npes; n++)
        for (int i = 0; !status && i < lent->npieces; i++) {
            struct nvsi_part part = part_of(plan, nvsi.me, (uint64_t)i, offset);
            status = nvsi_part_send(fn, world, (nvsi.me + n) % nvsi.npes, part.offset,
                                    lent->pieces[i].fd);
        }
    return status;
}

static int map_own(const char *fn, const struct nvsi_lent *lent, const struct plan *plan,
                   uint64_t offset)
{
    int status = 0;
    for (int i = 0; !status && i < lent->npieces; i++) {
        struct nvsi_part part = part_of(plan, nvsi.me, (uint64_t)i, offset);
        status = nvsi_part_map(fn, plan->chunk, &part, lent->pieces[i].handle);
    }
    return status;
}

/* Also after an error: what has been sent must not stay in the socket. */
static int receive_all(const char *fn, const struct plan *plan, uint64_t offset, int status)
{
    const struct nvsi_team *world = nvsi.teams[NVSI_TEAM_WORLD];
    for (int n = 1; n < nvsi.npes; n++) {
        int pe = (nvsi.me + n) % nvsi.npes;
        for (uint64_t i = 0; status != NVS_ERR_PE_LOST && i < plan->shapes[pe].npieces; i++) {
            struct nvsi_part part = part_of(plan, pe, i, offset);
            int received = nvsi_part_receive(fn, world, plan->chunk, &part);
            status = status ? status : received;
        }
    }
    return status;
}

/* From here on all know how everybody's part is made. */
static int share(const char *fn, const struct nvsi_lent *lent, const struct plan *plan,
                 uint64_t offset)
{
    struct nvsi_team *world = nvsi.teams[NVSI_TEAM_WORLD];
    int status = send_all(fn, lent, plan, offset);
    if (!status)
        status = map_own(fn, lent, plan, offset);
    status = receive_all(fn, plan, offset, status);
    return status == NVS_ERR_PE_LOST ? status
                                     : nvsi_window_agree(fn, world, NVSI_AT_MALLOC, status, 0);
}

int nvsi_window_adopt(const char *fn, uint64_t offset, uint64_t nbytes,
                      const struct nvsi_lent *lent, const struct nvsi_lent_shape *shapes)
{
    struct plan plan = {.shapes = shapes};
    uint64_t lead = nvsi_lent_lead(shapes), all = lead + nbytes + nvsi_lent_tail(shapes);
    nvsi_window_clear(offset - lead, all);
    int status = nvsi_window_agree(fn, nvsi.teams[NVSI_TEAM_WORLD], NVSI_AT_MALLOC,
                                   make_tables(fn, offset - lead, all, &plan), 0);
    if (!status)
        status = tell_sizes(fn, lent, &plan);
    if (!status)
        status = share(fn, lent, &plan, offset);
    if (plan.chunk && status)
        nvsi_chunk_drop(plan.chunk);
    else if (plan.chunk)
        nvsi_chunk_add(plan.chunk);
    free_plan(&plan);
    return status;
}
