#!/usr/bin/env python3
"""Measures nvs beside the floor of this machine and its peers, and writes down what it found.

Every figure is compared with figures of the same run; see docs/performance.md for how.
"""
import argparse
import datetime
import os
import pathlib
import platform
import sys
import time

import plot
import report
import rows
import systems
import verdict
from plan import Plan

QUICK_ROUNDS, ROUNDS = 3, 7


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_size():
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="task bench", description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder (./task bench gives it)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds")
    parser.add_argument("--rounds", type=int, help=f"how many ({ROUNDS})")
    parser.add_argument("--minutes", type=float, default=10, help="end after about so long (10)")
    parser.add_argument("--only", action="append", default=[], metavar="GROUP",
                        choices=[*systems.GROUPS, "threads", "start", "crowd"],
                        help="measure this group, may be repeated: %(choices)s")
    parser.add_argument("--without", action="append", default=[], metavar="PEER",
                        choices=systems.PEERS, help="leave out a peer: %(choices)s")
    parser.add_argument("--realtime", action="store_true",
                        help="as root, on a loaded machine: the PEs of all two-PE rows at real-time "
                             "priority; the rest of the machine stands still meanwhile")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER",
                        help="write performance.md, .json and plots into this folder")
    options = parser.parse_args()
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    if options.realtime and os.geteuid():
        parser.error("--realtime: only root may use real-time priorities")
    return options


def about_this_run(options, everything, samples, load, seconds):
    titles = {system.name: system.title for system in everything}
    return {
        "cpu": cpu_model(), "cpus": systems.usable_cpus(), "memory": memory_size(),
        "kernel": platform.release().split("-")[0], "date": datetime.date.today().isoformat(),
        "load": f"{load:.1f}", "rounds": samples.rounds, "seconds": seconds,
        "scheduling": "PEs at real-time priority" if options.realtime else "ordinary scheduling",
        "versions": {s.title: systems.version_of(s) for s in everything if systems.version_of(s)},
        "missing": {s.title: s.missing for s in everything if s.missing},
        "problems": [f"{titles[name]}, {what}: {problem}"
                     for (name, what), problem in samples.problems.items()],
    }


def write(folder, judged, about, samples):
    folder.mkdir(parents=True, exist_ok=True)
    reasons, changes = report.load_notes()
    files = {"performance.md": report.markdown(judged, about, reasons, changes),
             "performance.json": report.as_json(judged, about, samples), **plot.all_plots(judged)}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"written: {', '.join(str(folder / name) for name in files)}", file=sys.stderr)


def main():
    options = parse_arguments()
    everything = [system for system in systems.all_systems(options.build.resolve())
                  if system.name not in options.without]
    for system in everything:
        system.prepare()
        if system.missing:
            print(f"{system.title}: left out: {system.missing}", file=sys.stderr)
    load, begin = os.getloadavg()[0], time.monotonic()
    if load > 1 and not options.realtime:
        print(f"the load of this machine is {load:.1f}: others disturb the figures; "
              "as root, --realtime helps", file=sys.stderr)
    plan = Plan(everything, options.realtime, only=options.only)
    samples = plan.measure_all(options.rounds, options.minutes * 60)
    about = about_this_run(options, everything, samples, load, time.monotonic() - begin)
    judged = verdict.judge_all(rows.ROWS, samples)
    print(report.terminal(judged, about))
    if options.write:
        write(options.write, judged, about, samples)


if __name__ == "__main__":
    main()
