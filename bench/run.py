#!/usr/bin/env python3
"""Runs floor and shmem_bench in turns and prints each metric as a ratio.

Machines are shared and drift, so a figure means nothing alone: rounds of both programs alternate,
each metric is the median over the rounds, and what counts is the ratio of the two in this run.
"""
import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys


def results_of(command):
    """Runs one program; {(metric, bytes): microseconds}."""
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    results = {}
    for line in output.splitlines():
        word = line.split()
        if word and word[0] == "RESULT":
            results[word[1], int(word[2])] = float(word[3])
    if not results:
        sys.exit(f"{command[0]}: printed no result")
    # One way is half of the round trip that shmem_bench times.
    for key in [key for key in results if key[0].endswith("_round")]:
        results[key[0].removesuffix("_round"), key[1]] = results.pop(key) / 2
    return results


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both programs (3)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures to this file")
    options = parser.parse_args()
    programs = {
        "floor": [options.build / "bench/floor"],
        "nvs": [options.build / "bin/nvsrun", "-n", "2", options.build / "bench/shmem_bench"],
    }
    rounds = {name: [] for name in programs}
    for number in range(options.rounds):
        for name, command in programs.items():
            print(f"round {number + 1} of {options.rounds}: {name}", file=sys.stderr)
            rounds[name].append(results_of([str(word) for word in command]))
    median = {name: {key: statistics.median(r[key] for r in runs) for key in runs[0]}
              for name, runs in rounds.items()}

    print(f"{cpu_model()}, 2 PEs, median of {options.rounds} interleaved rounds, microseconds\n")
    print("| operation | bytes | floor | nvs | nvs / floor |\n|---|---|---|---|---|")
    for key in sorted(median["nvs"]):
        ours, bound = median["nvs"][key], median["floor"].get(key)
        ratio = f"{ours / bound:.2f}" if bound else "–"
        shown = f"{bound:.3f}" if bound else "–"
        print(f"| {key[0]} | {key[1]} | {shown} | {ours:.3f} | {ratio} |")
    if options.json:
        rows = [{"operation": key[0], "bytes": key[1], "nvs_us": value,
                 "floor_us": median["floor"].get(key)} for key, value in median["nvs"].items()]
        options.json.write_text(json.dumps({"cpu": cpu_model(), "rounds": options.rounds,
                                            "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
