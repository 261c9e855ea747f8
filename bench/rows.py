"""rows.py - the rows of the table: what is measured, and the target of each.

A row is a metric of the programs (or of this runner: start, crowds) with a size and a rule. Targets
are ratios within one run wherever there is something to compare with; the few in microseconds are
for operations whose floor is a single instruction.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """`kind` is floor, paired, like, peers or time. The figure must not exceed `limit`."""
    kind: str
    limit: float
    other: str = ""  # kind like: the metric of nvs that this one is compared with
    text: str = ""   # as the target is written in the table
    by_floor: bool = False  # kind like: compare multiples of the floor beside each, not times


@dataclass(frozen=True)
class Row:
    section: str
    title: str
    metric: str
    nbytes: int
    rule: Rule | None
    system: str = "nvs"  # whose figure is judged

    unit = "µs"

    def shown(self, us):
        """A figure as the tables show it, in `unit`."""
        return us

    @property
    def key(self):
        """Names the row in notes.toml and in the JSON file."""
        return f"{self.metric} {self.nbytes}" if self.nbytes else self.metric


KIB, MIB = 1 << 10, 1 << 20


def size_text(nbytes):
    if nbytes >= KIB * MIB:
        return f"{nbytes // (KIB * MIB)} GiB"
    if nbytes >= MIB:
        return f"{nbytes // MIB} MiB"
    return f"{nbytes // KIB} KiB" if nbytes >= KIB else f"{nbytes} B"


def floor(limit):
    """Against the floor program, in a process of its own: sizes at which memory counts."""
    return Rule("floor", limit, text=f"≤ {limit} × floor")


def paired(limit):
    """Against the floor's loops whose batches alternate with ours in the same processes: what takes
    a few transfers of a cache line, and depends on how near the two cores are at that moment."""
    return Rule("paired", limit, text=f"≤ {limit} × floor")


def copy():
    return Rule("paired", 1 / 0.97, text="≤ 1.03 × memcpy's time")


def like(other, text, limit=1.1):
    """What moves cache lines between the cores depends on where they are: see paired."""
    return Rule("like", limit, other, text, by_floor=other.startswith(("put_ping_pong", "barrier")))


def peers():
    return Rule("peers", 1.0, text="ahead of all")


def time(limit_us, text=None):
    return Rule("time", limit_us, text=text or f"≤ {limit_us} µs")


SMALL, BUSY, REDUCE = "One word, and barriers", "While the target computes", "Sum of floats on all PEs"
COPIES, COLLECTIVES = "Put and get", "Other collectives"
CROWD, START, THREADS = "More processes than cores", "Start", "THREAD_MULTIPLE against SINGLE"


def small_rows():
    yield Row(SMALL, "put, one way (half a ping-pong)", "put_ping_pong", 8, paired(1.1))
    yield Row(SMALL, "fetch-add", "fetch_add", 8, time(0.015))
    yield Row(SMALL, "put + quiet", "put_quiet", 8, time(0.015))
    yield Row(SMALL, "get", "get_word", 8, time(0.012))
    for metric, title in (("put_ping_pong", "put, one way"), ("fetch_add", "fetch-add"),
                          ("put_quiet", "put + quiet"), ("get_word", "get")):
        yield Row(SMALL, f"{title}, static object", f"{metric}_static", 8,
                  like(metric, "as on the heap"))
    yield Row(SMALL, "barrier", "barrier", 0, paired(1.3))
    for suffix, where in (("", "heap"), ("_static", "static object")):
        yield Row(BUSY, f"one fetch-add, {where}, target idle", f"fetch_add_idle{suffix}", 8, None)
        yield Row(BUSY, f"one fetch-add, {where}, target computes", f"fetch_add_busy{suffix}", 8,
                  like(f"fetch_add_idle{suffix}", "as when it is idle", 2.0))


def large_rows():
    rules = {4: paired(1.3), KIB: paired(1.3), 64 * KIB: floor(1.2), MIB: floor(1.2),
             16 * MIB: floor(1.1), 64 * MIB: floor(1.1)}
    for nbytes, rule in rules.items():
        yield Row(REDUCE, "all-reduce", "all_reduce", nbytes, rule)
    for nbytes in (KIB, 64 * KIB, MIB, 16 * MIB):
        yield Row(REDUCE, "all-reduce, ordinary memory", "all_reduce_ordinary", nbytes, None)
    for metric, title in (("put", "put"), ("get", "get"),
                          ("put_misaligned", "put, 4 bytes off"),
                          ("get_misaligned", "get, 4 bytes off")):
        for nbytes in (64 * KIB, MIB, 16 * MIB):
            yield Row(COPIES, title, metric, nbytes, copy())
    for metric in ("broadcast", "all_gather", "reduce_scatter", "all_to_all"):
        for nbytes in (8, 64 * KIB, MIB):
            yield Row(COLLECTIVES, metric.replace("_", "-"), metric, nbytes, peers())


def other_rows():
    yield Row(CROWD, "barrier of 4 PEs on 2 cores", "barrier_4", 0, time(5))
    yield Row(CROWD, "barrier of 16 PEs on 2 cores", "barrier_16", 0, time(40))
    yield Row(CROWD, "barrier of 2 PEs beside 2 busy processes", "barrier_neighbours", 0, time(80))
    yield Row(START, "2 PEs, initialise and finalize", "start", 0, time(30000, "≤ 0.03 s"))
    for metric, title, nbytes in (("put_ping_pong", "put, one way", 8), ("fetch_add", "fetch-add", 8),
                                  ("put_quiet", "put + quiet", 8), ("barrier", "barrier", 0)):
        yield Row(THREADS, title, f"{metric}_multiple", nbytes,
                  like(f"{metric}_single", "no difference", 1.02))


ROWS = [*small_rows(), *large_rows(), *other_rows()]
