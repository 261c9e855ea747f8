#!/usr/bin/env python3
"""listed.py - every source is named in the CMake file of its folder, or of a folder above.

Nothing is found by pattern, so a file that nobody lists is a file that nobody compiles: a test that
never runs looks like a test that passes.
"""
import glob
import os
import sys

FOLDERS = ["src", "tools", "examples", "bench", "tests/unit", "tests/spmd", "tests/stress", "tests/fuzz", "tests/run",
           "tests/perf", "tests/failures"]


def cmake_text(folder):
    texts = []
    while True:
        for path in glob.glob(f"{folder}/CMakeLists.txt") + glob.glob(f"{folder}/*.cmake"):
            texts.append(open(path, encoding="utf-8").read())
        if "/" not in folder:
            return "\n".join(texts)
        folder = folder.rpartition("/")[0]


failed = False
for top in FOLDERS:
    for path in sorted(glob.glob(f"{top}/**/*.c", recursive=True) + glob.glob(f"{top}/**/*.cpp", recursive=True)):
        name = os.path.basename(path)
        if name.endswith(".inc.c"):
            continue
        text = cmake_text(os.path.dirname(path))
        stem = name.rsplit(".", 1)[0]
        loops = {name, stem.removesuffix("_test") if top == "tests/unit" else name}
        if top == "bench":
            loops.add(stem)
        if not any(word in text.replace("(", " ").replace(")", " ").replace("/", " ").split() for word in loops):
            print(f"{path}:1: in no CMakeLists.txt: it is never compiled", file=sys.stderr)
            failed = True
sys.exit(failed)
