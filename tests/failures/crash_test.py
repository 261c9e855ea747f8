#!/usr/bin/env python3
"""A PE dies at a planted point, between two writes that others read; or nvsrun does.

    crash_test.py NVSRUN CRASH SOURCE_DIR [--all]

The points are those of the sources (boot/crash.h). At each, some PE is made to die (--all: every
PE), in two kinds of job: one that ends with the loss, and one that goes on (--on-loss continue), in
which the others must get an error instead of waiting for ever, and leave in order. NVSRUN and CRASH
are compiled with the points.
"""

import argparse
import glob
import os
import re
import signal
import subprocess
import sys
import time

PATIENCE = 60.0
NPES = 3

# These a process of nvsrun's comes to; it has no number. Those in a child before it has got one, too.
OF_NVSRUN = ("run_", "child_begins", "child_told")
AFTER_A_LOSS = ("run_loss", "run_ending")  # nvsrun comes there when a PE has died

failures = 0
nruns = 0


def points():
    """Points by name, with their files."""
    found = {}
    for path in glob.glob(f"{options.source}/src/**/*.[ch]", recursive=True) + glob.glob(
            f"{options.source}/tools/run/*.c"):
        with open(path) as file:
            for name in re.findall(r"NVSI_CRASH_POINT\((\w+)\);", file.read()):
                found[name] = os.path.relpath(path, options.source)
    return found


def processes(marker):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace")
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marker in words and state not in "ZX":
            found.append(int(pid))
    return found


class Job:
    def __init__(self, crash_at, on_loss="end"):
        global nruns
        nruns += 1
        self.what = f"CRASH_AT={crash_at} --on-loss {on_loss}"
        self.marker = f"marker-{os.getpid()}-{nruns}"
        environment = {**os.environ, "CRASH_AT": crash_at, "NVS_ON_ERROR": "return",
                       "NVS_LOG": "error"}
        command = [options.nvsrun, "-n", str(NPES), "--bind", "none", "--on-loss", on_loss,
                   options.crash, self.marker]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment)
        try:
            self.out, self.err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            self.out, self.err = process.communicate()
            self.complain("does not end")
        self.status = process.returncode
        end = time.monotonic() + PATIENCE
        while processes(self.marker) and time.monotonic() < end:
            time.sleep(0.01)
        self.expect(not processes(self.marker), "processes are left")

    def complain(self, what):
        global failures
        failures += 1
        print(f"FAILED: {self.what}: {what}; status {getattr(self, 'status', '?')}\n{self.out}{self.err}",
              flush=True)

    def expect(self, condition, what):
        if not condition:
            self.complain(what)

    def expect_success(self):
        self.expect((self.status, self.err) == (0, ""), "the program itself is wrong")
        self.expect("lost" not in self.out, "a loss without a death")

    def expect_loss(self, pe):
        """nvsrun names the PE; a death after finalize it may tell twice."""
        lines = self.err.splitlines()
        named = [line for line in lines if re.match(
            rf"nvsrun: PE {pe} \(pid \d+\) was killed by signal 9 \(Killed\)", line)]
        self.expect(len(named) == 1 or (len(named) == 2 and "after finalize" in named[0]),
                    f"not named: PE {pe}")
        self.expect(named == lines, "other words")
        self.expect(self.status == 137, "not status 137")

    def expect_survivors(self, pe):
        left = {line for line in self.out.splitlines()}
        for other in range(NPES):
            if other != pe:
                self.expect(f"PE {other} leaves: a PE was lost" in left or
                            f"PE {other} leaves" in left, f"PE {other} did not leave")
        self.expect("a PE was lost" in self.out, "nobody noticed")


def death_of_a_pe(name, pe):
    Job(f"{name}:{pe}").expect_loss(pe)
    if name.startswith("child_"):  # without its third PE no job begins
        return
    job = Job(f"{name}:{pe}", on_loss="continue")
    job.expect_loss(pe)
    job.expect_survivors(pe)


def death_of_nvsrun(name):
    crash_at = f"{name}:-1"
    if name.startswith(AFTER_A_LOSS):
        crash_at += ",heap_decided:1"
    job = Job(crash_at)
    if name.startswith("child_"):
        job.expect_loss(r"\d")
    else:
        job.expect(job.status == -signal.SIGKILL, "nvsrun did not come there")
        lines = job.err.splitlines()
        job.expect(not lines or (len(lines) == 1 and lines[0].startswith("nvsrun: PE 1 ")), "other words")


def main():
    found = points()
    if len(found) < 30:
        print(f"FAILED: only {len(found)} points in {options.source}")
        sys.exit(1)
    for number, name in enumerate(sorted(found)):
        if name.startswith(OF_NVSRUN):
            death_of_nvsrun(name)
            continue
        for pe in range(NPES) if options.all else [number % NPES]:
            death_of_a_pe(name, pe)
    Job("nowhere:0").expect_success()
    print(f"{len(found)} points, {nruns} jobs, {failures} failures")
    sys.exit(1 if failures else 0)


parser = argparse.ArgumentParser()
parser.add_argument("nvsrun")
parser.add_argument("crash")
parser.add_argument("source")
parser.add_argument("--all", action="store_true")
options = parser.parse_args()
main()
