#!/usr/bin/env python3
"""Runs an OpenSHMEM test suite that lies in a folder, whatever its build system, and prints a table.

Finds the C and C++ programs (sources with a main that include shmem.h), compiles each with shmemcc or
shmemc++, runs it with nvsrun on each number of PEs, and judges its exit status. Programs in Fortran or
CUDA, or mixed with MPI, are listed as skipped. With --built it takes the executables that the suite's
own build has linked with nvs instead.

Exit status: 0 if nothing failed, 1 if something did, 2 if there was nothing to run."""

import argparse
import concurrent.futures
import fnmatch
import os
import re
import sys

from built import built_programs
from compiling import Compiler
from running import Runner
from sources import Suite
from table import Expected, Row, Table

NO_RANDOMIZE = 0x0040000  # <sys/personality.h>: ADDR_NO_RANDOMIZE


def randomisation_problem():
    """Why addresses are not random here, or None. A library may work by luck if they are not."""
    try:
        with open("/proc/sys/kernel/randomize_va_space", encoding="ascii") as f:
            level = int(f.read())
        with open("/proc/self/personality", encoding="ascii") as f:
            personality = int(f.read(), 16)
    except OSError as problem:
        return f"cannot tell whether addresses are random: {problem}"
    if level != 2:
        return f"kernel.randomize_va_space is {level}, not 2"
    return "this shell runs with addresses fixed (setarch -R)" if personality & NO_RANDOMIZE else None


def arguments():
    parser = argparse.ArgumentParser(prog="task conformance", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", help="the suite")
    parser.add_argument("--npes", default="2,4", metavar="N,N", help="numbers of PEs (default 2,4)")
    parser.add_argument("--only", action="append", metavar="PATTERN", default=[],
                        help="only programs of this name; * and ? may be used, repeatable")
    parser.add_argument("--args", action="append", metavar="PATTERN=ARGS", default=[],
                        help="arguments for the programs of this name, repeatable")
    parser.add_argument("--env", action="append", metavar="NAME=VALUE", default=[],
                        help="a variable for the PEs, repeatable")
    parser.add_argument("--cflags", default="", metavar="FLAGS", help="more flags for the compiler")
    parser.add_argument("--expect", metavar="FILE", help="lines `NAME[@N] why`: known not to pass")
    parser.add_argument("--timeout", type=int, default=120, metavar="S", help="for a run (120)")
    parser.add_argument("--built", action="store_true", help="run the executables that are in DIR")
    parser.add_argument("--bin", required=True, metavar="DIR",
                        help="where shmemcc and nvsrun are (task sets it)")
    parser.add_argument("--out", required=True, metavar="DIR",
                        help="for executables and outputs (task sets it)")
    parser.add_argument("--fixed-addresses", action="store_true",
                        help="run even where the addresses of processes are not random")
    args = parser.parse_args()
    # Programs run in a folder of their own, and their paths must hold there too.
    args.bin, args.out = os.path.abspath(args.bin), os.path.abspath(args.out)
    args.npes = [int(n) for n in args.npes.split(",") if n.isdigit() and int(n) > 0]
    if not args.npes:
        parser.error("--npes: allowed are numbers from 1, with commas between them")
    if not os.path.isdir(args.dir):
        parser.error(f"{args.dir}: no such folder")
    for name in ("args", "env"):
        pairs = getattr(args, name)
        if any("=" not in p for p in pairs):
            parser.error(f"--{name}: allowed is NAME=VALUE")
        setattr(args, name, [p.split("=", 1) for p in pairs])
    return args


class Job:
    """One program on its way: compiled, then run on each number of PEs."""

    def __init__(self, options, compiler, runner, program):
        self.options, self.compiler, self.runner, self.program = options, compiler, runner, program
        self.row = Row(program.name)

    def compile(self):
        if self.program.skip or self.program.executable:
            return None
        return self.compiler.build(self.program)

    def arguments(self):
        return next((a for pattern, a in self.options.args
                     if fnmatch.fnmatchcase(self.program.name, pattern)), "")

    def run_on(self, npes):
        log = os.path.join(self.options.out, re.sub(r"[^\w.+-]", "_", self.program.name))
        where = os.path.join(self.options.out, "cwd")
        os.makedirs(where, exist_ok=True)
        return self.runner.run(self.program.executable, self.arguments(), npes,
                               f"{log}.n{npes}.txt", where)

    def finish(self, problem):
        """The row, once compiling has ended with `problem` or None."""
        if self.program.skip:
            self.row.note(self.program.skip)
            return self.row
        for npes in self.options.npes:
            if problem:
                self.row.verdicts[npes] = "build"
                self.row.note(problem)
                continue
            run = self.run_on(npes)
            self.row.verdicts[npes] = run.verdict
            if run.verdict == "pes":
                self.row.note(f"on {npes}: {run.note}")
                if run.wants not in self.options.npes:
                    self.asked_for(run.wants)
            elif run.verdict != "ok":
                self.row.note(f"on {npes}: {run.note}")
        return self.row

    def asked_for(self, npes):
        again = self.run_on(npes)
        self.row.verdicts.setdefault(npes, again.verdict)
        self.row.note(f"on {npes}: {'ok' if again.verdict == 'ok' else again.note}")


def selected(programs, patterns):
    return [p for p in programs
            if not patterns or any(fnmatch.fnmatchcase(p.name, q) for q in patterns)]


def main():
    options = arguments()
    problem = randomisation_problem()
    if problem and not options.fixed_addresses:
        sys.exit(f"task conformance: {problem}; --fixed-addresses runs all the same")
    os.makedirs(options.out, exist_ok=True)
    expected = Expected(options.expect)
    found = built_programs(options.dir) if options.built else Suite(options.dir).programs()
    programs = selected(found, options.only)
    if not any(not p.skip for p in programs):
        print(f"task conformance: no program in {options.dir}"
              + (" linked with libnvs" if options.built else ""), file=sys.stderr)
        return 2
    compiler = Compiler(options.bin, options.out, options.cflags.split())
    runner = Runner(options.bin, options.timeout, dict(options.args), dict(options.env))
    jobs = [Job(options, compiler, runner, p) for p in programs]
    table = Table([p.name for p in programs], options.npes)
    print(table.head(), flush=True)
    rows = []
    # Compiling runs ahead of running; the runs come one at a time, for their PEs need the cores.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        compiled = [pool.submit(job.compile) for job in jobs]
        for job, future in zip(jobs, compiled):
            row = job.finish(future.result())
            row.expect(expected)
            rows.append(row)
            print(table.line(row), flush=True)
    print("\n" + "\n".join(table.summary(rows)))
    print(f"outputs of all runs: {options.out}")
    return 1 if any(row.failed() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
