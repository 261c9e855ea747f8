#!/usr/bin/env python3
"""Something happens to a process of a job at a random moment: is the right thing said, and is nothing
left?

    deaths_test.py NVSRUN WORKLOAD [--count N] [--seed SEED]

WORKLOAD is made from workload.c. Each run draws a number of PEs, a moment, a victim and what happens
to it: a signal that kills, a death by its own hand in a signal handler (abort, _exit, a fault in the
handler of a fault, exec), exit and return from main without finalize, a stop that goes on or ends in
a kill; or it hits nvsrun, its guardian, or a child that a PE has forked. The job must end, name the
right PE and cause, have the right status, and leave no process and no file.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time

PATIENCE = 60.0  # against hangs; no test of speed
DURATION_MS = 300

KILLED = "was killed by signal {}"
RETURNED = "exited with status 0 without finalize"

# Name -> (signal, what nvsrun says, its status); what a PE does by its own hand is in workload.c.
DEATHS = {
    "SIGKILL": (signal.SIGKILL, KILLED.format(9), 137),
    "SIGSEGV": (signal.SIGSEGV, KILLED.format(11), 139),
    "SIGABRT": (signal.SIGABRT, KILLED.format(6), 134),
    "SIGBUS": (signal.SIGBUS, KILLED.format(7), 135),
    "SIGTERM": (signal.SIGTERM, KILLED.format(15), 143),
    "abort in a handler": (signal.SIGRTMIN, KILLED.format(6), 134),
    "_exit(5) in a handler": (signal.SIGRTMIN + 1, "exited with status 5", 5),
    "_exit(0) in a handler": (signal.SIGRTMIN + 2, RETURNED, 1),
    "double fault": (signal.SIGRTMIN + 3, KILLED.format(11), 139),
    "exec": (signal.SIGRTMIN + 4, RETURNED, 1),
    "exit(6)": (signal.SIGRTMIN + 5, "exited with status 6", 6),
    "return 0": (signal.SIGRTMIN + 6, RETURNED, 1),
}


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def stat_of(pid):
    """(state, parent) or None."""
    words = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (words[0], int(words[1])) if words else None


def processes(marker):
    """Living processes that have the marker among their arguments."""
    return [int(pid) for pid in filter(str.isdigit, os.listdir("/proc"))
            if marker in read(f"/proc/{pid}/cmdline") and (stat_of(pid) or "Z")[0] not in "ZX"]


def files():
    """What could be left behind outside of the job's memory."""
    return {os.path.join(folder, name) for folder in ("/dev/shm", "/tmp") if os.path.isdir(folder)
            for name in os.listdir(folder) if "nvs-job" in name or "nvsrun-" in name}


class Failure(Exception):
    pass


