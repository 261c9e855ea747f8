"""plan.py - the order of a measurement.

Machines are shared and drift. So a round measures every group of operations with all systems one
after the other, a second or so each, before it goes on; the systems take turns at being first; and
rounds are repeated. What is compared was measured within seconds.
"""
import os
import statistics
import subprocess
import sys
import time

import measure
import systems

STARTS, TURNS = 3, 5  # of starts and of thread levels in a round


class Samples:
    """What was measured: for each system and (metric, bytes) a figure per round, or None."""

    def __init__(self):
        self.rounds = 0
        self.us = {}        # system: {(metric, bytes): [microseconds of each round]}
        self.problems = {}  # (system, what): the sentence

    def begin_round(self):
        self.rounds += 1

    def add(self, system, key, us):
        values = self.us.setdefault(system, {}).setdefault(key, [])
        values += [None] * (self.rounds - 1 - len(values))
        values.append(us)

    def of(self, system, key):
        values = self.us.get(system, {}).get(key, [])
        return values + [None] * (self.rounds - len(values))

    def add_turns(self, system, found):
        """found: {(metric, bytes): a figure for each turn}. The medians; what ran beside a metric
        is given so that the median ratio of the turns remains: the cores move between turns."""
        for (metric, nbytes), values in found.items():
            if metric.startswith("beside:"):
                continue
            us = statistics.median(values)
            self.add(system, (metric, nbytes), us)
            beside = found.get((f"beside:{metric}", nbytes))
            if beside:
                ratio = statistics.median(a / b for a, b in zip(values, beside))
                self.add(system, (f"beside:{metric}", nbytes), us / ratio)

    def take(self, system, what, outcome, metric=None):
        """All results of a program; under the name `metric` if there is one."""
        for key, us in outcome.us.items():
            self.add(system, (metric, 0) if metric else key, us)
        if outcome.problem:
            self.problems[system, what] = outcome.problem


class Plan:
    def __init__(self, everything, realtime=False, limit_s=60, only=()):
        self.everything = [system for system in everything if not system.missing]
        self.nvs = next((system for system in self.everything if system.name == "nvs"), None)
        self.realtime = realtime
        self.limit_s = limit_s
        self.only = only
        self.samples = Samples()
        self.hopeless = set()  # (peer, what) that did not finish in time: not tried again

    def wanted(self, what):
        return not self.only or what in self.only

    def run(self, system, what, npes, words, realtime=False, neighbours=(), limit_s=None):
        if (system.name, what) in self.hopeless:
            return None
        outcome = measure.run(system.command(npes, words, realtime), limit_s or self.limit_s,
                              system.environment(), neighbours)
        if outcome.problem.startswith("not finished") and system.name in systems.PEERS:
            self.hopeless.add((system.name, what))
        return outcome

    def turns(self):
        first = self.samples.rounds % len(self.everything)
        return self.everything[first:] + self.everything[:first]

    def measure_groups(self):
        for group, words in systems.GROUPS.items():
            if not self.wanted(group):
                continue
            for system in self.turns():
                if group in system.groups:
                    outcome = self.run(system, group, 2, words, self.realtime)
                    if outcome:
                        self.samples.take(system.name, group, outcome)

    def measure_threads(self):
        """nvs with each thread level, in quick turns: the difference is a few per cent at most."""
        if not self.wanted("threads"):
            return
        found = {}
        for _ in range(TURNS):
            for level in ("single", "multiple"):
                words = ["small"] if level == "single" else ["multiple", "small"]
                outcome = self.run(self.nvs, f"threads {level}", 2, words, self.realtime)
                for (metric, nbytes), us in outcome.us.items():
                    found.setdefault((f"{metric}_{level}", nbytes), []).append(us)
        self.samples.add_turns("nvs", found)

    def measure_starts(self):
        for _ in range(STARTS if self.wanted("start") else 0):
            for system in self.turns():
                if system.starts:
                    outcome = self.run(system, "start", 2, ["start"])
                    if outcome and outcome.problem:
                        self.samples.problems[system.name, "start"] = outcome.problem
                    elif outcome:
                        self.starts.setdefault(system.name, []).append(outcome.wall_us)
        for name, walls in self.starts.items():
            self.samples.add(name, ("start", 0), sorted(walls)[len(walls) // 2])

    def measure_crowds(self):
        if not self.wanted("crowd"):
            return
        for npes in (4, 16):
            for system in self.turns():
                if system.crowds:
                    self.crowd(system, f"barrier_{npes}", npes, ())
        for system in self.turns():
            if system.crowds:
                busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                        for _ in range(2)]
                try:
                    self.crowd(system, "barrier_neighbours", 2, [one.pid for one in busy])
                finally:
                    for one in busy:
                        one.kill()
                        one.wait()

    def crowd(self, system, what, npes, neighbours):
        outcome = self.run(system, what, npes, ["crowd"], neighbours=neighbours, limit_s=20)
        if outcome:
            self.samples.take(system.name, what, outcome, metric=what)

    def measure_round(self):
        self.samples.begin_round()
        self.starts = {}
        self.measure_groups()
        self.measure_threads()
        self.measure_starts()
        self.measure_crowds()

    def measure_all(self, rounds, limit_s):
        """At most so many rounds; none is begun that would probably end after limit_s."""
        measure.adopt_orphans()
        if self.realtime:
            os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK,
                                  os.sched_param(systems.OUR_PRIORITY))
        begin = time.monotonic()
        for number in range(1, rounds + 1):
            self.measure_round()
            seconds = time.monotonic() - begin
            print(f"round {number} of {rounds}, {seconds:.0f} s", file=sys.stderr)
            if number < rounds and seconds / number * (number + 1) > limit_s:
                print(f"stopping here: another round would take longer than {limit_s / 60:g} "
                      "minutes in all (--minutes)", file=sys.stderr)
                break
        return self.samples
