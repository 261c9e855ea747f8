"""plot.py - plots as SVG, from the same figures as the tables."""
import math
from html import escape

from report import COLUMN, number, title
from rows import COLLECTIVES, REDUCE, size_text
from systems import PEERS

COLOUR = {"floor": "#888888", "nvs": "#0b6e4f", "oshmem": "#c8553d", "ompi": "#e09f3e",
          "mpich": "#5b6abf", "nvshmem": "#c8553d", "nccl": "#e09f3e", "torch": "#5b6abf"}
STYLE = ("text{font:12px sans-serif;fill:#222} .title{font-size:15px;font-weight:bold} "
         ".grid{stroke:#ddd} .axis{stroke:#222}")


class Drawing:
    def __init__(self, width, height, heading):
        self.size = (width, height)
        self.parts = [f'<rect width="{width}" height="{height}" fill="white"/>']
        self.text(12, 24, heading, "start", "title")

    def add(self, element):
        self.parts.append(element)

    def text(self, x, y, words, anchor="middle", kind=""):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">'
                 f"{escape(words)}</text>")

    def line(self, x1, y1, x2, y2, kind="grid", colour=None, width=1):
        paint = f'style="stroke:{colour};stroke-width:{width}"' if colour else f'class="{kind}"'
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {paint}/>')

    def dot(self, x, y, colour, hint):
        self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}">'
                 f"<title>{escape(hint)}</title></circle>")

    def legend(self, x, y, names):
        for name in names:
            self.dot(x, y - 4, COLOUR[name], COLUMN[name])
            self.text(x + 9, y, COLUMN[name], "start")
            x += 30 + 7.5 * len(COLUMN[name])

    def svg(self):
        width, height = self.size
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}">\n<style>{STYLE}</style>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


class LogScale:
    """Powers of the base that hold all values, onto low .. high."""

    def __init__(self, values, low, high, base=10):
        self.base = base
        self.first = math.floor(math.log(min(values), base))
        self.last = max(math.ceil(math.log(max(values), base)), self.first + 1)
        self.low, self.high = low, high

    def at(self, value):
        share = (math.log(value, self.base) - self.first) / (self.last - self.first)
        return self.low + share * (self.high - self.low)

    def ticks(self):
        return [float(self.base) ** k for k in range(self.first, self.last + 1)]


def reduce_plot(judged_rows, heading="All-reduce of floats, two PEs: microseconds"):
    """Time of an all-reduce over its size, for each system."""
    found = [judged for judged in judged_rows if judged.row.metric == "all_reduce" and judged.us]
    if not found:
        return None
    drawing = Drawing(720, 420, heading)
    names = [name for name in COLUMN if any(name in judged.us for judged in found)]
    every = [judged.us[name].middle for judged in found for name in names if name in judged.us]
    y_of = LogScale(every, 360, 60)
    step = 600 / max(len(found) - 1, 1)
    for tick in y_of.ticks():
        drawing.line(70, y_of.at(tick), 690, y_of.at(tick))
        drawing.text(62, y_of.at(tick) + 4, f"{tick:g}", "end")
    for i, judged in enumerate(found):
        drawing.text(80 + i * step, 380, size_text(judged.row.nbytes))
    for name in names:
        points = [(80 + i * step, y_of.at(judged.us[name].middle), judged)
                  for i, judged in enumerate(found) if name in judged.us]
        for (x1, y1, _), (x2, y2, _) in zip(points, points[1:]):
            drawing.line(x1, y1, x2, y2, colour=COLOUR[name], width=2)
        for x, y, judged in points:
            drawing.dot(x, y, COLOUR[name], f"{COLUMN[name]}, {size_text(judged.row.nbytes)}: "
                                            f"{number(judged.us[name].middle)} µs")
    drawing.legend(80, 408, names)
    return drawing.svg()


def rows_plot(heading, lines, limit_of, base=10):
    """A line for each row: dots with quartiles on a logarithmic axis of ratios; 1 is equal.
    lines: (label, [(name, Spread)], row)."""
    height = 90 + 20 * len(lines)
    drawing = Drawing(760, height, heading)
    every = [value for _, dots, _ in lines for _, spread in dots
             for value in (spread.low, spread.high) if value > 0]
    x_of = LogScale([*every, 0.9, 1.1], 270, 735, base)
    for tick in x_of.ticks():
        drawing.line(x_of.at(tick), 40, x_of.at(tick), height - 45, "axis" if tick == 1 else "grid")
        drawing.text(x_of.at(tick), height - 30, f"{tick:g}")
    for i, (label, dots, row) in enumerate(lines):
        y = 54 + 20 * i
        drawing.text(260, y + 4, label, "end")
        limit = limit_of(row)
        if limit:
            drawing.line(x_of.at(limit), y - 8, x_of.at(limit), y + 8, colour="#b00020", width=2)
        for name, spread in dots:
            drawing.line(x_of.at(spread.low), y, x_of.at(spread.high), y, colour=COLOUR[name],
                         width=2)
            drawing.dot(x_of.at(spread.middle), y, COLOUR[name],
                        f"{COLUMN[name]}: {number(spread.middle)} "
                        f"({number(spread.low)}–{number(spread.high)})")
    names = [name for name in COLUMN if any(name == dot[0] for _, dots, _ in lines for dot in dots)]
    drawing.legend(270, height - 10, names)
    return drawing.svg()


def floor_plot(judged_rows):
    lines = [(title(judged), [("nvs", judged.against)], judged.row) for judged in judged_rows
             if judged.against and judged.row.rule.kind in ("floor", "paired")]
    heading = "nvs as a multiple of the floor; red: the target"
    return rows_plot(heading, lines, lambda row: row.rule.limit, base=2) if lines else None


def peers_plot(judged_rows):
    lines = []
    for judged in judged_rows:
        dots = [(name, judged.ratios[name]) for name in PEERS if name in judged.ratios]
        if dots and judged.row.section in (COLLECTIVES, REDUCE):
            lines.append((title(judged), dots, judged.row))
    heading = "Collectives: time of nvs as a share of each peer's; left of 1 is ahead"
    return rows_plot(heading, lines, lambda row: None) if lines else None


def all_plots(judged_rows):
    """File name: text."""
    plots = {"performance-floor.svg": floor_plot(judged_rows),
             "performance-all-reduce.svg": reduce_plot(judged_rows),
             "performance-peers.svg": peers_plot(judged_rows)}
    return {name: text for name, text in plots.items() if text}
