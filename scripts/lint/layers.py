#!/usr/bin/env python3
"""layers.py - files use only what lies below them.

The table says for each layer which files are in it and which layers it may use. Two things are
compared with it: #include lines, and calls of internal functions (nvsi_*), since nvs_internal.h
declares those of all layers. Function pointers of a seam (transport.h) are not calls: that is what
they are for.
"""
import glob
import re
import sys

# Layer: its files in src/ (without .c or .h; a folder ends in /). Bottom first.
LAYERS = {
    "util": ["util/"],
    "base": ["dtype", "error", "log", "config", "config_print", "nvs_internal", "boot/job", "boot/flight",
             "boot/table", "boot/crash", "stream/stream"],
    "host": ["boot/", "transport/", "memory", "fast", "wait", "overdue", "windows"],
    "core": ["rma", "amo", "order", "signal", "check", "ctx", "lock"],
    "coll": ["coll/"],
    # Memory of GPUs, and kernels.
    "gpu": ["gpu/"],
    # Made by agreement of all PEs, so they stand on the collectives.
    "agreed": ["heap", "heap_choose", "heap_device", "heap_lent", "heap_memory", "heap_objects", "team", "team_keyed", "team_split"],
    # Operations on streams, and the queues that they are without a GPU.
    "stream": ["stream/"],
    "init": ["init"],
    "api": ["api/"],
    # A library of its own, over what libnvs exports (stream/queue.h).
    "standin": ["standin/"],
}

# Uses that go upwards, each with its reason. (user, used): files or layers.
EXCEPTIONS = {}

# tools/ sees the public headers, its own, and the launch protocol.
TOOLS_MAY_INCLUDE = re.compile(r"^(boot/((job|table|crash)\.h|flight\.def)|(nvs|shmem|shmemx|nvshmem|nvshmemx)\.h(pp)?)$")

problems = []


def complain(path, number, message):
    problems.append(f"{path}:{number}: {message}")


def stem(path):
    """'src/coll/fold.c' -> 'coll/fold'."""
    return re.sub(r"(\.inc)?\.(c|h|def)$", "", path.removeprefix("src/"))


def layer_of(path):
    name = stem(path)
    best = None
    for layer, members in LAYERS.items():
        for member in members:
            if name == member or (member.endswith("/") and name.startswith(member)):
                if best is None or len(member) > len(best[1]):
                    best = (layer, member)
    return best[0] if best else None


def code_lines(path):
    """The lines with comments and string contents blanked, numbers kept."""
    text = open(path, encoding="utf-8").read()

    def blank(match):
        found = match.group(0)
        return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)

    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)
    return text.split("\n")


def resolve(path, include):
    """The file in src/ that an include line means, or None for public and system headers."""
    for candidate in (f"{path.rpartition('/')[0]}/{include}", f"src/{include}"):
        parts = []
        for part in candidate.split("/"):
            parts = parts[:-1] if part == ".." else parts + [part]
        candidate = "/".join(parts)
        if candidate in sources:
            return candidate
    return None


def check_use(path, number, used, what):
    user_layer, used_layer = layer_of(path), layer_of(used)
    order = list(LAYERS)
    pairs = {(a, b) for a in (stem(path), user_layer) for b in (stem(used), used_layer)}
    if pairs & EXCEPTIONS.keys():
        return
    if used_layer and order.index(used_layer) > order.index(user_layer):
        complain(path, number, f"{user_layer} must not use {used_layer}: {what}")
    if path.startswith("src/transport/") and used.startswith("src/transport/"):
        if stem(used) not in ("transport/transport", stem(path).split("_")[0]):
            complain(path, number, f"transports must not use each other: {what}")


def definitions():
    """Internal function -> the .c file that defines it (a name at the start of a definition)."""
    where = {}
    for path in sources:
        if path.endswith(".c"):
            for line in lines[path]:
                found = re.match(r"(?!static|return|#|\s)[\w\s*]*\b(nvsi_\w+)\s*\(", line)
                if found and not line.rstrip().endswith(";"):
                    where.setdefault(found.group(1), path)
    return where


sources = sorted(glob.glob("src/**/*.[ch]", recursive=True) + glob.glob("src/**/*.def", recursive=True))
lines = {path: code_lines(path) for path in sources}
defined = definitions()

for path in sources:
    if layer_of(path) is None:
        complain(path, 1, "not in the table of layers (scripts/lint/layers.py)")
        continue
    for number, line in enumerate(lines[path], 1):
        include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if include:
            used = resolve(path, include.group(1))
            if used:
                check_use(path, number, used, include.group(1))
        elif path.endswith(".c"):
            for name in re.findall(r"\bnvsi_\w+", line):
                if name in defined and stem(defined[name]) != stem(path):
                    check_use(path, number, defined[name], f"{name} of {stem(defined[name])}.c")

for path in sorted(glob.glob("tools/**/*.[ch]", recursive=True)):
    folder = path.rpartition("/")[0]
    for number, line in enumerate(code_lines(path), 1):
        include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if include and not glob.glob(f"{folder}/{include.group(1)}"):
            if not TOOLS_MAY_INCLUDE.match(include.group(1)):
                complain(path, number, f"tools use public headers and boot/job.h, not {include.group(1)}")

print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
sys.exit(bool(problems))
