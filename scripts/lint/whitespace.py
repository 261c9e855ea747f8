#!/usr/bin/env python3
"""whitespace.py FILE... - no tabs, no blanks at line ends, one newline at the end of a file."""
import sys

TABS_ALLOWED = ("Makefile", ".mk", ".patch", ".diff")


def problems(path):
    data = open(path, "rb").read()
    if b"\0" in data:
        return  # not text
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.rstrip() != line:
            yield number, "blanks at the end of the line"
        if b"\t" in line and not path.endswith(TABS_ALLOWED):
            yield number, "a tab; indent with spaces"
    if data and not data.endswith(b"\n"):
        yield number, "no newline at the end of the file"
    if data.endswith(b"\n\n"):
        yield number - 1, "empty lines at the end of the file"


failed = False
for path in sys.argv[1:]:
    for number, message in problems(path):
        print(f"{path}:{number}: {message}", file=sys.stderr)
        failed = True
sys.exit(failed)
