"""gpu_rows.py - the rows of the GPU tables, and the target of each.

Targets in microseconds or GB/s are those of two H200 joined by NVLink; on other GPUs the ratios to
the floor of the same run are what counts. With one GPU only the rows of one GPU are measured, and
those have no targets.
"""
from dataclasses import dataclass

from rows import KIB, MIB, Row, Rule, floor, time

GIB = 1 << 30

ALL_REDUCE = "All-reduce: sum of floats, two GPUs"
LARGE = "All-reduce: sum of floats, two GPUs, bus bandwidth"
AGREE = "Barriers, signals and words, two GPUs"
EXCHANGE = "All-to-all and broadcast, two GPUs"
MOVE = "Put bandwidth, two GPUs"
SELF = "In a kernel, one GPU: the device API against plain loads and stores"
CALLS = "Calls of the host, one GPU, a PE alone"
SHARED = "Two PEs that share a GPU, whose kernels take turns"


@dataclass(frozen=True)
class Bandwidth(Row):
    """Shown as GB/s; for two PEs the bus bandwidth of an all-reduce is that of its bytes."""
    unit = "GB/s"

    def shown(self, us):
        return self.nbytes / us * 1e-3 if us else None


def at_least(nbytes, gbs):
    return Rule("time", nbytes / gbs * 1e-3, text=f"≥ {gbs} GB/s")


def reduce_rows():
    for nbytes, us in ((8, 2.7), (KIB, None), (16 * KIB, 3.1), (64 * KIB, 3.3), (256 * KIB, 3.8),
                       (MIB, 6.2), (4 * MIB, 15)):
        yield Row(ALL_REDUCE, "all-reduce", "all_reduce", nbytes, time(us) if us else None)
    for nbytes, gbs in ((16 * MIB, 320), (64 * MIB, 345), (256 * MIB, 340), (GIB, 365)):
        yield Bandwidth(LARGE, "all-reduce", "all_reduce", nbytes, at_least(nbytes, gbs))


def agree_rows():
    yield Row(AGREE, "barrier on a stream", "barrier_stream", 0, floor(1.1))
    yield Row(AGREE, "barrier in a kernel, block", "barrier_block", 0, time(1.6))
    yield Row(AGREE, "put with signal, block, one way", "put_signal_block", 8, floor(1.1))
    for nbytes in (KIB, 16 * KIB, 64 * KIB, 256 * KIB):
        yield Row(AGREE, "put with signal, block, one way", "put_signal_block", nbytes, None)
    yield Row(AGREE, "p, one way (half a ping-pong)", "p_ping_pong", 8, time(0.70))
    yield Row(AGREE, "signal, one way", "signal_ping_pong", 8, time(0.70))
    yield Row(AGREE, "fetch-add", "fetch_add", 8, time(0.92))


def exchange_rows():
    limits = {("all_to_all", MIB): 5, ("all_to_all", 256 * MIB): 360, ("broadcast", MIB): 6,
              ("broadcast", 256 * MIB): 690}
    for metric, title in (("all_to_all", "all-to-all, in all"), ("broadcast", "broadcast")):
        for nbytes in (64 * KIB, MIB, 16 * MIB, 256 * MIB):
            limit = limits.get((metric, nbytes))
            yield Row(EXCHANGE, title, metric, nbytes, time(limit) if limit else None)


def move_rows():
    rule = Rule("floor", 1 / 0.98, text="≥ 0.98 × floor")
    for suffix, way in (("", "one direction"), ("_both", "both directions, each")):
        for metric, who in (("put_stream", "on a stream"), ("put_kernel", "from a kernel")):
            for nbytes in (64 * KIB, MIB, 16 * MIB, 256 * MIB):
                judged = rule if nbytes == 256 * MIB and not suffix else None
                yield Bandwidth(MOVE, f"put {who}, {way},", metric + suffix, nbytes, judged)


def self_rows():
    for metric, title in (("put_thread", "put + quiet, thread"), ("p_thread", "p, thread"),
                          ("g_thread", "g, thread"), ("fetch_add_thread", "fetch-add, thread"),
                          ("add_thread", "add, thread"), ("put_signal_thread", "put with signal, thread"),
                          ("signal_thread", "signal, thread"),
                          ("signal_blocks", "signal, one way between two blocks")):
        yield Row(SELF, title, f"{metric}_self", 8, None)
    for metric, title in (("put_warp", "put + quiet, warp"), ("put_block", "put + quiet, block"),
                          ("get_block", "get, block")):
        for nbytes in (KIB, 16 * KIB, 256 * KIB):
            yield Row(SELF, title, f"{metric}_self", nbytes, None)


# Operation of nvs-perf: what the table calls it. Those without bytes have no data.
OPERATIONS = {"put": "put", "put_nbi": "put_nbi", "get": "get", "get_nbi": "get_nbi", "p": "p", "g": "g",
              "put_signal": "put with signal", "signal": "signal", "fetch_add": "fetch-add", "add": "add",
              "swap": "swap", "cswap": "compare and swap", "fetch": "atomic fetch", "set": "atomic set",
              "barrier": "barrier", "sync": "sync", "all_reduce": "all-reduce",
              "reduce_scatter": "reduce-scatter", "all_gather": "all-gather",
              "broadcast": "broadcast", "all_to_all": "all-to-all"}
WITHOUT_BYTES = ("barrier", "sync")
ATOMICS = ("fetch_add", "add", "swap", "cswap", "fetch", "set")
# Way of calling: what the table calls it.
WAYS = {"host": "from the host", "stream": "on a stream, back to back",
        "stream_blocking": "on a stream, each waited for", "graph": "in a graph"}


def can_be_called(operation, way):
    """NVSHMEM has no atomics on streams; g returns a value, which a graph cannot."""
    return way == "host" or operation not in ATOMICS and (way, operation) != ("graph", "g")


def call_rows():
    for way, where in WAYS.items():
        for operation, title in OPERATIONS.items():
            if not can_be_called(operation, way):
                continue
            nbytes = 0 if operation in WITHOUT_BYTES else 8
            yield Row(CALLS, f"{title} {where}", f"{operation}_{way}_self", nbytes, None)


def shared_rows():
    for way in ("host", "stream", "graph"):
        yield Row(SHARED, f"barrier {WAYS[way]}", f"barrier_{way}_shared", 0, None)
        yield Row(SHARED, f"put with signal, one way, {WAYS[way]}", f"put_signal_{way}_shared", 8,
                  None)
        for nbytes in (8, 64 * KIB, MIB, 16 * MIB):
            yield Row(SHARED, f"all-reduce {WAYS[way]}", f"all_reduce_{way}_shared", nbytes, None)


ROWS = [*reduce_rows(), *agree_rows(), *exchange_rows(), *move_rows(), *self_rows(), *call_rows(),
        *shared_rows()]
