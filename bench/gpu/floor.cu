/*
 * floor.cu - what the hardware can do, without a library: a page of code for each operation.
 *
 * usage: floor PART...     (reduce pipeline sync move exchange calls local bulk)
 *
 * Prints RESULT metric bytes median_us best_us. With one GPU both PEs are on it, side by side,
 * which tells whether the programs are right, and nothing about links.
 */
#include "harness.cuh"

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was measured before something hangs */
    const struct {
        const char *name;
        void (*run)(Pair &pair);
        size_t bytes; /* of a buffer */
    } parts[] = {{"reduce", floor_reduce, GIB},
                 {"pipeline", floor_pipeline, GIB},
                 {"sync", floor_sync, MIB},
                 {"move", floor_move, 256 * MIB},
                 {"exchange", floor_exchange, 256 * MIB},
                 {"calls", floor_calls, MIB},
                 {"local", floor_local, MIB},
                 {"bulk", floor_bulk, 256 * MIB}};
    size_t bytes = 0;
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (auto &part : parts)
            if (!strcmp(part.name, argv[i])) {
                bytes = std::max(bytes, part.bytes);
                known = true;
            }
        if (!known) {
            fprintf(stderr,
                    "floor: no part %s; there are reduce, pipeline, sync, move, exchange, "
                    "calls, local and bulk\n",
                    argv[i]);
            return 2;
        }
    }
    /* Streams of both PEs must not share a queue of the hardware: their kernels wait for each
     * other. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    /* Nor may a kernel be loaded when it is first launched: that waits for streams, and they wait
     * for the gate. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    Pair pair(std::max(bytes, MIB));
    printf("# two PEs on %s\n", pair.apart ? "two GPUs" : "one GPU");
    for (int i = 1; i < argc; i++)
        for (auto &part : parts)
            if (!strcmp(part.name, argv[i]))
                part.run(pair);
    return 0;
}
