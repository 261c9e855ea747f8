#!/usr/bin/env python3
"""function_length.py FILE... - no function longer than 80 lines, signature and braces included.

Relies on the layout that the format rule enforces: the brace that opens a function stands alone on
its line, the one that closes it has the same indentation, and no other brace stands alone.
`--top N` lists the longest functions instead, with the median.
"""
import re
import statistics
import sys

LIMIT = 80
NOT_A_FUNCTION = re.compile(r"\s*(?:namespace|class|struct|union|enum|extern \"C\")\b[^()]*$")


def functions(path):
    lines = [line.rstrip(" \\\n") for line in open(path, encoding="utf-8")]
    for i, line in enumerate(lines):
        if line.strip() != "{" or i == 0:
            continue
        first = i
        while first > 0 and is_signature(lines[first - 1]):
            first -= 1
        signature = " ".join(lines[first:i])
        if first == i or "(" not in signature or NOT_A_FUNCTION.match(signature):
            continue
        closing = line.replace("{", "}")
        last = next((j for j in range(i, len(lines)) if lines[j] == closing), i)
        name = re.search(r"([\w#~:]+)\s*\(", signature)
        yield first + 1, last - first + 1, name.group(1) if name else "?"


def is_signature(line):
    text = line.strip()
    return bool(text) and not text.endswith((";", "}", "{", "*/", ":")) and text[0] not in "#/*"


def main(args):
    top = int(args[1]) if args[:1] == ["--top"] else 0
    found = [(length, path, number, name)
             for path in args[2 if top else 0:]
             for number, length, name in functions(path)]
    if top:
        for length, path, number, name in sorted(found, reverse=True)[:top]:
            print(f"{length:4} {path}:{number}: {name}")
        print(f"{len(found)} functions, median {statistics.median(f[0] for f in found)} lines")
        return 0
    long = [f for f in found if f[0] > LIMIT]
    for length, path, number, name in long:
        print(f"{path}:{number}: {name} has {length} lines, {LIMIT} are allowed", file=sys.stderr)
    return bool(long)


sys.exit(main(sys.argv[1:]))
