"""gpu_plan.py - the order of a measurement: in a round, each group of operations with all systems
one after the other, before the next group; then another round, with another system first. What is
compared was measured within seconds.
"""
import sys
import time

import gpu_systems
import measure
from plan import Samples


class Plan:
    def __init__(self, everything, gpus, only=()):
        self.everything = [system for system in everything if not system.missing]
        self.groups = [group for group in gpu_systems.GROUPS if self.wanted(group, gpus, only)]
        self.samples = Samples()
        self.hopeless = set()  # (system, group) that failed and gave nothing: not tried again

    @staticmethod
    def wanted(group, gpus, only):
        """PEs that share a GPU are for machines with one, unless they are asked for."""
        return group in only if only else group != "shared" or gpus < 2

    def turns(self):
        first = self.samples.rounds % len(self.everything)
        return self.everything[first:] + self.everything[:first]

    def measure_group(self, system, group):
        first_round = self.samples.rounds == 1
        us, problems = gpu_systems.figures_of(system, system.commands(group, first_round))
        for key, value in us.items():
            self.samples.add(system.name, key, value)
        if problems:
            self.samples.problems[system.name, group] = "; ".join(problems)
            print(f"{system.title}, {group}: {'; '.join(problems)}", file=sys.stderr)
        if problems and not us:
            self.hopeless.add((system.name, group))

    def measure_round(self):
        self.samples.begin_round()
        for group in self.groups:
            for system in self.turns():
                again = self.samples.rounds > 1 and group in gpu_systems.ONCE
                if (system.name, group) not in self.hopeless and not again:
                    self.measure_group(system, group)

    def measure_all(self, rounds, limit_s):
        """At most so many rounds; none is begun that would probably end after limit_s."""
        measure.adopt_orphans()
        begin = time.monotonic()
        for number in range(1, rounds + 1):
            round_begin = time.monotonic()
            self.measure_round()
            now = time.monotonic()
            print(f"round {number} of {rounds}, {now - begin:.0f} s", file=sys.stderr)
            if number < rounds and now - begin + (now - round_begin) > limit_s:
                print(f"stopping here: another round would take longer than {limit_s / 60:g} "
                      "minutes in all (--minutes)", file=sys.stderr)
                break
        return self.samples
