/*
 * rma.c - put, get, p, g, strided and non-blocking forms of all types of both APIs, with random
 * sizes, places, strides and targets, on the heap and on static data.
 *
 * A row of the table (rma_rows.h) is tested in one round: each PE makes one call of every kind, and
 * all PEs know from the shared seed what every other PE does. Puts go into a strip of the target
 * that belongs to the putting PE; a put is checked by its target, byte by byte, with all that must
 * not have changed; a get by whoever got it, against the known content of the source.
 */
#include "rma_rows.h"

enum { MAX_PES = 8, STRIP = 2048, MARGIN = 64, MAX_ELEM = 16 };

/* Four symmetric areas: each has the strips of the PEs, then data to be read. */
struct area {
    _Alignas(64) unsigned char strips[MAX_PES][STRIP];
    _Alignas(64) unsigned char source[STRIP];
};

struct area global_area = {.strips = {{1}}}; /* initialised data */
static struct area static_area;              /* .bss */
static struct area far_area[1000];           /* a large .bss object of which one element is used */
enum { AREAS = 4 };
static struct area *areas[AREAS];
static const char *const area_names[AREAS] = {"heap", "global", "static", "large static"};

/* ---- data ------------------------------------------------------------------------------------ */

/* Byte i of what PE `pe` has to give. As a long double every 16 of them are a normal number, since
 * the processor may change other patterns on their way through a register. */
static unsigned char source_byte(int pe, size_t i)
{
    unsigned char byte = (unsigned char)rng_mix(spmd_seed + (uint64_t)pe * 65536 + i);
    if (i % 16 == 7)
        byte |= 0x80;
    if (i % 16 == 9)
        byte = 0x40;
    return byte;
}

static void fill_areas(void)
{
    for (int a = 0; a < AREAS; a++)
        for (size_t i = 0; i < STRIP; i++)
            areas[a]->source[i] = source_byte(spmd_me, i);
}

enum kind { PUT, PUT_NBI, IPUT, P, GET, GET_NBI, IGET, G, KINDS };
static const char *const kind_names[] = {"put", "put_nbi", "iput", "p",
                                         "get", "get_nbi", "iget", "g"};

/* One call, as drawn from the stream of (row and kind, PE). Offsets are in bytes. */
struct call {
    struct area *area;
    int area_index, pe;
    size_t nelems, dst_at, src_at;
    ptrdiff_t dst_stride, src_stride;
};

static struct call draw(int r, enum kind kind, int caller)
{
    struct rng rng = rng_of((uint64_t)(r * KINDS + (int)kind), (uint64_t)caller);
    struct call call = {.dst_stride = 1, .src_stride = 1};
    size_t bytes = rows[r].bytes, room = (STRIP - 2 * MARGIN) / bytes;
    call.area_index = (int)rng_below(&rng, AREAS);
    call.area = areas[call.area_index];
    call.pe = (int)rng_below(&rng, (size_t)spmd_npes);
    if (kind == IPUT || kind == IGET) {
        call.dst_stride = 1 + (ptrdiff_t)rng_below(&rng, 5);
        call.src_stride = 1 + (ptrdiff_t)rng_below(&rng, 5);
        room /= 5;
    }
    size_t most = rng_below(&rng, 2) ? room : room < 8 ? room : 8;
    call.nelems = kind == P || kind == G ? 1 : rng_below(&rng, most + 1);
    ptrdiff_t widest = call.dst_stride > call.src_stride ? call.dst_stride : call.src_stride;
    size_t span = call.nelems * (size_t)widest * bytes;
    size_t slack = (STRIP - 2 * MARGIN - span) / MAX_ELEM + 1;
    /* Multiples of 16: aligned, and long doubles are read where they are normal numbers. */
    call.dst_at = MARGIN + MAX_ELEM * rng_below(&rng, slack);
    call.src_at = MARGIN + MAX_ELEM * rng_below(&rng, slack);
    return call;
}

/* What a strip looks like after the call, from zeros. */
static void model(const struct row *row, const struct call *call, enum kind kind, int source_pe,
                  unsigned char *strip)
{
    size_t bytes = kind == P || kind == G ? row->value_bytes : row->bytes;
    memset(strip, 0, STRIP);
    for (size_t e = 0; e < call->nelems; e++)
        for (size_t b = 0; b < bytes; b++)
            strip[call->dst_at + e * (size_t)call->dst_stride * row->bytes + b] = source_byte(
                source_pe, call->src_at + e * (size_t)call->src_stride * row->bytes + b);
}

