/*
 * tlsf_model_test.c - random calls of the offset allocator against a simple model: an array with
 * the owner of each granule, which sees every overlap and knows whether a request could have
 * fitted.
 */
#include "tlsf_help.h"

struct model {
    struct nvsi_tlsf *tlsf;
    uint64_t ngranules;
    uint32_t *owner;   /* block number in each granule, or NOBODY */
    struct live *live; /* in no order */
    uint32_t nlive;
};

static struct model model_create(uint64_t span)
{
    struct model model = {.tlsf = nvsi_tlsf_create(span), .ngranules = span / GRANULE};
    model.owner = malloc(model.ngranules * sizeof(*model.owner));
    model.live = malloc(model.ngranules * sizeof(*model.live));
    if (!model.tlsf || !model.owner || !model.live)
        abort();
    memset(model.owner, 0xff, model.ngranules * sizeof(*model.owner));
    return model;
}

static void model_destroy(struct model *model)
{
    nvsi_tlsf_destroy(model->tlsf);
    free(model->owner);
    free(model->live);
}

static uint64_t granules(uint64_t nbytes)
{
    return nbytes ? (nbytes + GRANULE - 1) / GRANULE : 1;
}

/* Makes granules [start, start + count) change hands; false if one was not `from`'s. */
static bool model_hand_over(struct model *model, uint64_t start, uint64_t count, uint32_t from,
                            uint32_t to)
{
    if (start > model->ngranules || count > model->ngranules - start)
        return false;
    bool right = true;
    for (uint64_t g = start; g < start + count; g++) {
        right = right && model->owner[g] == from;
        model->owner[g] = to;
    }
    return right;
}

static bool model_could_fit(const struct model *model, uint64_t nbytes, uint64_t align)
{
    uint64_t step = align > GRANULE ? align / GRANULE : 1, run = 0;
    for (uint64_t g = model->ngranules; g-- > 0;) {
        run = model->owner[g] == NOBODY ? run + 1 : 0;
        if (run >= granules(nbytes) && g % step == 0)
            return true;
    }
    return false;
}

static void model_alloc(struct model *model, uint64_t nbytes, uint64_t align)
{
    struct live live = {.nbytes = nbytes};
    if (nvsi_tlsf_alloc(model->tlsf, nbytes, align, &live.offset, &live.id) != 0) {
        CHECK(!model_could_fit(model, nbytes, align),
              "%" PRIu64 " bytes at a multiple of %" PRIu64 " were refused", nbytes, align);
        return;
    }
    CHECK(live.offset % align == 0, "%" PRIu64 " is no multiple of %" PRIu64, live.offset, align);
    CHECK(model_hand_over(model, live.offset / GRANULE, granules(nbytes), NOBODY, live.id),
          "block %u at %" PRIu64 " overlaps another", live.id, live.offset);
    CHECK(nvsi_tlsf_size(model->tlsf, live.id) == nbytes, "size of block %u", live.id);
    CHECK(nvsi_tlsf_offset(model->tlsf, live.id) == live.offset, "offset of block %u", live.id);
    model->live[model->nlive++] = live;
}

static void model_release(struct model *model, uint32_t i)
{
    struct live live = model->live[i];
    uint32_t id = NOBODY;
    CHECK(nvsi_tlsf_find(model->tlsf, live.offset, &id) == 0 && id == live.id,
          "block %u is not found at %" PRIu64, live.id, live.offset);
    nvsi_tlsf_release(model->tlsf, live.id);
    CHECK(nvsi_tlsf_find(model->tlsf, live.offset, &id) != 0, "block %u is still found", live.id);
    CHECK(model_hand_over(model, live.offset / GRANULE, granules(live.nbytes), live.id, NOBODY),
          "block %u had lost a part", live.id);
    model->live[i] = model->live[--model->nlive];
}

static void model_resize(struct model *model, uint32_t i, uint64_t nbytes)
{
    struct live *live = &model->live[i];
    uint64_t old = granules(live->nbytes), new = granules(nbytes);
    uint64_t end = live->offset / GRANULE + old;
    uint64_t room = 0;
    while (end + room < model->ngranules && old + room < new && model->owner[end + room] == NOBODY)
        room++;
    int status = nvsi_tlsf_resize(model->tlsf, live->id, nbytes);
    CHECK(status == (old + room >= new ? 0 : -1), "resize from %" PRIu64 " to %" PRIu64 ": %d",
          live->nbytes, nbytes, status);
    CHECK(nvsi_tlsf_size(model->tlsf, live->id) == (status ? live->nbytes : nbytes), "size");
    CHECK(nvsi_tlsf_offset(model->tlsf, live->id) == live->offset, "a resize moved the block");
    if (status != 0)
        return;
    if (new > old)
        CHECK(model_hand_over(model, end, new - old, NOBODY, live->id), "grew into a block");
    else
        CHECK(model_hand_over(model, end - (old - new), old - new, live->id, NOBODY), "shrank");
    live->nbytes = nbytes;
}

/* Every offset of the range belongs to whom the model says. */
static void model_compare(const struct model *model)
{
    for (uint64_t g = 0; g < model->ngranules; g++) {
        uint32_t id = NOBODY;
        int status = nvsi_tlsf_block(model->tlsf, g * GRANULE + random_below(GRANULE), &id);
        CHECK(status == (model->owner[g] == NOBODY ? -1 : 0) && id == model->owner[g],
              "granule %" PRIu64 " belongs to %u, not %u", g, model->owner[g], id);
    }
}

static void test_random_against_model(void)
{
    struct model model = model_create(96 * 1024 + 17);
    random_state = 1;
    for (int i = 0; i < 60000; i++) {
        uint64_t what = random_below(10), nbytes = random_size(8000);
        uint64_t align = UINT64_C(1) << random_below(13);
        /* Phases of growth and of decline, so that the range runs full and empty. */
        if (what < (i / 2000 % 2 ? 4 : 6))
            model_alloc(&model, nbytes, align);
        else if (what < 8 && model.nlive)
            model_release(&model, (uint32_t)random_below(model.nlive));
        else if (model.nlive)
            model_resize(&model, (uint32_t)random_below(model.nlive), nbytes);
        if (i % 50 == 0)
            check_sound(model.tlsf, "random operations");
        if (i % 5000 == 0)
            model_compare(&model);
    }
    while (model.nlive)
        model_release(&model, (uint32_t)random_below(model.nlive));
    check_empty(model.tlsf, "after random operations");
    model_destroy(&model);
}

int main(void)
{
    test_random_against_model();
    return check_result();
}
