"""systems.py - what is measured: how each system's programs are built and started.

A peer that is not installed, or whose compiler fails, is left out with the reason; everything else
works without it.
"""
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent

# A PE polls at this priority, its launcher is above it and can always run, and we above both.
PE_PRIORITY, LAUNCHER_PRIORITY, OUR_PRIORITY = 10, 20, 30


class System:
    """name: the column. groups: what its program measures with two PEs."""
    title = ""
    groups: tuple = ()
    crowds = starts = True
    missing = ""  # why it cannot be measured

    def __init__(self, build):
        self.build = build
        self.program = None

    def prepare(self):
        """Builds its program; sets `missing` if that is not possible."""

    def launch(self, npes):
        """The words before the program."""
        raise NotImplementedError

    def environment(self):
        return {}

    def arguments(self):
        return []

    def command(self, npes, words, realtime=False):
        launcher = [str(word) for word in self.launch(npes)]
        pe = ["chrt", "-f", str(PE_PRIORITY)] if realtime else []
        above = ["chrt", "-f", str(LAUNCHER_PRIORITY)] if realtime and launcher else []
        return above + launcher + pe + [str(self.program), *self.arguments(), *words]


class Floor(System):
    name, title = "floor", "floor"
    groups = ("small", "copy", "reduce")
    crowds = starts = False

    def prepare(self):
        self.program = self.build / "bench/floor"
        if not self.program.exists():
            self.missing = "the floor program is for x86-64"

    def launch(self, npes):
        return []


class Nvs(System):
    name, title = "nvs", "nvs"
    groups = ("small", "busy", "copy", "reduce", "collective")

    def prepare(self):
        self.program = self.build / "bench/shmem_bench"

    def launch(self, npes):
        return [self.build / "bin/nvsrun", "-n", npes]

    def arguments(self):
        return ["beside"]


class Peer(System):
    compiler = launcher = package = ""
    sources: tuple = ()

    def prepare(self):
        for tool in (self.compiler, self.launcher):
            if not shutil.which(tool):
                self.missing = f"{tool} is not installed (package {self.package})"
                return
        self.program = self.build / f"bench/peers/{self.name}_bench"
        self.program.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([self.compiler, "-O3", "-std=gnu11",
                               *(HERE / name for name in (*self.sources, "bench.c")),
                               "-o", self.program],
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            self.missing = f"{self.compiler}: {(done.stderr.splitlines() or ['failed'])[0]}"


class OpenMpi(Peer):
    name, title = "ompi", "Open MPI"
    groups = ("small", "busy", "copy", "reduce", "collective")
    compiler, launcher, package = "mpicc.openmpi", "mpirun.openmpi", "libopenmpi-dev, openmpi-bin"
    sources = ("mpi_bench.c",)

    def launch(self, npes):
        place = ["--bind-to", "core"] if npes <= usable_cpus() else ["--oversubscribe"]
        # Its one-sided calls over shared memory are not chosen by themselves.
        return [self.launcher, "-np", npes, *place, "-mca", "osc", "^rdma"]

    def environment(self):
        if os.geteuid():
            return {}
        return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class OpenShmem(OpenMpi):
    name, title = "oshmem", "Open MPI OSHMEM"
    compiler, launcher = "oshcc", "oshrun"
    sources = ("shmem_bench.c", "shmem_coll.c")

    def launch(self, npes):
        place = ["--bind-to", "core"] if npes <= usable_cpus() else ["--oversubscribe"]
        # With its memory hooks, Debian's 4.1.4 crashes in shmem_finalize, in code that is unloaded.
        return [self.launcher, "-np", npes, *place, "-mca", "memory", "^patcher"]


class Mpich(Peer):
    name, title = "mpich", "MPICH"
    groups = ("small", "busy", "copy", "reduce", "collective")
    compiler, launcher, package = "mpicc.mpich", "mpiexec.mpich", "libmpich-dev, mpich"
    sources = ("mpi_bench.c",)

    def launch(self, npes):
        place = ["-bind-to", "core"] if npes <= usable_cpus() else []
        return [self.launcher, *place, "-n", npes]


PEERS = ("oshmem", "ompi", "mpich")

# The programs' words for each group that is run in one process.
GROUPS = {
    "small": ("small", "static"),
    "busy": ("busy",),
    "copy": ("copy",),
    "reduce": ("reduce",),
    "collective": ("collective", "ordinary"),
}


def usable_cpus():
    return len(os.sched_getaffinity(0))


def version_of(system):
    """One line that says which version was measured."""
    command = {"ompi": ["mpirun.openmpi", "--version"], "oshmem": ["oshrun", "--version"],
               "mpich": ["mpichversion"]}.get(system.name)
    if not command or system.missing or not shutil.which(command[0]):
        return ""
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                         check=False).stdout
    return " ".join(out.splitlines()[0].split()) if out else ""


def all_systems(build):
    return [kind(build) for kind in (Floor, Nvs, OpenShmem, OpenMpi, Mpich)]
