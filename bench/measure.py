"""measure.py - runs one program and reads its results, and leaves nothing of it behind.

Peers can crash, hang, or lose their children. So every program has a limit, we adopt whatever
processes it leaves (PR_SET_CHILD_SUBREAPER), and end those too.
"""
import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field

PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Outcome:
    us: dict = field(default_factory=dict)    # (metric, bytes): median microseconds
    best: dict = field(default_factory=dict)  # the same: best batch
    problem: str = ""                         # in words; there may be results nevertheless
    wall_us: float = 0.0


def parse(text):
    """The RESULT lines of a program's output; lines of others (warnings) may be between them."""
    outcome = Outcome()
    for line in text.splitlines():
        word = line.split()
        if len(word) != 5 or word[0] != "RESULT":
            continue
        try:
            key, median, best = (word[1], int(word[2])), float(word[3]), float(word[4])
        except ValueError:
            continue
        outcome.us[key], outcome.best[key] = median, best
    return outcome


def adopt_orphans():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def end_children(but=()):
    """Kills and reaps all processes below us, generation by generation, until there are none."""
    for _ in range(100):
        left = [pid for pid in children() if pid not in but]
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for pid in left:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass


def ending(status):
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return f"exit status {status}" if status else ""


def run(command, limit_s, environment=None, neighbours=()):
    """Runs the program; `neighbours` are processes of ours that stay."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace",
                               env={**os.environ, **(environment or {})})
    try:
        out, err = process.communicate(timeout=limit_s)
        problem = ending(process.returncode)
    except subprocess.TimeoutExpired:
        process.kill()
        end_children(neighbours)
        out, err = process.communicate()
        problem = f"not finished after {limit_s} s"
    wall = (time.perf_counter() - start) * 1e6
    end_children(neighbours)
    outcome = parse(out)
    outcome.wall_us = wall
    lines = [line.strip() for line in err.splitlines() if line.strip(" -=\t")]
    outcome.problem = f"{problem}: {lines[0][:120]}" if problem and lines else problem
    return outcome
