#!/usr/bin/env python3
"""runner_test.py CONFORMANCE BIN - the table that conformance.py makes of a suite with one program of
each kind: passing, failing, hanging, not compiling, asking for arguments or for a number of PEs,
spread over files, in C++, skipped."""

import os
import re
import subprocess
import sys
import tempfile

FILES = {
    "ok.c": '#include "inc/lib.h"\nint main(void) { shmem_init(); int bad = twice(shmem_n_pes()) !='
            " 2 * shmem_n_pes(); shmem_finalize(); return bad; }\n",
    # twice() is found through the header's name; thrice() only since the linker misses it.
    "inc/lib.h": "#include <shmem.h>\nint twice(int x);\n",
    "inc/lib.c": '#include "lib.h"\nint twice(int x) { return 2 * x; }\n',
    "sub/beside.c": "#include <shmem.h>\n#include <helpers/deep.h>\nint thrice(int);\n"
                    "int main(void) { shmem_init(); shmem_finalize(); return thrice(DEEP) != 3; }\n",
    "sub/other.c": "int thrice(int x) { return 3 * x; }\n",
    "include/helpers/deep.h": "#define DEEP 1\n",
    "plus.cpp": "#include <shmem.h>\nint main() { shmem_init(); bool one = shmem_my_pe() >= 0;"
                " shmem_finalize(); return !one; }\n",
    "fail.c": '#include <shmem.h>\n#include <stdio.h>\nint main(void) { shmem_init(); int pe ='
              ' shmem_my_pe(); shmem_finalize(); if (pe == 0) puts("the sum is wrong");'
              " return pe == 0 ? 3 : 0; }\n",
    "four.c": "#include <shmem.h>\nint main(void) { shmem_init(); int n = shmem_n_pes();"
              " shmem_finalize(); return n == 4; }\n",
    "hang.c": "#include <shmem.h>\nstatic long flag;\nint main(void) { shmem_init();"
              " shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1); shmem_finalize(); return 0; }\n",
    "broken.c": "#include <shmem.h>\nint main(void) { return shmem_no_such_thing; }\n",
    "args.c": '#include <shmem.h>\n#include <stdio.h>\n#include <string.h>\n'
              'int main(int argc, char **argv) { if (argc < 2) { fprintf(stderr, "Usage: %s N\\n",'
              ' argv[0]); return 2; } shmem_init(); shmem_finalize();'
              ' return strcmp(argv[1], "a b"); }\n',
    "three.c": '#include <shmem.h>\n#include <stdio.h>\nint main(void) { shmem_init(); int n ='
               ' shmem_n_pes(); if (n != 3 && shmem_my_pe() == 0) puts("this test requires exactly'
               ' three processes"); shmem_finalize(); return n != 3; }\n',
    "two.c": '#include <shmem.h>\n#include <stdio.h>\nint main(void) { shmem_init(); int n ='
             ' shmem_n_pes(); if (n > 2 && shmem_my_pe() == 0) puts("must be run with 2 PEs");'
             " shmem_finalize(); return n > 2; }\n",
    "mixed.c": "#include <mpi.h>\n#include <shmem.h>\nint main(void) { return 1; }\n",
    "old.f90": "program old\nend program\n",
    "plain.c": "int main(void) { return 1; } /* not shmem.h */\n",
}

EXPECTED = {
    "args": ("ARGS", "ARGS", r"asks for arguments"),
    "broken": ("BUILD", "BUILD", r"error: .*shmem_no_such_thing"),
    "fail": ("FAILED", "FAILED", r"status 3: .*"),
    "four": ("ok", "FAILED", r"on 4: status 1"),
    "hang": ("TIMEOUT", "TIMEOUT", r"PE 0|has not ended after"),
    "mixed": ("skip", "skip", r"mixes in MPI"),
    "ok": ("ok", "ok", r"^$"),
    "old.f90": ("skip", "skip", r"Fortran"),
    "plus": ("ok", "ok", r"^$"),
    "sub/beside": ("ok", "ok", r"^$"),
    "three": ("-", "-", r"on 2: asks for 3 PEs; on 3: ok"),
    "two": ("ok", "-", r"on 4: asks for 2 PEs"),
}

