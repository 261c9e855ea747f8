#!/usr/bin/env python3
"""A PE dies: the job must end at once, say who, how and where, and leave nothing behind.

    kill_test.py NVSRUN VICTIM [--random N] [--seconds S] [--seed SEED]

Without options: every place with some way to die, at a few sizes. --random: N random deaths, by
the program's own hand or by a signal from outside, of a PE or of nvsrun itself; --seconds goes on
for that long (NVS_STRESS_SECONDS is the default for --seconds 0).
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time

LIMIT_S = 60.0  # against hangs; on an idle machine it is a fraction of a second

# Place in the program -> what nvsrun calls it.
PLACES = {
    "compute": "while computing",
    "barrier": "in barrier",
    "sync": "in sync",
    "malloc": "in malloc",
    "reduce": "in all_reduce",
    "lock": "in set_lock",
    "wait": "in wait_until",
    "finalize": "in (barrier|finalize)",
}
# Way to die -> (what nvsrun says, its exit status).
WAYS = {
    "kill": (r"was killed by signal 9", 137),
    "segv": (r"was killed by signal 11", 139),
    "abort": (r"was killed by signal 6", 134),
    "exit3": (r"exited with status 3", 3),
    "exit0": (r"exited with status 0 without finalize", 1),
    "return": (r"exited with status 0 without finalize", 1),
    "exec": (r"exited with status 0 without finalize", 1),
    "handler": (r"exited with status 4", 4),
    "fault_in_handler": (r"was killed by signal 11", 139),
}

# After finalize, which the others may just have left, these are no loss.
IN_ORDER = ("exit0", "return", "exec")

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what, flush=True)


def processes(marker, program=None):
    """Those with the marker among their arguments (and this program), zombies excepted."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if marker.encode() in words and program in (None, words[0].decode()):
                found.append(int(pid))
        except OSError:
            pass
    return found


def check_nothing_left(marker, what):
    deadline = time.monotonic() + LIMIT_S
    while processes(marker) and time.monotonic() < deadline:
        time.sleep(0.01)
    left = processes(marker)
    check(not left, f"{what}: processes {left} are left")
    for pid in left:
        os.kill(pid, signal.SIGKILL)


class Job:
    def __init__(self, npes, place, how, pe, delay_ms):
        self.marker = f"marker-{os.getpid()}-{time.monotonic_ns()}"
        self.what = f"{npes} PEs, PE {pe}, {place}, {how}"
        self.delay = delay_ms / 1000
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            [options.nvsrun, "--bind", "none", "-n", str(npes), options.victim, place, how,
             str(pe), str(delay_ms), self.marker],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL)

    def pes(self):
        """The PEs, not nvsrun and its helpers, which have the marker as well."""
        return processes(self.marker, options.victim)

    def finish(self, since=None):
        """Waits; returns (status, error output)."""
        try:
            _, err = self.process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, err = self.process.communicate()
            check(False, f"{self.what}: no end: {err}")
        took = time.monotonic() - (since or self.start + self.delay)
        check(took < LIMIT_S, f"{self.what}: {took:.2f} s")
        check_nothing_left(self.marker, self.what)
        return self.process.returncode, err


def check_report(job, status, err, pe, place, way):
    words, expected = WAYS[way]
    lines = [line for line in err.splitlines() if re.search(rf"\bPE {pe}\b.*{words}", line)]
    check(len(lines) == 1, f"{job.what}: no single line with 'PE {pe} {words}' in: {err}")
    check(lines and re.search(PLACES[place], lines[0]), f"{job.what}: '{PLACES[place]}' in: {err}")
    check(status == expected, f"{job.what}: status {status}, expected {expected}")


def die_by_itself(npes, place, way, pe, delay_ms=30):
    job = Job(npes, place, way, pe, delay_ms)
    status, err = job.finish()
    check_report(job, status, err, pe, place, way)


def global_exit(npes, place, pe):
    job = Job(npes, place, "global", pe, 30)
    status, err = job.finish()
    check(status == 7, f"{job.what}: status {status}, expected 7")
    check("killed" not in err, f"{job.what}: {err}")


def kill_from_outside(npes, place, nvsrun_too, rng):
    """SIGKILL to some process of the job at a random moment, perhaps in the middle of init."""
    job = Job(npes, place, "kill", 0, 60000)
    time.sleep(rng.random() * 0.15)
    since = time.monotonic()
    targets = job.pes()
    if nvsrun_too or not targets:
        job.process.kill()
        job.finish(since)
        return
    target = rng.choice(targets)
    try:
        os.kill(target, signal.SIGKILL)
    except ProcessLookupError:
        pass
    status, err = job.finish(since)
    check(status == 137 or status < 0, f"{job.what}: status {status} after SIGKILL: {err}")
    check(re.search(r"PE \d+.*killed by signal 9", err), f"{job.what}: {err}")


def all_places():
    for number, place in enumerate(PLACES):
        ways = list(WAYS)
        if place == "finalize":
            ways = [way for way in ways if way not in IN_ORDER]
        die_by_itself(2, place, ways[number % len(ways)], number % 2)
        die_by_itself(4, place, ways[(number + 2) % len(ways)], (number * 3) % 4)
    for way in WAYS:
        die_by_itself(3, "barrier", way, 2)
        die_by_itself(1, "compute", way, 0)
    global_exit(4, "barrier", 3)
    global_exit(2, "compute", 0)


def one_random(rng):
    npes = rng.choice([2, 3, 4, 8])
    place = rng.choice(list(PLACES))
    kind = rng.random()
    if kind < 0.5:
        way = rng.choice([way for way in WAYS if place != "finalize" or way not in IN_ORDER])
        die_by_itself(npes, place, way, rng.randrange(npes), rng.randrange(1, 80))
    elif kind < 0.6:
        global_exit(npes, place, rng.randrange(npes))
    else:
        kill_from_outside(npes, place, kind > 0.8, rng)


def random_deaths():
    seed = options.seed or int(time.time() * 1000) % 1000000
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    seconds = options.seconds
    if seconds == 0:
        seconds = float(os.environ.get("NVS_STRESS_SECONDS") or 60)
    start = time.monotonic()
    count = 0
    while (count < options.random if options.random else time.monotonic() < start + seconds):
        one_random(rng)
        count += 1
    print(f"{count} deaths in {time.monotonic() - start:.1f} s")


parser = argparse.ArgumentParser()
parser.add_argument("nvsrun")
parser.add_argument("victim")
parser.add_argument("--random", type=int, default=0)
parser.add_argument("--seconds", type=float)
parser.add_argument("--seed", type=int, default=int(os.environ.get("NVS_TEST_SEED") or 0))
options = parser.parse_args()
if options.random or options.seconds is not None:
    random_deaths()
else:
    all_places()
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
