#!/usr/bin/env python3
"""api_comments.py HEADER... - every public function has a comment above it.

Functions that follow each other without an empty line share one comment.
"""
import sys

failed = False
for path in sys.argv[1:]:
    lines = open(path, encoding="utf-8").read().split("\n")
    for i, line in enumerate(lines):
        if not line.startswith("NVS_API "):
            continue
        above = i
        while above > 0 and lines[above - 1].strip() and not lines[above - 1].endswith("*/"):
            above -= 1
        if above == 0 or not lines[above - 1].endswith("*/"):
            print(f"{path}:{i + 1}: a public function without a comment: {line}", file=sys.stderr)
            failed = True
sys.exit(failed)
