/*
 * help.c - what --help says. The manual page and the completions say the same: change them
 * together.
 */
#include "perf.h"

#include <string.h>

static const char usage[] = "Usage: nvsrun -n N nvs-perf OP... [options]\n"
                            "\n"
                            "Measures operations between N PEs and checks their results. The table "
                            "has nccl-tests' columns\n"
                            "and units. Without nvsrun there is one PE, which talks to itself.\n";

static const char options_text[] =
    "\n"
    "Sizes in bytes, with K, M, G or T (powers of 1024). For all_gather, reduce_scatter and\n"
    "all_to_all, of the blocks of all PEs together\n"
    "  -b, --minbytes SIZE       first size; default 8\n"
    "  -e, --maxbytes SIZE       last size; default 32M\n"
    "  -f, --stepfactor N        multiply by N, at least 2. The default without -b, with N = 2\n"
    "  -i, --stepbytes SIZE      add SIZE. The default with -b, as in nccl-tests, with 1M\n"
    "\n"
    "Operation\n"
    "  -d, --datatype TYPE|all   int8 uint8 int32 uint32 int64 uint64 half float double bfloat16;\n"
    "                            default float, for atomics uint64\n"
    "  -o, --op REDOP|all        sum prod max min avg; default sum\n"
    "  -r, --root PE|all         of broadcast; default 0\n"
    "  --pattern PATTERN         between two PEs: one (0 to 1; default), pairs (0 to 1, 2 to 3 "
    "...),\n"
    "                            ring (each to the next)\n"
    "  --memory host|device      where the buffers are; default host. device: that of the GPU "
    "whose\n"
    "                            number is the PE's on this host\n"
    "  --mode MODE               who calls: host (default), stream, graph (a stream's, replayed), "
    "or\n"
    "                            thread, warp or block of a kernel\n"
    "  --blocks N|auto           block: share a put or get out to N blocks; auto: one for each\n"
    "                            multiprocessor; default 1\n"
    "  --threads N               rate: threads of a PE, 1..256; default 1\n"
    "  --contexts N              rate: contexts that they share, 0..256; 0: the default context;\n"
    "                            default: one for each thread\n"
    "\n"
    "Measuring\n"
    "  -n, --iters N|auto        iterations; auto (default): as many as take 20 ms, 20..100000\n"
    "  -w, --warmup_iters N      iterations before the clock starts; default 5\n"
    "  -c, --check N             rounds of checking, 0: none; default 1\n"
    "  --blocking                wait for each iteration before the next begins: its latency. "
    "Otherwise\n"
    "                            a series is started at once, and the time is that between two\n"
    "  --rotate 0|1              1 (default): iterations take turns in buffers that together "
    "exceed\n"
    "                            the cache; 0: always the same buffer\n"
    "  --percentiles             p50, p90, p99, p99.9 and the maximum of single iterations\n"
    "\n"
    "Results\n"
    "  --json FILE               write them as JSON, too\n"
    "  --plot FILE               draw time and bus bandwidth over the size, as SVG\n"
    "  -h, --help                show this\n"
    "  --version                 show the version\n";

static const char examples[] =
    "\n"
    "Examples\n"
    "  nvsrun -n 4 nvs-perf all_reduce\n"
    "  nvsrun -n 8 nvs-perf all_gather -b 1G -e 4G -w 5 -n 1000\n"
    "  nvsrun -n 3 nvs-perf all -d all -o all -r all -b 1000 -e 1000 -n 1\n"
    "  nvsrun -n 2 nvs-perf all_reduce --memory device --mode graph\n"
    "  nvsrun -n 2 --bind none nvs-perf rate --threads 4 --contexts 2\n"
    "\n"
    "Exit status\n"
    "  0 if all is well, 1 if values were wrong, 2 if it could not be measured\n";

void help_print(void)
{
    const char *group = "";
    fputs(usage, stdout);
    for (size_t i = 0; op_at(i); i++) {
        const struct op *op = op_at(i);
        if (strcmp(group, op->group) != 0)
            printf("\nOperations: %s\n", op->group);
        group = op->group;
        printf("  %-14s  %s\n", op->name, op->help);
    }
    fputs("\n  atomics         all atomics\n  all             all operations\n", stdout);
    fputs(options_text, stdout);
    fputs(examples, stdout);
}
