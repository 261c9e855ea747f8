#!/usr/bin/env python3
"""pressure.py NVSRUN PROGRAM WHAT: little memory, few descriptors, small limits. The program
(pressure.c) takes what it can get; it must end by itself, with words, and never by a signal.

    group   in a control group with a limit; 77 if none can be made here
    limits  ulimit -n, -v, -f, -l, a heap larger than memory, no memfd_create, a tiny /dev/shm
"""

import os
import re
import resource
import subprocess
import sys

nvsrun, program, what = sys.argv[1:]
SKIP, REFUSED, MIB = 77, 4, 1 << 20
problems = []


def run(arguments, npes=0, prepare=None, **variables):
    """Exit status and standard error; npes 0: without the launcher."""
    command = [program] + arguments
    if npes:
        command = [nvsrun, "--bind", "none", "-n", str(npes), "--timeout", "100"] + command
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NVS")}
    environment.update(variables)
    done = subprocess.run(
        command, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=prepare, timeout=200
    )
    return done.returncode, done.stderr


def check(name, result, codes, words=""):
    code, text = result
    if code == SKIP:
        print(f"{name}: not here")
    elif code not in codes or not re.search(words, text):
        problems.append(f"{name}: exit {code}, expected {codes} and '{words}':\n{text}")
    else:
        print(f"{name}: {text.strip().splitlines()[0] if text.strip() else code}", flush=True)


# ---- control groups ------------------------------------------------------------------------------


def own_group():
    """The directory of this process's group with a memory controller, and the file of its limit."""
    mounts = [line.split(" ") for line in open("/proc/self/mountinfo")]
    for line in open("/proc/self/cgroup"):
        _, controllers, path = line.strip().split(":", 2)
        for fields in mounts:
            kind = fields[fields.index("-") + 1 :]
            v1 = kind[0] == "cgroup" and "memory" in controllers.split(",") and "memory" in kind[2]
            v2 = kind[0] == "cgroup2" and not controllers
            where = fields[4] + (path if fields[3] == "/" else "")
            name = "memory.limit_in_bytes" if v1 else "memory.max"
            if (v1 or v2) and os.path.exists(os.path.join(where, name)):
                return where, name
    return None, None


def make_group(limit):
    where, name = own_group()
    group = f"{where}/nvs-test-{os.getpid()}"
    try:
        os.mkdir(group)
        with open(f"{group}/{name}", "w") as file:
            file.write(str(limit))
        with open(f"{group}/cgroup.procs", "a"):
            return group
    except (OSError, TypeError):
        if os.path.isdir(group):
            os.rmdir(group)
        sys.exit(SKIP)


def test_group():
    limit = 256 * MIB
    group = make_group(limit)

    def enter():
        with open(f"{group}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))

    try:
        for npes in (1, 2, 3):
            for size in (MIB, 8 * MIB, 40 * MIB):
                for mode in ("grow", "churn"):
                    result = run([mode, str(size)], npes, enter)
                    check(f"{mode} {size} on {npes} PEs", result, [0], "control group has")
                    count = re.search(r"(\d+) objects", result[1])
                    taken = int(count.group(1)) * size * npes if count else 0
                    if not limit * 0.4 < taken + size * npes:
                        problems.append(f"only {taken} bytes of {limit}: {result[1]}")
        check("commit", run(["churn", str(MIB)], 2, enter, NVS_COMMIT="yes"), [0], "control group has")
        check("one", run(["one", str(300 * MIB)], 2, enter, NVS_HEAP_SIZE="1g"), [REFUSED], "no memory for 314572800 bytes")
    finally:
        os.rmdir(group)


# ---- other limits --------------------------------------------------------------------------------


def limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def test_descriptors():
    few = limit(resource.RLIMIT_NOFILE, 40)
    check("no descriptor left", run(["full"], prepare=few), [REFUSED], "ulimit -n")
    check("no descriptor left in a PE", run(["full"], 1, few), [0, REFUSED])
    for count in range(4, 8):
        result = run(["one", "1000"], prepare=limit(resource.RLIMIT_NOFILE, count))
        check(f"ulimit -n {count}", result, [0, REFUSED], "^$|ulimit -n")


def test_address_space():
    gib = 1 << 30
    space = limit(resource.RLIMIT_AS, 2 * gib)
    check("ulimit -v, any heap", run(["one", "1000"], prepare=space), [0])
    result = run(["one", "1000"], prepare=space, NVS_HEAP_SIZE="8g")
    check("ulimit -v, a heap of 8g", result, [REFUSED], "no address space for 1 heaps .*ulimit -v")
    tiny = limit(resource.RLIMIT_AS, 300 * MIB)
    check("ulimit -v, tiny", run(["one", "1000"], prepare=tiny), [REFUSED], "ulimit -v")


def test_files():
    result = run(["one", "1000"], prepare=limit(resource.RLIMIT_FSIZE, 1 << 20))
    check("ulimit -f", result, [REFUSED], "ulimit -f")


def test_large():
    result = run(["one", str(1 << 42)], NVS_HEAP_SIZE="5t")
    check("a heap larger than memory", result, [REFUSED], "NVS_HEAP_SIZE is 5497558138880 bytes")
    check("an object larger than memory", result, [REFUSED], "nvs_malloc: no memory for 4398046511104")
    result = run(["one", "1000"], NVS_HEAP_SIZE="100t")
    check("a heap larger than the arena", result, [REFUSED], "NVS_HEAP_SIZE asks for a heap of .*at most")


def test_shm():
    """A /dev/shm of one page is enough: it is not used."""
    script = f'mount -t tmpfs -o size=4k none /dev/shm && exec "{nvsrun}" -n 2 "{program}" one 50000000'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], stderr=subprocess.PIPE, text=True)
    here = subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode == 0
    check("a tiny /dev/shm", (done.returncode if here else SKIP, done.stderr), [0])


def test_limits():
    test_descriptors()
    test_address_space()
    test_files()
    test_large()
    test_shm()
    check("exit after start_pes", run(["exit"], 3), [5], "PE 0 .*exited with status 5")
    check("mlockall", run(["locked"], NVS_HEAP_SIZE="1t"), [REFUSED], "init: .*(mlockall|ulimit)")
    check("no memfd_create", run(["sandbox"]), [REFUSED], "memfd_create forbidden")


{"group": test_group, "limits": test_limits}[what]()
print("\n".join(problems))
sys.exit(bool(problems))
