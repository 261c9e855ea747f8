/*
 * coll_share_test.c - the parts into which PEs cut a reduction: together they are all elements,
 * each once and in order; inner borders are cache lines; none is larger than it must be for that.
 */
#include "../../src/coll/coll.h"
#include "check.h"

static void check_partition(size_t nelems, int npes, size_t elem_bytes)
{
    struct nvsi_team team = {.npes = npes};
    struct nvsi_coll_args args = {.elem_bytes = elem_bytes};
    struct nvsi_coll coll = {.team = &team, .args = &args};
    size_t next = 0, line = 64 / elem_bytes;
    for (int part = 0; part < npes; part++) {
        size_t first, count;
        nvsi_coll_share(&coll, nelems, part, &first, &count);
        CHECK(first == next, "%zu x %zu bytes on %d: part %d begins at %zu, not %zu", nelems,
              elem_bytes, npes, part, first, next);
        CHECK(first % line == 0 || first == nelems, "%zu x %zu bytes on %d: part %d at %zu", nelems,
              elem_bytes, npes, part, first);
        CHECK(count < nelems / (size_t)npes + 1 + line, "%zu x %zu bytes on %d: part %d of %zu",
              nelems, elem_bytes, npes, part, count);
        next = first + count;
    }
    CHECK(next == nelems, "%zu x %zu bytes on %d: %zu in all", nelems, elem_bytes, npes, next);
}

int main(void)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    for (size_t s = 0; s < 5; s++)
        for (int npes = 1; npes <= 70; npes++) {
            for (size_t nelems = 0; nelems < 300; nelems++)
                check_partition(nelems, npes, sizes[s]);
            check_partition((size_t)1 << 40, npes, sizes[s]);
            check_partition(((size_t)1 << 40) + 12345, npes, sizes[s]);
        }
    return check_result();
}
