"""gpu_report.py - the tables of the GPU measurement: on the terminal, performance-gpu.md, .json and
its plots."""
import pathlib

import gpu_rows
import gpu_systems
import plot
import report
from rows import MIB, size_text

HERE = pathlib.Path(__file__).resolve().parent
PEERS = gpu_systems.PEERS


def conditions_text(about):
    gpus = about["gpus"]
    lines = [f"{gpus} × {about['gpu']}, driver {about['driver']}, CUDA {about['cuda']}; {about['cpu']}, "
             f"{about['cpus']} CPUs, Linux {about['kernel']}, {about['date']}. "
             f"{about['rounds']} rounds in {about['seconds']:.0f} s."]
    if gpus < 2:
        lines += ["One GPU: what needs a second one is not in the tables, and no target applies.",
                  "Two PEs that share it take turns: a kernel that waits for another PE's waits for a "
                  "time slice."]
    lines += [f"- {name}: {version}" for name, version in about["versions"].items() if version]
    lines += [f"- {name} is not in the tables: {why}" for name, why in about["missing"].items()]
    lines += [f"- {problem}" for problem in about["problems"]]
    return "\n".join(lines[:1] + [""] + lines[1:])


def markdown(judged_rows, about, reasons, plots):
    text = (HERE / "performance-gpu.md.in").read_text(encoding="utf-8")
    pictures = "\n".join(f"![{heading_of(name)}]({name})" for name in plots)
    for name, value in {"conditions": conditions_text(about), "summary": report.summary(judged_rows),
                        "tables": report.all_tables(judged_rows, PEERS), "pictures": pictures,
                        "missed": report.missed_text(judged_rows, reasons)}.items():
        text = text.replace(f"@{name}@", value)
    return text


def terminal(judged_rows, about):
    out = [conditions_text(about)]
    for name, rows in report.sections(judged_rows).items():
        out.append(f"\n{name}\n" + report.aligned(report.section_table(rows, PEERS)))
    return "\n".join(out)


def short(judged_rows):
    """What is read first: the rows with targets, one line each."""
    lines = [["", "nvs", "floor", "best peer", "target", "", ""]]
    for judged in judged_rows:
        if not judged.row.rule or not judged.us:
            continue
        shown = {name: report.number(judged.row.shown(spread.middle)) for name, spread in judged.us.items()}
        peers = sorted((judged.us[name].middle, name) for name in PEERS if name in judged.us)
        best = f"{shown[peers[0][1]]} {report.COLUMN[peers[0][1]]}" if peers else "–"
        lines.append([report.title(judged), shown.get("nvs", "–"), shown.get("floor", "–"), best,
                      judged.row.rule.text, judged.row.unit, judged.verdict or "not measured"])
    width = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(w) for cell, w in zip(line, width)).rstrip() for line in lines]
    return "\n".join([*text, "", report.summary(judged_rows)])


# ---- plots -------------------------------------------------------------------------------------

HEADINGS = {"performance-gpu-all-reduce.svg": "All-reduce of floats, two GPUs: microseconds",
            "performance-gpu-bandwidth.svg": "All-reduce of floats, two GPUs: bus bandwidth, GB/s",
            "performance-gpu-floor.svg": "nvs as a multiple of the floor, two GPUs; red: the target",
            "performance-gpu-self.svg": "Device API in a kernel, one GPU, as a multiple of plain loads "
                                        "and stores"}


def heading_of(name):
    return HEADINGS[name]


def bandwidth_plot(judged_rows, heading):
    """Bars would hide the differences: a line for each system over the size."""
    found = [judged for judged in judged_rows
             if judged.row.metric == "all_reduce" and judged.us and judged.row.nbytes >= MIB]
    if not found:
        return None
    names = [name for name in report.COLUMN if any(name in judged.us for judged in found)]
    speed = {(name, judged.row.nbytes): judged.row.nbytes / judged.us[name].middle * 1e-3
             for judged in found for name in names if name in judged.us}
    top = max(speed.values()) * 1.1
    drawing = plot.Drawing(720, 420, heading)
    tick = 10 ** (len(str(int(top))) - 1)
    for k in range(0, int(top // tick) + 1):
        y = 360 - 300 * k * tick / top
        drawing.line(70, y, 690, y)
        drawing.text(62, y + 4, f"{k * tick:g}", "end")
    step = 600 / max(len(found) - 1, 1)
    for i, judged in enumerate(found):
        drawing.text(80 + i * step, 380, size_text(judged.row.nbytes))
    for name in names:
        points = [(80 + i * step, 360 - 300 * speed[name, judged.row.nbytes] / top, judged)
                  for i, judged in enumerate(found) if name in judged.us]
        for (x1, y1, _), (x2, y2, _) in zip(points, points[1:]):
            drawing.line(x1, y1, x2, y2, colour=plot.COLOUR[name], width=2)
        for x, y, judged in points:
            value = report.number(speed[name, judged.row.nbytes])
            drawing.dot(x, y, plot.COLOUR[name], f"{report.COLUMN[name]}, "
                                                 f"{size_text(judged.row.nbytes)}: {value} GB/s")
    drawing.legend(80, 408, names)
    return drawing.svg()


def ratio_plot(judged_rows, sections, heading, base):
    lines = [(report.title(judged), [("nvs", judged.ratios["floor"])], judged.row)
             for judged in judged_rows
             if "floor" in judged.ratios and judged.row.section in sections]

    def limit(row):
        return row.rule.limit if row.rule and row.rule.kind == "floor" else None

    return plot.rows_plot(heading, lines, limit, base) if lines else None


def all_plots(judged_rows):
    """File name: text."""
    two = (gpu_rows.ALL_REDUCE, gpu_rows.LARGE, gpu_rows.AGREE, gpu_rows.EXCHANGE, gpu_rows.MOVE)
    draw = {"performance-gpu-all-reduce.svg": plot.reduce_plot,
            "performance-gpu-bandwidth.svg": bandwidth_plot,
            "performance-gpu-floor.svg": lambda rows, heading: ratio_plot(rows, two, heading, 2),
            "performance-gpu-self.svg":
                lambda rows, heading: ratio_plot(rows, (gpu_rows.SELF,), heading, 2)}
    plots = {name: function(judged_rows, HEADINGS[name]) for name, function in draw.items()}
    return {name: text for name, text in plots.items() if text}


# ---- and back: from performance-gpu.json to the documents ----------------------------------------


class Saved:
    """The samples of a file, as verdict.judge wants them."""

    def __init__(self, found):
        self.rounds = found["about"]["rounds"]
        self.us = {(name, (row["metric"], row["bytes"])): values for row in found["rows"]
                   for name, values in row["rounds_us"].items()}

    def of(self, system, key):
        return self.us.get((system, key), [None] * self.rounds)
