#!/usr/bin/env python3
"""Measures nvs on GPUs beside the floor of this machine and its peers, and writes down what it found.

Every figure is compared with figures of the same run; see docs/performance-gpu.md for how.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))  # the modules that are shared with the CPU's

# pylint: disable=C0413
import gpu_report
import gpu_rows
import gpu_systems
import report
import verdict
from gpu_plan import Plan

QUICK_ROUNDS, ROUNDS = 1, 5


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def cuda_version():
    try:
        text = subprocess.run([gpu_systems.nvcc(), "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return "without nvcc"
    found = re.search(r"release ([0-9.]+)", text)
    return found[1] if found else "unknown"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="task gpu-bench", description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder (./task gpu-bench gives it)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} round")
    parser.add_argument("--rounds", type=int, help=f"how many at most ({ROUNDS})")
    parser.add_argument("--minutes", type=float, default=3,
                        help="begin no round that would end later than this (3)")
    parser.add_argument("--only", action="append", default=[], metavar="GROUP",
                        choices=gpu_systems.GROUPS,
                        help="measure this group, may be repeated: %(choices)s")
    parser.add_argument("--without", action="append", default=[], metavar="SYSTEM",
                        choices=("floor", *gpu_systems.PEERS), help="leave out: %(choices)s")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER",
                        help="write performance-gpu.json, .md and plots into this folder")
    parser.add_argument("--from", type=pathlib.Path, metavar="FILE", dest="saved",
                        help="measure nothing: take the figures of a performance-gpu.json")
    options = parser.parse_args()
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    return options


def build_all(everything):
    """All compilers at once, before anything is measured."""
    for system in everything:
        system.start_building()
    for system in everything:
        system.finish_building()
        if system.missing:
            print(f"{system.title}: left out: {system.missing}", file=sys.stderr)


def about_this_run(machine, everything, samples, seconds):
    titles = {system.name: system.title for system in everything}
    return {
        "gpus": machine.gpus, "gpu": machine.gpu, "driver": machine.driver, "cuda": cuda_version(),
        "cpu": cpu_model(), "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release().split("-")[0], "date": datetime.date.today().isoformat(),
        "rounds": samples.rounds, "seconds": round(seconds, 1),
        "versions": {s.title: s.version() for s in everything if s.version() and not s.missing},
        "missing": {s.title: s.missing for s in everything if s.missing},
        "problems": [f"{titles[name]}, {what}: {problem}"
                     for (name, what), problem in samples.problems.items()],
    }


def measure_all(options):
    machine = gpu_systems.Machine.look()
    if machine.problem:
        raise SystemExit(f"gpu-bench: {machine.problem}: run it on a machine with one or two GPUs")
    begin = time.monotonic()
    everything = [system for system in gpu_systems.all_systems(options.build.resolve(), machine)
                  if system.name not in options.without]
    build_all(everything)
    print(f"built in {time.monotonic() - begin:.0f} s; measuring on {machine.gpus} × {machine.gpu}",
          file=sys.stderr)
    plan = Plan(everything, machine.gpus, options.only)
    samples = plan.measure_all(options.rounds, options.minutes * 60)
    return samples, about_this_run(machine, everything, samples, time.monotonic() - begin)


def write(folder, judged, about, samples):
    folder.mkdir(parents=True, exist_ok=True)
    reasons, _ = report.load_notes(HERE / "notes.toml")
    plots = gpu_report.all_plots(judged)
    files = {"performance-gpu.md": gpu_report.markdown(judged, about, reasons, plots),
             "performance-gpu.json": report.as_json(judged, about, samples), **plots}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"written: {', '.join(str(folder / name) for name in files)}", file=sys.stderr)


def main():
    options = parse_arguments()
    if options.saved:
        found = json.loads(options.saved.read_text(encoding="utf-8"))
        samples, about = gpu_report.Saved(found), found["about"]
    else:
        samples, about = measure_all(options)
    judged = verdict.judge_all(gpu_rows.ROWS, samples, gpu_systems.PEERS)
    print(gpu_report.terminal(judged, about))
    if options.write:
        write(options.write, judged, about, samples)
    print("\n" + gpu_report.short(judged))


if __name__ == "__main__":
    main()
