"""Programs that a suite's own build has made: executables in its folder that need libnvs."""

import os
import subprocess

from sources import Program


def needs_nvs(path):
    """Whether an ELF executable names libnvs among the libraries that it needs."""
    with open(path, "rb") as f:
        if f.read(4) != b"\x7fELF":
            return False
    dynamic = subprocess.run(["readelf", "-d", path], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return "(NEEDED)" in dynamic and "libnvs.so" in dynamic and "(SONAME)" not in dynamic


def built_programs(root):
    found = []
    for folder, dirs, names in os.walk(os.path.abspath(root)):
        dirs.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK) and needs_nvs(path):
                program = Program(os.path.relpath(path, os.path.abspath(root)), None)
                program.executable = path
                found.append(program)
    return found