class Run:
    def __init__(self, number, rng):
        self.marker = f"marker-{os.getpid()}-{number}"
        self.rng = rng
        self.npes = rng.choice([1, 2, 3, 4, 6])
        self.command = [options.nvsrun, "-n", str(self.npes), "--bind", "none", options.workload,
                        str(rng.randrange(1 << 30)), str(DURATION_MS), self.marker]
        self.what = "nothing"
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def children(self, parent):
        return [pid for pid in processes(self.marker) if (stat_of(pid) or (0, 0))[1] == parent]

    def pes(self):
        """Children of nvsrun but the guardian; waits for the first. None: the job has ended."""
        while self.process.poll() is None:
            pes = [pid for pid in self.children(self.process.pid)
                   if read(f"/proc/{pid}/comm").strip() != "nvsrun-guardian"]
            if pes:
                return pes
        return []

    def send(self, pid, sig):
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            pass

    def finish(self):
        try:
            err = self.process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(1)
            self.process.kill()
            for pid in processes(self.marker):
                self.send(pid, signal.SIGKILL)
            raise Failure(f"no end; {self.process.communicate()[1]}")
        end = time.monotonic() + PATIENCE
        while processes(self.marker):
            if time.monotonic() > end:
                left = processes(self.marker)
                for pid in left:
                    self.send(pid, signal.SIGKILL)
                raise Failure(f"processes {left} are left")
            time.sleep(0.005)
        return self.process.returncode, err

    def expect(self, condition, status, err):
        if not condition:
            raise Failure(f"status {status}, and on standard error:\n{err}")

    def expect_success(self):
        status, err = self.finish()
        self.expect((status, err) == (0, ""), status, err)

    # ---- what happens -------------------------------------------------------------------------

    def death_of_a_pe(self, name, before=None):
        pes = self.pes()
        if not pes:
            return self.expect_success()
        pid = self.rng.choice(pes)
        pe = re.search(r"NVS_JOB_PE=(\d+)", read(f"/proc/{pid}/environ"))
        sig, words, expected = DEATHS[name]
        self.what = f"{name} to PE {pe[1] if pe else '?'} (pid {pid}) of {self.npes}"
        if before:
            self.send(pid, before)
            time.sleep(self.rng.random() * 0.1)
        self.send(pid, sig)
        if before and sig != signal.SIGKILL:
            self.send(pid, signal.SIGCONT)
        status, err = self.finish()
        self.judge(pid, pe[1] if pe else r"\d+", sig, words, expected, status, err)

    def judge(self, pid, pe, sig, words, expected, status, err):
        lines = [line for line in err.splitlines() if line.startswith("nvsrun: ")]
        lost = re.compile(rf"(nvs|workload): PE \d+: .*(PE {pe} was lost while PE \d+ waited|"
                          r"an earlier collective of this team failed)")
        others = [line for line in err.splitlines() if not line.startswith("nvsrun: ")]
        self.expect(all(lost.match(line) for line in others), status, err)
        if not lines and status == 0:  # it had done its work before
            counts["too late"] = counts.get("too late", 0) + 1
            return
        if sig >= signal.SIGRTMIN and re.search(rf"killed by signal {int(sig)} ", lines[0]):
            # the workload was not ready for it
            self.expect("before init" in lines[0] or f"signal {int(sig)} (a real-time signal);" in lines[0],
                        status, err)
            words, expected = KILLED.format(int(sig)), 128 + sig
        if "after finalize" in lines[0]:
            words = words.replace(" without finalize", " after finalize")
        if words == RETURNED and "before init" in lines[0]:
            words = "exited with status 0 before init"
        self.expect(all(re.match(rf"nvsrun: PE {pe} \(pid {pid}\) {re.escape(words)}", line)
                        for line in lines), status, err)
        self.expect(len(lines) == 1 or (len(lines) == 2 and "after finalize" in lines[0]), status, err)
        self.expect(status == expected, status, err)

    def stop_for_a_while(self):
        pes = self.pes()
        if pes:
            pid = self.rng.choice(pes)
            self.what = f"a stop of pid {pid}"
            self.send(pid, signal.SIGSTOP)
            time.sleep(self.rng.random() * 0.2)
            self.send(pid, signal.SIGCONT)
        self.expect_success()

    def death_of_nvsrun(self):
        self.what = "SIGKILL to nvsrun"
        self.process.kill()
        status, err = self.finish()
        self.expect(status == -9 or (status, err) == (0, ""), status, err)

    def end_by_nvsrun(self):
        sig = self.rng.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        self.what = f"signal {int(sig)} to nvsrun"
        self.process.send_signal(sig)
        status, err = self.finish()
        # Before it has got ready for signals, nvsrun dies as any program does.
        self.expect(err == "" and status in (0, 128 + sig, -sig), status, err)

    def death_of_the_guardian(self):
        self.what = "SIGKILL to the guardian"
        for pid in self.children(self.process.pid):
            if read(f"/proc/{pid}/comm").strip() == "nvsrun-guardian":
                self.send(pid, signal.SIGKILL)
        self.expect_success()

    def death_of_a_grandchild(self):
        self.what = "SIGKILL to a child that a PE has forked"
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            children = [child for pe in self.pes() for child in self.children(pe)]
            if children:
                self.send(self.rng.choice(children), signal.SIGKILL)
                break
        self.expect_success()

    def happen(self):
        time.sleep(self.rng.random() * DURATION_MS / 1000)
        kind = self.rng.random()
        name = self.rng.choice(list(DEATHS))
        if kind < 0.62:
            self.death_of_a_pe(name)
        elif kind < 0.72:
            self.death_of_a_pe(name, before=signal.SIGSTOP)
        else:
            self.rng.choice([self.stop_for_a_while, self.death_of_nvsrun, self.end_by_nvsrun,
                             self.death_of_the_guardian, self.death_of_a_grandchild])()


def main():
    seed = options.seed or time.time_ns() % 1000000
    print(f"seed {seed} (NVS_TEST_SEED)", flush=True)
    rng = random.Random(seed)
    before = files()
    failures = 0
    for number in range(options.count):
        run = Run(number, rng)
        try:
            run.happen()
        except Failure as failure:
            failures += 1
            print(f"FAILED: run {number}, {run.what} ({' '.join(run.command[1:5])}): {failure}", flush=True)
        kind = re.sub(r" to PE .*| of pid .*", "", run.what)
        counts[kind] = counts.get(kind, 0) + 1
    left = files() - before
    if left:
        print(f"FAILED: files are left: {left}")
    print(f"{options.count} runs, {failures} failures; " +
          ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    sys.exit(1 if failures or left else 0)


parser = argparse.ArgumentParser()
parser.add_argument("nvsrun")
parser.add_argument("workload")
parser.add_argument("--count", type=int, default=40)
parser.add_argument("--seed", type=int, default=int(os.environ.get("NVS_TEST_SEED") or 0))
options = parser.parse_args()
counts = {}
main()
