#!/usr/bin/env python3
"""A PE dies in the midst of what its GPU does: do the others' kernels and streams end, and name it?

    gpu_kill_test.py NVSRUN PROGRAM [--npes N...] [--count N] [--only-random] [--seed SEED]

PROGRAM is made from tests/gpu/kill_test.cu. First its planned deaths, in which PE 1 waits in a kernel
and is killed while the others wait for it in each way there is; then --count random ones: a random PE
at a random moment of a program that does a bit of everything. Every other PE must notice, with the
number of the one that died, nvsrun must say it, and its status must be 137. Exit 77 without a GPU.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time

PATIENCE = 120.0  # against hangs; no test of speed
PLANNED = ("wait", "barrier", "stream", "signal", "graph")


class Failure(Exception):
    pass


def command(npes, *args):
    return [options.nvsrun, "-n", str(npes), "--bind", "none", "--on-loss", "continue", "--timeout",
            str(int(PATIENCE)), options.program, *args]


def start(npes, *args, seed=1):
    return subprocess.Popen(command(npes, *args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace",
                            env={**os.environ, "NVS_TEST_SEED": str(seed)})


def check(npes, victim, status, output):
    """What must hold after the death of a PE; returns nothing or raises."""
    if status != 137:
        raise Failure(f"status {status}, not 137")
    if not re.search(rf"PE {victim} .*was killed by signal 9", output):
        raise Failure(f"nvsrun does not name PE {victim}")
    for pe in range(npes):
        if pe != victim and not re.search(rf"^PE {pe} noticed: .*PE {victim} was lost", output, re.M):
            raise Failure(f"PE {pe} has not noticed that PE {victim} was lost")


def planned(how, npes):
    process = start(npes, how)
    output = process.communicate()[0]
    if process.returncode == 77:
        print(output, end="")
        sys.exit(77)
    try:
        check(npes, 1, process.returncode, output)
    except Failure as failure:
        raise Failure(f"{how}, {npes} PEs: {failure}:\n{output}") from None


def random_death(number, seed):
    rng = random.Random(seed)
    npes, delay = rng.choice(options.npes), rng.uniform(0, options.delay)
    victim = rng.randrange(npes)
    process = start(npes, "random", seed=rng.randrange(1 << 32))
    pids, lines, begun = {}, [], 0
    while begun < npes:
        line = process.stdout.readline()
        if not line:
            raise Failure(f"#{number}, seed {seed}: no start:\n{''.join(lines)}")
        lines.append(line)
        begun += line.endswith(" begins\n")
        if found := re.fullmatch(r"PE (\d+) pid (\d+)\n", line):
            pids[int(found[1])] = int(found[2])
    time.sleep(delay)
    os.kill(pids[victim], signal.SIGKILL)
    output = "".join(lines) + process.communicate()[0]
    try:
        check(npes, victim, process.returncode, output)
    except Failure as failure:
        raise Failure(f"#{number}, seed {seed}: PE {victim} of {npes} after {delay:.3f} s: "
                      f"{failure}:\n{output}") from None


def main():
    wrong = 0
    for npes in [] if options.only_random else options.npes:
        for how in PLANNED:
            try:
                planned(how, npes)
            except Failure as failure:
                wrong += 1
                print(failure)
    if not options.only_random:
        print(f"planned deaths: {len(PLANNED) * len(options.npes)}", flush=True)
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print(f"seed {seed} (--seed)", flush=True)
    for number in range(options.count):
        try:
            random_death(number, seed + number)
        except Failure as failure:
            wrong += 1
            print(failure, flush=True)
        if number % 10 == 9 or number == options.count - 1:
            print(f"random deaths: {number + 1}; {wrong} went wrong", flush=True)
    return wrong != 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nvsrun")
    parser.add_argument("program")
    parser.add_argument("--npes", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--only-random", action="store_true", help="no planned deaths")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--delay", type=float, default=0.5, help="longest time before a random death")
    options = parser.parse_args()
    sys.exit(main())