failures = []


def check(what, good, seen):
    if not good:
        failures.append(what)
        print(f"{what}: got\n{seen}", file=sys.stderr)


def run(conformance, bin_dir, suite, *options):
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-B", conformance, suite, "--bin", bin_dir, "--out", out,
                   "--timeout", "10", "--fixed-addresses", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
    rows = {}
    for line in done.stdout.splitlines()[1:]:
        cells = re.match(r"(\S+)\s+(\S+)\s+(\S+)\s*(.*)$", line)
        if cells and cells[1] in EXPECTED:
            rows[cells[1]] = cells.groups()[1:]
    return done, rows


def whole(conformance, bin_dir, suite):
    done, rows = run(conformance, bin_dir, suite)
    check("status of a suite with failures", done.returncode == 1, done.stdout)
    check("names", sorted(rows) == sorted(EXPECTED), done.stdout)
    for name, (two, four, note) in EXPECTED.items():
        row = rows.get(name, ("", "", ""))
        check(name, row[:2] == (two, four) and re.search(note, row[2]), row)
    check("summary", "2 PEs: 10 programs: 5 passed, 1 failed, 1 timed out, 1 did not compile, "
          "1 asked for arguments, 1 refused this number of PEs" in done.stdout, done.stdout)
    check("skipped", "skipped: 2" in done.stdout, done.stdout)


def options(conformance, bin_dir, suite):
    done, rows = run(conformance, bin_dir, suite, "--only", "args", "--args", "a*='a b'")
    check("--args", done.returncode == 0 and rows == {"args": ("ok", "ok", "")}, done.stdout)
    listed = os.path.join(suite, "expected.txt")
    with open(listed, "w", encoding="utf-8") as f:
        f.write("# comment\nfail wrong on purpose\nfour@4 wants fewer\nok@2 a mistake\n")
    done, rows = run(conformance, bin_dir, suite, "--only", "f*", "--only", "ok", "--expect", listed)
    check("--expect", done.returncode == 0 and rows["fail"][:2] == ("known", "known")
          and rows["four"][:2] == ("ok", "known") and "passes on 2 PEs" in rows["ok"][2], done.stdout)
    done, _ = run(conformance, bin_dir, suite, "--only", "nothing")
    check("nothing to run", done.returncode == 2 and "no program" in done.stdout, done.stdout)
    done, _ = run(conformance, bin_dir, suite, "--npes", "x")
    check("--npes x", done.returncode == 2 and "allowed are" in done.stdout, done.stdout)


def built(conformance, bin_dir, suite):
    """The executables that the suite's own build has made."""
    with tempfile.TemporaryDirectory() as build:
        for name in ("fail", "two"):
            subprocess.run([os.path.join(bin_dir, "shmemcc"), os.path.join(suite, name + ".c"), "-o",
                            os.path.join(build, name)], check=True)
        subprocess.run(["cc", os.path.join(suite, "plain.c"), "-o", os.path.join(build, "plain")],
                       check=True)
        done, rows = run(conformance, bin_dir, build, "--built", "--npes", "1,2")
    check("--built", done.returncode == 1 and rows["fail"][:2] == ("FAILED", "FAILED")
          and rows["two"][:2] == ("ok", "ok") and "plain" not in done.stdout, done.stdout)


def main():
    conformance, bin_dir = sys.argv[1:]
    with tempfile.TemporaryDirectory() as suite:
        for name, text in FILES.items():
            path = os.path.join(suite, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        whole(conformance, bin_dir, suite)
        options(conformance, bin_dir, suite)
        built(conformance, bin_dir, suite)
    print("all is well" if not failures else f"failed: {', '.join(failures)}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
