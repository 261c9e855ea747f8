/*
 * half_block.c - a block of half-precision gradients with its scale, sent in 16-bit units.
 *
 * 256 halfs and a float scale in one struct, as quantised gradients travel: by put16 with a fence
 * and a signal, and by put16_signal, from the host and on a stream, at addresses that are aligned
 * and at such that are aligned for halfs only. PEs form a ring. Each sends round after round to the
 * right and watches what comes from the left:
 *
 *   - at any time a half is that of the round before or that of this one, never a byte of each
 *   - once the signal is there, all halfs and the scale are of this round
 *
 * All bits of a half say the round: both bytes change from one to the next. A PE sends the next
 * block only when the right one has looked at this.
 */
#include "stream.h"

enum { HALFS = 256, UNITS = HALFS + 2, ROUNDS = 40, ROOM = 640 };

struct block {
    uint16_t half[HALFS];
    float scale;
};
_Static_assert(sizeof(struct block) == UNITS * 2, "no padding");

enum way { HOST_PUT, HOST_SIGNAL, STREAM_PUT, STREAM_SIGNAL, NUM_WAYS };
static const char *const way_names[] = {"put16", "put16_signal", "put16_on_stream",
                                        "put16_signal_on_stream"};
/* Distances from an address aligned to 64. */
static const struct {
    size_t dst, src;
} places[] = {{0, 0}, {2, 2}, {0, 6}, {10, 0}, {62, 30}};

static char *dst, *src; /* ROOM bytes each, symmetric */
static uint64_t *arrived,
    *looked; /* signals: rounds that came here; rounds the right one has seen */
static cudaStream_t stream;

static uint16_t half_of(uint64_t round)
{
    return (uint16_t)(round % 251 * 0x0101 + 0x0102);
}

static float scale_of(uint64_t round)
{
    return (float)round * 0.25f;
}

static void fill(char *to, uint64_t round)
{
    struct block block;
    for (int i = 0; i < HALFS; i++)
        block.half[i] = half_of(round);
    block.scale = scale_of(round);
    memcpy(to, &block, sizeof block);
}

static void send(enum way way, size_t to, size_t from, uint64_t round)
{
    int pe = right_pe();
    fill(src + from, round); /* the right one has seen the last one, so src is free */
    switch (way) {
    case HOST_PUT:
        nvshmem_put16(dst + to, src + from, UNITS, pe);
        nvshmem_fence();
        nvshmemx_signal_op(arrived, round, NVSHMEM_SIGNAL_SET, pe);
        break;
    case HOST_SIGNAL:
        nvshmem_put16_signal(dst + to, src + from, UNITS, arrived, round, NVSHMEM_SIGNAL_SET, pe);
        break;
    case STREAM_PUT:
        nvshmemx_put16_on_stream(dst + to, src + from, UNITS, pe, stream);
        nvshmemx_quiet_on_stream(stream);
        nvshmemx_signal_op_on_stream(arrived, round, NVSHMEM_SIGNAL_SET, pe, stream);
        break;
    default:
        nvshmemx_put16_signal_on_stream(dst + to, src + from, UNITS, arrived, round,
                                        NVSHMEM_SIGNAL_SET, pe, stream);
    }
}

/* Reads one half, another one in each round, as often as it can until the signal of this round is
 * there: what lies between two stores lasts nanoseconds. With one PE the writer may be a thread of
 * this process, and looking would be a race in it. */
static void watch(const char *block, uint64_t round, const char *how)
{
    const volatile uint16_t *half = (const volatile uint16_t *)block + round * 37 % HALFS;
    uint16_t before = half_of(round - 1), after = half_of(round);
    unsigned torn = 0, looks = 0;
    while (spmd_npes > 1 && nvshmem_signal_fetch(arrived) < round) {
        for (int i = 0; i < 200; i++) {
            uint16_t now = *half;
            torn += now != before && now != after;
        }
        if (++looks % 16 == 0)
            usleep(0); /* the writer may need this core */
    }
    CHECK(torn == 0, "%s: in round %llu a half was seen %u times that is neither %#x nor %#x", how,
          (unsigned long long)round, torn, before, after);
    nvshmem_signal_wait_until(arrived, NVSHMEM_CMP_GE, round);
}

static void check(const char *at, uint64_t round, const char *how)
{
    struct block block;
    int torn = 0;
    memcpy(&block, at, sizeof block);
    for (int i = 0; i < HALFS; i++)
        torn += block.half[i] != half_of(round);
    CHECK(torn == 0, "%s: %d of %d halfs are not of round %llu, which was signalled", how, torn,
          HALFS, (unsigned long long)round);
    CHECK(block.scale == scale_of(round), "%s: scale %g, expected %g", how, (double)block.scale,
          (double)scale_of(round));
}

static uint64_t run(enum way way, size_t place, uint64_t round)
{
    size_t to = places[place].dst, from = places[place].src;
    char how[64];
    snprintf(how, sizeof how, "%s to +%zu from +%zu", way_names[way], to, from);
    fill(dst + to, round); /* the state before the first one */
    nvshmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        /* Every other PE sends late, so that its neighbour is already looking. */
        double begun = spmd_seconds();
        while ((spmd_me + i) % 2 == 1 && spmd_seconds() < begun + 20e-6)
            ;
        send(way, to, from, ++round);
        watch(dst + to, round, how);
        check(dst + to, round, how);
        nvshmemx_signal_op(looked, round, NVSHMEM_SIGNAL_SET, left_pe());
        nvshmem_signal_wait_until(looked, NVSHMEM_CMP_GE, round);
    }
    nvshmem_barrier_all();
    return round;
}

int main(int argc, char **argv)
{
    spmd_begin(argc, argv);
    nvshmem_init();
    stream = stream_new(cudaStreamNonBlocking);
    dst = nvshmem_align(64, ROOM);
    src = nvshmem_align(64, ROOM);
    arrived = nvshmem_calloc(1, sizeof *arrived);
    looked = nvshmem_calloc(1, sizeof *looked);

    uint64_t round = 0;
    for (int way = 0; way < NUM_WAYS; way++)
        for (size_t place = 0; place < sizeof places / sizeof *places; place++)
            round = run((enum way)way, place, round);

    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
    nvshmem_free(looked);
    nvshmem_free(arrived);
    nvshmem_free(src);
    nvshmem_free(dst);
    nvshmem_finalize();
    return spmd_end();
}
