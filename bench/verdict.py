"""verdict.py - from samples to ratios, and from ratios to verdicts.

A ratio is taken in each round, between figures of the same round. What is shown is the median of
the rounds and the quartiles; a verdict is given only if the quartiles agree about it.
"""
import statistics
from dataclasses import dataclass, field

from systems import PEERS

MET, MISSED, NOISE, NONE = "met", "missed", "within noise", ""


@dataclass(frozen=True)
class Spread:
    low: float
    middle: float
    high: float

    @staticmethod
    def of(values):
        values = [value for value in values if value is not None]
        if not values:
            return None
        if len(values) == 1:
            return Spread(values[0], values[0], values[0])
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        return Spread(low, middle, high)

    def against(self, limit):
        if self.high <= limit:
            return MET
        return MISSED if self.low > limit else NOISE


@dataclass
class Judged:
    """A row with everything that was found out about it."""
    row: object
    us: dict = field(default_factory=dict)      # system: Spread of microseconds
    ratios: dict = field(default_factory=dict)  # system: Spread of nvs / system
    against: Spread | None = None               # what the rule compares with its limit
    verdict: str = NONE


def quotients(ours, theirs):
    return [a / b if a is not None and b else None for a, b in zip(ours, theirs)]


def per_floor(samples, metric, nbytes):
    """Ratios to the floor's batches beside ours."""
    return quotients(samples.of("nvs", (metric, nbytes)),
                     samples.of("nvs", (f"beside:{metric}", nbytes)))


def like(samples, row):
    """Ratios to another metric of nvs."""
    ours = samples.of("nvs", (row.metric, row.nbytes))
    other = samples.of("nvs", (row.rule.other, row.nbytes))
    if row.rule.by_floor:
        ours, other = (per_floor(samples, metric, row.nbytes)
                       for metric in (row.metric, row.rule.other))
    return quotients(ours, other)


def compare_peers(judged, peers):
    """Ahead of all is met; behind any is missed."""
    found = [judged.ratios[name] for name in peers if name in judged.ratios]
    if not found:
        return
    judged.against = max(found, key=lambda spread: spread.middle)
    verdicts = [spread.against(judged.row.rule.limit) for spread in found]
    judged.verdict = next(v for v in (MISSED, NOISE, MET) if v in verdicts)


def judge(row, samples, peers=PEERS):
    judged = Judged(row)
    key = (row.metric, row.nbytes)
    ours = samples.of("nvs", key)
    for name in ("floor", "nvs", *peers):
        spread = Spread.of(samples.of(name, key))
        if spread:
            judged.us[name] = spread
            if name != "nvs":
                ratio = Spread.of(quotients(ours, samples.of(name, key)))
                if ratio:
                    judged.ratios[name] = ratio
    beside = Spread.of(samples.of("nvs", (f"beside:{row.metric}", row.nbytes)))
    if beside:
        judged.us["beside"] = beside
        judged.ratios["beside"] = Spread.of(per_floor(samples, row.metric, row.nbytes))
    if row.rule and row.rule.kind == "peers":
        compare_peers(judged, peers)
    elif row.rule:
        judged.against = {
            "floor": lambda: judged.ratios.get("floor"),
            "paired": lambda: judged.ratios.get("beside"),
            "like": lambda: Spread.of(like(samples, row)),
            "time": lambda: judged.us.get("nvs"),
        }[row.rule.kind]()
        if judged.against:
            judged.verdict = judged.against.against(row.rule.limit)
    return judged


def judge_all(rows, samples, peers=PEERS):
    return [judge(row, samples, peers) for row in rows]
