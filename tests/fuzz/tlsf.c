/*
 * tlsf.c - any history of the heap's allocator: blocks do not overlap, keep their size and
 * alignment, and its tables stay sound. A second replica that sees the same history must answer
 * alike.
 */
#include "util/tlsf.h"

#include "fuzz.h"

enum { MOST_BLOCKS = 64, MOST_CALLS = 200 };

struct block {
    int used;
    uint32_t id;
    uint64_t offset, nbytes;
};

static struct block blocks[MOST_BLOCKS];
static struct nvsi_tlsf *replicas[2];
static uint64_t span;

static void check_block(const struct block *block, uint64_t align)
{
    PROMISE(block->offset % align == 0, "offset %llu, alignment %llu",
            (unsigned long long)block->offset, (unsigned long long)align);
    PROMISE(block->offset <= span && block->nbytes <= span - block->offset, "outside");
    PROMISE(nvsi_tlsf_size(replicas[0], block->id) == block->nbytes, "another size");
    for (int i = 0; i < MOST_BLOCKS; i++)
        PROMISE(&blocks[i] == block || !blocks[i].used ||
                    block->offset + block->nbytes <= blocks[i].offset ||
                    blocks[i].offset + blocks[i].nbytes <= block->offset,
                "two blocks overlap");
}

static void allocate(struct block *block, uint64_t nbytes, uint64_t align)
{
    uint64_t offset[2];
    uint32_t id[2];
    int status[2];
    for (int i = 0; i < 2; i++)
        status[i] = nvsi_tlsf_alloc(replicas[i], nbytes, align, &offset[i], &id[i]);
    PROMISE(status[0] == status[1], "replicas differ");
    if (status[0])
        return;
    PROMISE(offset[0] == offset[1] && id[0] == id[1], "replicas differ");
    *block = (struct block){1, id[0], offset[0], nbytes};
    check_block(block, align);
}

static void resize(struct block *block, uint64_t nbytes)
{
    int status[2];
    for (int i = 0; i < 2; i++)
        status[i] = nvsi_tlsf_resize(replicas[i], block->id, nbytes);
    PROMISE(status[0] == status[1], "replicas differ");
    if (status[0] == 0)
        block->nbytes = nbytes;
    check_block(block, 64);
}

static void release(struct block *block)
{
    uint32_t id;
    PROMISE(nvsi_tlsf_find(replicas[0], block->offset, &id) == 0 && id == block->id, "lost");
    for (int i = 0; i < 2; i++)
        nvsi_tlsf_release(replicas[i], block->id);
    block->used = 0;
}

static void one_call(struct reader *reader)
{
    struct block *block = &blocks[read_byte(reader) % MOST_BLOCKS];
    uint8_t what = read_byte(reader);
    uint64_t nbytes = 0;
    read_bytes(reader, &nbytes, 1 + (what >> 6) * 2U);
    if (!block->used)
        allocate(block, nbytes, UINT64_C(64) << (what & 31) % 25);
    else if (what & 32)
        resize(block, nbytes);
    else
        release(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader reader = {data, size};
    span = (uint64_t)read_byte(&reader) << (read_byte(&reader) % 32);
    replicas[0] = nvsi_tlsf_create(span);
    replicas[1] = nvsi_tlsf_create(span);
    memset(blocks, 0, sizeof blocks);
    for (int i = 0; i < MOST_CALLS && reader.left && replicas[0] && replicas[1]; i++) {
        one_call(&reader);
        const char *wrong = i % 8 ? NULL : nvsi_tlsf_check(replicas[0]);
        PROMISE(!wrong, "%s", wrong);
    }
    const char *wrong = replicas[0] ? nvsi_tlsf_check(replicas[0]) : NULL;
    PROMISE(!wrong, "%s", wrong);
    for (int i = 0; i < 2; i++)
        if (replicas[i])
            nvsi_tlsf_destroy(replicas[i]);
    return 0;
}
