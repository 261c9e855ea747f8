"""The table of results, and what it comes to."""

import fnmatch
import shutil

# What counts against the library: everything but a pass and a number of PEs that the program refuses.
FAILURES = ("failed", "timeout", "args", "build")
CELLS = {"ok": "ok", "failed": "FAILED", "timeout": "TIMEOUT", "args": "ARGS", "build": "BUILD",
         "pes": "-", "skip": "skip"}


class Expected:
    """A file of programs that are known not to pass: lines `NAME why`, NAME may have * and ?, and
    @N for one number of PEs only. Empty lines and those that begin with # do not count."""

    def __init__(self, path):
        self.rows = []
        if path:
            with open(path, encoding="utf-8") as f:
                for line in f:
                    name, _, why = line.strip().partition(" ")
                    if name and not name.startswith("#"):
                        self.rows.append((name, why.strip() or "known"))

    def why(self, name, npes):
        for pattern, why in self.rows:
            pattern, _, only = pattern.partition("@")
            if fnmatch.fnmatchcase(name, pattern) and only in ("", str(npes)):
                return why
        return None


class Row:
    """One program: name, {npes: verdict}, and the notes that explain them."""

    def __init__(self, name):
        self.name, self.verdicts, self.notes = name, {}, []
        self.known = {}  # npes -> why this failure was expected

    def note(self, text):
        if text and text not in self.notes:
            self.notes.append(text)

    def failed(self):
        return [n for n, v in self.verdicts.items() if v in FAILURES and n not in self.known]

    def cell(self, npes):
        verdict = self.verdicts.get(npes, "skip")
        return "known" if npes in self.known else CELLS[verdict]

    def expect(self, expected):
        for npes, verdict in self.verdicts.items():
            why = expected.why(self.name, npes)
            if why and verdict in FAILURES:
                self.known[npes] = why
                self.note(f"known: {why}")
            elif why and verdict == "ok":
                self.note(f"passes on {npes} PEs, though listed: {why}")


class Table:
    def __init__(self, names, counts):
        self.counts = counts
        self.width = max([len(n) for n in names] + [7])
        self.columns = shutil.get_terminal_size((120, 24)).columns

    def head(self):
        pes = "".join(f"  {f'{n} PEs':<7}" for n in self.counts)
        return f"{'program':<{self.width}}{pes}  note"

    def line(self, row):
        cells = "".join(f"  {row.cell(n):<7}" for n in self.counts)
        return f"{row.name:<{self.width}}{cells}  {'; '.join(row.notes)}".rstrip()

    def summary(self, rows):
        lines = []
        for n in self.counts:
            cells = [row.cell(n) for row in rows if n in row.verdicts]
            named = [(cells.count(c), w) for c, w in (
                ("ok", "passed"), ("FAILED", "failed"), ("TIMEOUT", "timed out"),
                ("BUILD", "did not compile"), ("ARGS", "asked for arguments"),
                ("known", "failed as expected"), ("-", "refused this number of PEs"))]
            lines.append(f"{n} PEs: {len(cells)} programs: "
                         + (", ".join(f"{k} {w}" for k, w in named if k) or "none"))
        skipped = sum(1 for row in rows if not row.verdicts)
        return lines + ([f"skipped: {skipped}"] if skipped else [])