static void compare(int r, enum kind kind, const struct call *call, int source_pe,
                    const unsigned char *have)
{
    unsigned char want[STRIP];
    const struct row *row = &rows[r];
    model(row, call, kind, source_pe, want);
    bool value = kind == P || kind == G;
    for (size_t i = 0; i < STRIP; i++) {
        if (value && i >= call->dst_at + row->value_bytes && i < call->dst_at + row->bytes)
            continue; /* padding */
        CHECK(have[i] == want[i],
              "%s %s: byte %zu is %02x, expected %02x (%zu elements of PE %d at %zu, stride %td, "
              "to %zu, stride %td, %s)",
              row->name, kind_names[kind], i, have[i], want[i], call->nelems, source_pe,
              call->src_at, call->src_stride, call->dst_at, call->dst_stride,
              area_names[call->area_index]);
        if (have[i] != want[i])
            return;
    }
}

/* ---- the calls ------------------------------------------------------------------------------- */

static bool has(const struct row *row, enum kind kind)
{
    if (kind == IPUT || kind == IGET)
        return row->iput;
    return (kind != P && kind != G) || (row->p && is_kept(row->name));
}

static void do_put(const struct row *row, enum kind kind, const struct call *call)
{
    unsigned char *dst = call->area->strips[spmd_me] + call->dst_at;
    const unsigned char *src = call->area->source + call->src_at;
    if (kind == PUT)
        row->put(dst, src, call->nelems, call->pe);
    else if (kind == PUT_NBI)
        row->put_nbi(dst, src, call->nelems, call->pe);
    else if (kind == IPUT)
        row->iput(dst, src, call->dst_stride, call->src_stride, call->nelems, call->pe);
    else
        row->p(dst, src, call->pe);
}

static void test_put(int r, enum kind kind)
{
    if (!has(&rows[r], kind))
        return;
    for (int a = 0; a < AREAS; a++)
        memset(areas[a]->strips, 0, sizeof areas[a]->strips);
    shmem_barrier_all();
    struct call mine = draw(r, kind, spmd_me);
    do_put(&rows[r], kind, &mine);
    shmem_ctx_quiet(ctx); /* the barrier completes the default context only */
    shmem_barrier_all();
    for (int pe = 0; pe < spmd_npes; pe++) {
        struct call call = draw(r, kind, pe);
        if (call.pe == spmd_me)
            compare(r, kind, &call, pe, call.area->strips[pe]);
    }
}

static void test_get(int r, enum kind kind)
{
    const struct row *row = &rows[r];
    struct call call = draw(r, kind, spmd_me);
    unsigned char here[STRIP] __attribute__((aligned(64))) = {0};
    const unsigned char *src = call.area->source + call.src_at;
    if (!has(row, kind))
        return;
    if (kind == GET)
        row->get(here + call.dst_at, src, call.nelems, call.pe);
    else if (kind == GET_NBI)
        row->get_nbi(here + call.dst_at, src, call.nelems, call.pe);
    else if (kind == IGET)
        row->iget(here + call.dst_at, src, call.dst_stride, call.src_stride, call.nelems, call.pe);
    else
        row->g(here + call.dst_at, src, call.pe);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    compare(r, kind, &call, call.pe, here);
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    if (spmd_npes > MAX_PES)
        shmem_global_exit(SPMD_SKIP);
    areas[0] = shmem_align(64, sizeof(struct area));
    areas[1] = &global_area;
    areas[2] = &static_area;
    areas[3] = &far_area[777];
    CHECK(shmem_ctx_create(0, &ctx) == 0, "no context");
    fill_areas();
    for (int r = 0; r < ROWS; r++)
        rows[r].value_bytes = value_bytes(rows[r].name, rows[r].bytes);
    shmem_barrier_all();
    for (int r = 0; r < ROWS; r++) {
        for (int kind = PUT; kind <= P; kind++)
            test_put(r, (enum kind)kind);
        for (int kind = GET; kind <= G; kind++)
            test_get(r, (enum kind)kind);
    }
    shmem_ctx_destroy(ctx);
    return spmd_end();
}
