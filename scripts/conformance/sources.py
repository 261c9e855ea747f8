"""What is in a suite: which sources are programs, what they include, and which cannot be used here.

Nothing is known about any suite. A program is a C or C++ source with a main that includes shmem.h,
itself or through headers of the suite."""

import os
import re

C_ENDINGS = (".c",)
CXX_ENDINGS = (".cc", ".cpp", ".cxx", ".C")
OTHER_LANGUAGES = {
    ".f": "Fortran", ".f90": "Fortran", ".F": "Fortran", ".F90": "Fortran", ".f95": "Fortran",
    ".f03": "Fortran", ".f08": "Fortran", ".cu": "CUDA", ".upc": "UPC",
}
# Another parallel runtime in the same program: header -> why it cannot run.
FOREIGN = {
    "mpi.h": "mixes in MPI", "nccl.h": "mixes in NCCL", "cuda_runtime.h": "needs CUDA",
    "upc.h": "UPC", "upcxx.h": "UPC++", "upcxx/upcxx.hpp": "UPC++", "hip/hip_runtime.h": "needs HIP",
}
SHMEM_HEADERS = {"shmem.h", "shmemx.h", "pshmem.h", "mpp/shmem.h", "shmem.hpp"}

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)
MAIN = re.compile(r"\bmain\s*\(")


class Source:
    """A file of the suite, C or header."""

    def __init__(self, path):
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        self.path = path
        without_comments = COMMENT_OR_STRING.sub(
            lambda m: m[0] if m[0].startswith('"') else " ", text)
        self.includes = INCLUDE.findall(without_comments)
        self.code = COMMENT_OR_STRING.sub(" ", text)
        self.has_main = bool(MAIN.search(self.code))
        self.openmp = "#pragma omp" in self.code or "omp.h" in self.includes

    @property
    def is_cxx(self):
        return self.path.endswith(CXX_ENDINGS)


class Program:
    """One program to build: its main source, what goes with it, or why it is skipped."""

    def __init__(self, name, source):
        self.name, self.source = name, source
        self.skip = None
        self.include_dirs, self.helpers = [], []
        self.neighbours = []  # sources without main beside it: linked if something is missing
        self.openmp = source.openmp if source else False
        self.config_header = False
        self.executable = None  # built by the suite itself


class Suite:
    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.files = {}  # path -> Source, parsed when first asked for
        self.by_name = {}  # base name -> paths
        self.units, self.foreign = [], []
        for folder, dirs, names in os.walk(self.root):
            dirs[:] = sorted(d for d in dirs if not d.startswith("."))
            for name in sorted(names):
                self.add(os.path.join(folder, name))

    def add(self, path):
        ending = os.path.splitext(path)[1]
        self.by_name.setdefault(os.path.basename(path), []).append(path)
        if ending in C_ENDINGS + CXX_ENDINGS:
            self.units.append(path)
        elif ending in OTHER_LANGUAGES:
            self.foreign.append((path, OTHER_LANGUAGES[ending]))

    def source(self, path):
        if path not in self.files:
            self.files[path] = Source(path)
        return self.files[path]

    def relative(self, path):
        return os.path.relpath(path, self.root)

    def resolve(self, include, user):
        """The file of the suite that an include line means, the nearest one; None: the system's."""
        beside = os.path.normpath(os.path.join(os.path.dirname(user), include))
        if os.path.isfile(beside):
            return beside
        tail = os.sep + os.path.normpath(include)
        found = [p for p in self.by_name.get(os.path.basename(include), []) if p.endswith(tail)]
        return min(found, key=lambda p: (len(os.path.relpath(p, os.path.dirname(user))), p),
                   default=None)

    def closure(self, path):
        """Visits path and what it includes from the suite: (sources, system includes, folders)."""
        sources, system, folders, todo = {}, set(), [], [path]
        while todo:
            here = todo.pop(0)
            if here in sources:
                continue
            sources[here] = self.source(here)
            for include in sources[here].includes:
                found = self.resolve(include, here)
                if not found or include in SHMEM_HEADERS:
                    system.add(include)
                    continue
                folder = found[: -len(os.path.normpath(include)) - 1]
                if found.endswith(os.path.normpath(include)) and folder not in folders:
                    folders.append(folder)
                todo.append(found)
        return sources, system, folders

    def helpers(self, path):
        """The sources without main that belong to headers which path includes: x.c of x.h."""
        found, todo, seen = [], [path], set()
        while todo:
            here = todo.pop(0)
            for header in self.closure(here)[0]:
                stem, ending = os.path.splitext(header)
                unit = next((stem + e for e in C_ENDINGS + CXX_ENDINGS
                             if os.path.isfile(stem + e)), None)
                if ending in (".h", ".hpp", ".hh") and unit and unit not in seen:
                    seen.add(unit)
                    if not self.source(unit).has_main:
                        found.append(unit)
                        todo.append(unit)
        return found

    def program(self, path):
        sources, system, folders = self.closure(path)
        if not any(s.has_main for s in sources.values()) or not system & SHMEM_HEADERS:
            return None
        program = Program(os.path.splitext(self.relative(path))[0], self.source(path))
        # Of itself only: what its headers include is often inside of an #ifdef.
        program.skip = next((why for h, why in FOREIGN.items() if h in self.source(path).includes),
                            None)
        program.helpers = self.helpers(path)
        program.openmp = any(s.openmp for s in sources.values())
        program.config_header = any(os.path.basename(s) == "config.h" for s in sources)
        for helper in program.helpers:
            folders += [f for f in self.closure(helper)[2] if f not in folders]
        program.include_dirs = folders
        program.neighbours = [
            p for p in self.units
            if os.path.dirname(p) == os.path.dirname(path) and not self.source(p).has_main
            and self.source(p).is_cxx == self.source(path).is_cxx]
        return program

    def programs(self):
        """All programs of the suite, in the order of their names; and those in other languages."""
        found = [p for p in map(self.program, self.units) if p]
        for path, language in self.foreign:
            program = Program(self.relative(path), None)
            program.skip = language
            found.append(program)
        stems = [p.name for p in found]
        for p in found:
            if p.source and stems.count(p.name) > 1:
                p.name = self.relative(p.source.path)
        return sorted(found, key=lambda p: p.name)
