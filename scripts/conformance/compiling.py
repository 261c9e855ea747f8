"""Compiles the programs of a suite as their users would: shmemcc or shmemc++, no option that would
hide a problem of the library. -w: warnings about the suite's own code are not our subject."""

import os
import re
import subprocess

MISSING = re.compile(r"undefined reference to|undefined symbol")
FIRST_ERROR = re.compile(r"(?:fatal )?error: (.*)|undefined reference to (.*)")


class Compiler:
    def __init__(self, bin_dir, out_dir, flags):
        self.cc = os.path.join(bin_dir, "shmemcc")
        self.cxx = os.path.join(bin_dir, "shmemc++")
        self.out_dir, self.flags = out_dir, flags

    def command(self, program, helpers):
        mixed = any(h.endswith(".c") for h in helpers) and program.source.is_cxx
        command = [self.cxx if program.source.is_cxx else self.cc, "-O2", "-w", "-pthread"]
        command += ["-fopenmp"] if program.openmp else []
        command += ["-DHAVE_CONFIG_H"] if program.config_header else []
        command += [f"-I{d}" for d in program.include_dirs] + self.flags
        command += ["-o", self.executable(program), program.source.path]
        # A C helper of a C++ program: compiled as C++ too, as its header has no other promise.
        command += (["-x", "c++"] if mixed else []) + helpers
        return command + (["-x", "none"] if mixed else []) + ["-lm"]

    def executable(self, program):
        return os.path.join(self.out_dir, re.sub(r"[^\w.+-]", "_", program.name))

    def build(self, program):
        """None, or why it does not compile. The whole output goes beside the executable."""
        log, text = self.executable(program) + ".build.txt", ""
        for helpers in (program.helpers, program.helpers + program.neighbours):
            command = self.command(program, list(dict.fromkeys(helpers)))
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace", check=False)
            text += " ".join(command) + "\n" + done.stdout
            if done.returncode == 0 or not MISSING.search(done.stdout):
                break
        with open(log, "w", encoding="utf-8") as f:
            f.write(text)
        if done.returncode == 0:
            program.executable = self.executable(program)
            return None
        found = FIRST_ERROR.search(done.stdout)
        return found[0] if found else f"the compiler ended with status {done.returncode}"
