"""Runs one program on some PEs and judges what came out.

A program passes if it exits with 0 in time. Some say that they want another number of PEs, or
arguments: such a run is neither a pass nor a failure of the library, and the number that was asked
for is tried instead."""

import os
import re
import shlex
import subprocess

WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8}
COUNT = r"(\d+|" + "|".join(WORDS) + r")"
PES = r"(?:PEs?\b|processing elements?|processors?\b|process(?:es)?\b|procs?\b|ranks?\b)"
WANTS = [
    re.compile(rf"(?:requires?|needs?|must|only|expects?|supports?|at least|exactly|minimum)"
               rf"[^\n.]{{0,50}}?\b{COUNT}\s+(?:or more\s+)?{PES}", re.I),
    re.compile(rf"{PES}[^\n.]{{0,30}}(?:must|should|needs?|has to|have to)[^\n.]{{0,30}}\b{COUNT}\b",
               re.I),
]
USAGE = re.compile(r"^\s*usage\b|\busage:|too few arguments|missing argument", re.I | re.M)
TIMED_OUT = 124


class Run:
    """What happened: verdict is ok, failed, timeout, pes (wants `wants`) or args."""

    def __init__(self, verdict, status, note, wants=None):
        self.verdict, self.status, self.note, self.wants = verdict, status, note, wants


def wanted_pes(text, npes):
    for pattern in WANTS:
        for match in pattern.finditer(text):
            word = match[1].lower()
            count = WORDS.get(word) or int(word)
            if count != npes and 0 < count <= 64:
                return count
    return None


def last_words(text):
    """A line of the output that says what went wrong: the launcher's sentence, else the last."""
    lines = [l.strip() for l in text.splitlines() if l.strip()]
    ours = [l for l in lines if l.startswith(("nvs: ", "nvsrun: "))]
    return (ours or lines[-1:] or ["no output"])[0][:150]


class Runner:
    def __init__(self, bin_dir, timeout, arguments, env):
        self.nvsrun = os.path.join(bin_dir, "nvsrun")
        self.timeout, self.arguments = timeout, arguments
        self.env = dict(os.environ, **env)

    def run(self, executable, arguments, npes, log, where):
        command = [self.nvsrun, "-n", str(npes), "--bind", "none", "--timeout", str(self.timeout)]
        command += ["--", executable] + shlex.split(arguments)
        status, text = None, ""
        with open(log, "w+", encoding="utf-8", errors="replace") as f:
            f.write(" ".join(command) + "\n")
            f.flush()
            try:
                # nvsrun ends its job in time; should it not, that is its own failure.
                status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=f,
                                        stderr=subprocess.STDOUT, cwd=where, env=self.env,
                                        timeout=self.timeout + 30, check=False).returncode
            except subprocess.TimeoutExpired:
                return Run("timeout", None, "nvsrun did not end the job in time")
            f.seek(0)
            text = f.read().partition("\n")[2]
        return self.judge(status, text, npes, arguments)

    def judge(self, status, text, npes, arguments):
        if status == 0:
            return Run("ok", 0, "")
        if status == TIMED_OUT:
            return Run("timeout", status, last_words(text))
        wants = wanted_pes(text, npes)
        if wants:
            return Run("pes", status, f"asks for {wants} PEs", wants)
        if USAGE.search(text) and not arguments:
            return Run("args", status, "asks for arguments (--args)")
        return Run("failed", status, f"status {status}: {last_words(text)}")
