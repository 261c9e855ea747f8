"""report.py - the table on the terminal, docs/performance.md and docs/performance.json."""
import json
import pathlib
import tomllib

from rows import size_text
from systems import PEERS
from verdict import MET, MISSED, NOISE

HERE = pathlib.Path(__file__).resolve().parent
COLUMN = {"floor": "floor", "nvs": "nvs", "oshmem": "OSHMEM", "ompi": "Open MPI", "mpich": "MPICH",
          "nvshmem": "NVSHMEM", "nccl": "NCCL", "torch": "PyTorch"}


def number(value):
    """Three digits, as far as they mean something."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}" if value < 0.1 else f"{value:.3f}"


def spread_text(spread):
    if spread is None:
        return "–"
    return f"{number(spread.middle)} ({number(spread.low)}–{number(spread.high)})"


def seen_text(judged):
    """What the rule compares: a ratio, or a figure with its unit."""
    row = judged.row
    if not row.rule or not judged.against or row.rule.kind != "time":
        return spread_text(judged.against) if row.rule else ""
    spread = judged.against
    low, high = sorted((row.shown(spread.low), row.shown(spread.high)))
    return (f"{number(row.shown(spread.middle))} ({number(low)}–{number(high)}) "
            f"{row.unit}")


def title(judged):
    size = f" {size_text(judged.row.nbytes)}" if judged.row.nbytes else ""
    return judged.row.title + size


def times(other):
    """How many times slower the peer is: the inverse of our ratio."""
    return "–" if other is None or not other.middle else f"{number(1 / other.middle)} ×"


def table(headings, lines):
    text = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(text + ["| " + " | ".join(line) + " |" for line in lines])


def present(judged_rows):
    """Those systems of which there is any figure."""
    return [name for name in COLUMN if any(name in judged.us for judged in judged_rows)]


def section_table(judged_rows, every_peer=PEERS):
    names = present(judged_rows)
    peers = [name for name in every_peer if name in names]
    headings = ([judged_rows[0].row.unit] + [COLUMN[name] for name in names] +
                [f"{COLUMN[name]} takes" for name in peers] + ["target", "seen", "verdict"])
    lines = []
    for judged in judged_rows:
        figures = [number(judged.row.shown(judged.us[name].middle)) if name in judged.us else "–"
                   for name in names]
        slower = [times(judged.ratios.get(name)) for name in peers]
        rule = judged.row.rule
        lines.append([title(judged), *figures, *slower, rule.text if rule else "",
                      seen_text(judged), judged.verdict])
    return table(headings, lines)


def sections(judged_rows):
    found = {}
    for judged in judged_rows:
        if judged.us:
            found.setdefault(judged.row.section, []).append(judged)
    return found


def all_tables(judged_rows, every_peer=PEERS):
    return "\n\n".join(f"### {name}\n\n{section_table(rows, every_peer)}"
                       for name, rows in sections(judged_rows).items())


def summary(judged_rows):
    count = {verdict: sum(judged.verdict == verdict for judged in judged_rows)
             for verdict in (MET, MISSED, NOISE)}
    return (f"{count[MET]} targets met, {count[MISSED]} missed, "
            f"{count[NOISE]} within noise of the limit")


def load_notes(path=HERE / "notes.toml"):
    with open(path, "rb") as file:
        notes = tomllib.load(file)
    return notes.get("row", {}), notes.get("change", [])


def missed_text(judged_rows, reasons):
    """A sentence for every row that is not met."""
    lines = []
    for judged in judged_rows:
        if judged.verdict in (MISSED, NOISE):
            why = reasons.get(judged.row.key, "no reason is known yet.")
            lines.append(f"- **{title(judged)}** ({judged.verdict}): "
                         f"{seen_text(judged)}, target {judged.row.rule.text}: "
                         f"{' '.join(why.split())}")
    return "\n".join(lines) or "None."


def changes_text(changes):
    lines = [[" ".join(change.get(key, "").split()) for key in ("what", "predicted", "seen", "why")]
             for change in changes]
    return table(["change", "predicted", "seen", "why"], lines)


def conditions_text(about):
    lines = [f"{about['cpu']}, {about['cpus']} CPUs, {about['memory']} memory, Linux "
             f"{about['kernel']}, {about['date']}, load {about['load']} at the start. "
             f"{about['rounds']} rounds in {about['seconds']:.0f} s, {about['scheduling']}."]
    lines += [f"- {name}: {version}" for name, version in about["versions"].items() if version]
    lines += [f"- {name} is not in the tables: {why}" for name, why in about["missing"].items()]
    lines += [f"- {problem}" for problem in about["problems"]]
    return "\n".join(lines[:1] + [""] + lines[1:])


def markdown(judged_rows, about, reasons, changes):
    text = (HERE / "performance.md.in").read_text(encoding="utf-8")
    for name, value in {"conditions": conditions_text(about), "summary": summary(judged_rows),
                        "tables": all_tables(judged_rows),
                        "missed": missed_text(judged_rows, reasons),
                        "changes": changes_text(changes)}.items():
        text = text.replace(f"@{name}@", value)
    return text


def spread_json(spread):
    return [float(f"{value:.5g}") for value in (spread.low, spread.middle, spread.high)]


def as_json(judged_rows, about, samples):
    """Spreads are [lower quartile, median, upper quartile]; rounds are all figures, in order."""
    rows = []
    for judged in judged_rows:
        if not judged.us:
            continue
        row = judged.row
        rounds = {name: samples.of(name, (row.metric, row.nbytes)) for name in judged.us
                  if name != "beside"}
        rows.append({
            "section": row.section, "row": row.key, "metric": row.metric, "bytes": row.nbytes,
            "target": row.rule.text if row.rule else None, "verdict": judged.verdict or None,
            "seen": spread_json(judged.against) if judged.against else None,
            "us": {name: spread_json(spread) for name, spread in judged.us.items()},
            "ratio": {name: spread_json(spread) for name, spread in judged.ratios.items()},
            "rounds_us": rounds})
    return json.dumps({"about": about, "rows": rows}, indent=1, ensure_ascii=False) + "\n"


def terminal(judged_rows, about):
    """Markdown is readable enough there, with its columns in line."""
    out = [conditions_text(about)]
    for name, rows in sections(judged_rows).items():
        out.append(f"\n{name}\n" + aligned(section_table(rows)))
    return "\n".join(out + ["", summary(judged_rows)])


def aligned(markdown_table):
    cells = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in markdown_table.splitlines()]
    del cells[1]
    width = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return "\n".join("  ".join(cell.ljust(width[i]) if i == 0 else cell.rjust(width[i])
                               for i, cell in enumerate(row)) for row in cells)
