#!/usr/bin/env python3
"""mistakes.py NVSRUN PROGRAM: makes each mistake of cases.def in a job of its own, with
NVS_ON_ERROR=end. A call that returns nothing must end the job with a line that says what is wrong and
on which PE; one that returns a status must say so, too, and go on; those of nvs.h say nothing."""

import concurrent.futures
import os
import re
import subprocess
import sys

nvsrun, program = sys.argv[1:]
environment = {k: v for k, v in os.environ.items() if not k.startswith("NVS")}
environment.update(NVS_HEAP_SIZE="8m", NVS_ON_ERROR="end")


def run(number, npes, checked):
    command = [nvsrun, "--bind", "none", "-n", str(npes), "--timeout", "60", program, str(number)]
    if npes == 0:
        command = [program, str(number)]
    more = {"NVS_CHECK": "yes"} if checked else {}
    done = subprocess.run(
        command, env={**environment, **more}, stderr=subprocess.PIPE, text=True, timeout=100
    )
    return done.returncode, done.stderr


def wrong(case, npes):
    number, how, checked, status, regex = case
    code, text = run(number, npes, checked == "1")
    name = status.split(":")[0]
    line = re.compile(r"nvs: (PE \d+: )?" + regex.lstrip("^").rstrip("$") + r".*\(" + name + r"\)")
    said = any(line.search(each) for each in text.splitlines())
    expected = 1 if how == "ENDS" else 3
    if code == expected and said == (how != "QUIET"):
        return None
    return f"case {number} ({how}) with {npes} PEs: exit {code}, expected {expected}:\n{regex}\n{text}"


def main():
    lines = subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    cases = [line.split("\t") for line in lines.splitlines()]
    jobs = [(case, i % 3 if case[1] != "PAIR" else 2 + i % 2) for i, case in enumerate(cases)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [p for p in pool.map(lambda job: wrong(*job), jobs) if p]
    print("\n".join(problems) or f"{len(jobs)} mistakes end as they should")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
