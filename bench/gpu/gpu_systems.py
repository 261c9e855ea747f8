"""gpu_systems.py - what is measured on GPUs: how each system's programs are built and started.

A system is a list of commands for each group of operations. Those of the floor and of the peers
print RESULT lines; nvs-perf writes JSON, and its command says which metric each operation is.
"""
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import measure

HERE = pathlib.Path(__file__).resolve().parent
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

TWO_GPUS = ("reduce", "sync", "move", "exchange")
ONCE = ("calls", "shared")  # nothing is compared closely: in the first round only
GROUPS = (*TWO_GPUS, "calls", "self", "shared")

# Multicast over NVLink stays off on machines that are shared.
NO_MULTICAST = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
                "NVSHMEM_DISABLE_NVLS": "1"}


@dataclass
class Machine:
    gpus: int = 0
    gpu: str = ""
    driver: str = ""
    arch: str = ""      # as nvcc wants it: sm_90
    problem: str = ""

    @staticmethod
    def look():
        query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap",
                 "--format=csv,noheader"]
        try:
            text = subprocess.run(query, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return Machine(problem="nvidia-smi shows no GPU")
        lines = [[word.strip() for word in line.split(",")] for line in text.splitlines() if line]
        if not lines:
            return Machine(problem="nvidia-smi shows no GPU")
        name, driver, capability = lines[0]
        return Machine(len(lines), name, driver, "sm_" + capability.replace(".", ""))


@dataclass
class Command:
    words: list
    environment: dict = field(default_factory=dict)
    metrics: dict = None  # nvs-perf: operation: metric
    limit_s: float = 60

    @property
    def name(self):
        """For sentences about it."""
        words = [str(word) for word in self.words]
        if self.metrics is None:
            return " ".join([pathlib.Path(words[0]).name, *words[1:]])
        return f"nvs-perf --mode {words[words.index('--mode') + 1]} {' '.join(self.metrics)}"

    def run(self):
        environment = {**NO_MULTICAST, **self.environment}
        if self.metrics is None:
            return measure.run(self.words, self.limit_s, environment)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "results.json")
            outcome = measure.run([*self.words, "--json", str(file)], self.limit_s, environment)
            if file.exists():
                take_json(outcome, file.read_text(encoding="utf-8"), self.metrics)
        return outcome


def take_json(outcome, text, metrics):
    """The results of nvs-perf. A figure whose values were wrong is none."""
    for line in json.loads(text)["results"]:
        figures, metric = line["out_of_place"], metrics.get(line["operation"])
        if not figures:
            continue
        if figures["nwrong"]:
            outcome.problem = outcome.problem or f"{line['operation']}: {figures['nwrong']} wrong values"
            continue
        if not metric:  # ran for the check only
            continue
        nbytes = 0 if line["type"] == "none" else line["size"]
        outcome.us[metric, nbytes] = outcome.best[metric, nbytes] = figures["time"]


def figures_of(system, commands):
    """Runs the commands of one group: {(metric, bytes): us}, and the problems in words."""
    us, problems = {}, []
    for command in commands:
        outcome = command.run()
        us.update(outcome.us)
        if outcome.problem:
            problems.append(f"{command.name}: {outcome.problem}")
    return system.rows_of(us), problems


def nvcc():
    """As cmake finds it: on the path, in its usual place, or where ./task installs it."""
    places = (os.environ.get("CUDA_HOME", "/usr/local/cuda"), HERE / "../../.cache/cuda/nvidia/cu13")
    found = [str(path) for path in (pathlib.Path(place, "bin/nvcc") for place in places) if path.exists()]
    return shutil.which("nvcc") or (found or ["nvcc"])[0]


def nvcc_words(machine, *words):
    return [nvcc(), f"-arch={machine.arch}", "-O3", "-std=c++17", *map(str, words)]


class System:
    name = title = missing = ""

    def __init__(self, build, machine):
        self.folder = build / "bench/gpu"
        self.build, self.machine = build, machine

    def start_building(self):
        """Starts what can run beside others' compilers; finish_building() waits for it."""

    def finish_building(self):
        """Sets `missing` if it cannot be measured."""

    def commands(self, group, first_round):
        return []

    def rows_of(self, us):
        """From the metrics of its programs to those of the rows."""
        return us

    def version(self):
        return ""


class Compiled(System):
    """Several compilers at once, then the linker."""
    sources = ()
    compile_words = link_words = ()

    def objects(self):
        return [self.folder / f"{self.name}-{source}.o" for source in self.sources]

    def start_building(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.compilers = []
        for source, made in zip(self.sources, self.objects()):
            words = nvcc_words(self.machine, *self.compile_words, "-c", HERE / source, "-o", made)
            try:
                self.compilers.append(subprocess.Popen(words, stdout=subprocess.PIPE,
                                                       stderr=subprocess.STDOUT, text=True))
            except OSError as error:
                self.missing = f"nvcc: {error.strerror}"
                return

    def finish_building(self):
        for compiler in self.compilers:
            self.judge(compiler.communicate()[0], compiler.returncode)
        if not self.missing:
            done = subprocess.run(nvcc_words(self.machine, *self.compile_words, *self.objects(), "-o",
                                             self.program, *self.link_words),
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            self.judge(done.stdout, done.returncode)

    def judge(self, text, status):
        if status and not self.missing:
            wrong = [line for line in text.splitlines() if "error" in line.lower()]
            self.missing = f"nvcc: {(wrong or text.splitlines() or ['failed'])[0]}"

    @property
    def program(self):
        return self.folder / self.name


class Floor(Compiled):
    name, title = "floor", "floor"
    sources = ("floor.cu", "harness.cu", "floor_reduce.cu", "floor_pipeline.cu", "floor_sync.cu",
               "floor_move.cu", "floor_exchange.cu", "floor_local.cu", "floor_bulk.cu")
    link_words = ("-lcuda",)
    parts = {"reduce": ("reduce", "pipeline"), "sync": ("sync",), "move": ("move",),
             "exchange": ("exchange",), "calls": ("calls",), "self": ("local",)}

    def commands(self, group, first_round):
        parts = self.parts.get(group, ())
        if group in TWO_GPUS and self.machine.gpus < 2:
            # Both PEs on one GPU: whether they are right, once; no figures of links.
            parts = parts if first_round else ()
        return [Command([str(self.program), part], limit_s=120) for part in parts]

    def rows_of(self, us):
        return rows_of_floor(us, self.machine.gpus)


# Metrics that are the better of two prototypes, and those under another name.
FASTEST_OF = {"all_reduce": ("all_reduce_kernel", "all_reduce_pipeline"),
              "broadcast": ("broadcast_push", "broadcast_engine"),
              "all_to_all": ("all_to_all_push", "all_to_all_engine")}
ALSO = {"signal_ping_pong": "p_ping_pong"}
FLOOR_OF_CALLS = {"host": "copy", "stream": "copy_pipelined", "stream_blocking": "copy",
                  "graph": "copy_graph"}
FLOOR_OF_KERNELS = {"host": "launch", "stream": "launch_pipelined", "stream_blocking": "launch",
                    "graph": "launch_graph"}

ONE_GPU = {*FLOOR_OF_CALLS.values(), *FLOOR_OF_KERNELS.values(), "write_value", "wait_value"}


def rows_of_floor(us, gpus):
    """From what the floor programs print to the rows that they are the floor of."""
    us = dict(us)
    if gpus < 2:
        us = {key: value for key, value in us.items() if key[0] in ONE_GPU or key[0].endswith("_self")}
    sizes = {nbytes for _, nbytes in us}
    for metric, of in FASTEST_OF.items():
        for nbytes in sizes:
            found = [us[name, nbytes] for name in of if (name, nbytes) in us]
            if found:
                us[metric, nbytes] = min(found)
    for metric, of in ALSO.items():
        for nbytes in sizes:
            if (of, nbytes) in us:
                us[metric, nbytes] = us[of, nbytes]
    for way, of in FLOOR_OF_CALLS.items():
        for operation in ("put", "get"):
            if (of, 8) in us:
                us[f"{operation}_{way}_self", 8] = us[of, 8]
    for way, of in FLOOR_OF_KERNELS.items():
        if (of, 0) in us:
            us[f"barrier_{way}_self", 0] = us[of, 0]
    return us


class Nvs(Compiled):
    """nvs-perf, and for what is compared closely in kernels the program that measures NVSHMEM."""
    name, title = "nvs", "nvs"
    sources = ("nvshmem_peer.cu",)

    def start_building(self):
        lib = self.build / "lib"
        self.compile_words = (f"-I{HERE.parents[1]}/include",)
        self.link_words = (f"-L{lib}", "-lnvs", "-Xlinker", f"-rpath={lib}")
        super().start_building()

    def finish_building(self):
        for program in ("nvsrun", "nvs-perf"):
            if not (self.build / "bin" / program).exists():
                self.missing = f"{self.build}/bin/{program} is not built"
                return
        super().finish_building()

    def perf(self, metrics, mode, npes, *words, environment=None, check=0):
        """metrics: operation: metric."""
        command = [str(self.build / "bin/nvsrun"), "-n", str(npes), str(self.build / "bin/nvs-perf"),
                   *metrics, "--memory", "device", "--mode", mode, "-c", str(check), *map(str, words)]
        return Command(command, environment or {}, metrics)

    def commands(self, group, first_round):
        check = 1 if first_round else 0
        if group in TWO_GPUS and self.machine.gpus < 2:
            return []
        return list(getattr(self, {"self": "self_"}.get(group, group))(check))

    def reduce(self, check):
        metrics = {"all_reduce": "all_reduce"}
        for first, last, checks in ((8, 8, check), (KIB, 64 * MIB, check), (256 * MIB, GIB, 0)):
            yield self.perf(metrics, "graph", 2, "-b", first, "-e", last, "-f", 4, check=checks)

    def sync(self, check):
        yield self.perf({"barrier": "barrier_stream"}, "graph", 2, check=check)
        yield self.perf({"barrier": "barrier_block"}, "block", 2, check=check)
        for first, last in ((8, 8), (KIB, 256 * KIB)):
            yield self.perf({"put_signal": "put_signal_block"}, "block", 2, "-b", first, "-e", last,
                            "-f", 4, check=check)
        yield self.perf({"ping_pong": "p_ping_pong", "signal": "signal_ping_pong",
                         "fetch_add": "fetch_add"}, "thread", 2, check=check)

    def move(self, check):
        for pattern, suffix in (("one", ""), ("ring", "_both")):
            for operation, mode, metric in (("put_nbi", "graph", "put_stream"),
                                            ("put_nbi", "block", "put_kernel")):
                words = ("--blocks", "auto") if mode == "block" else ()
                yield self.perf({operation: metric + suffix}, mode, 2, "-b", 64 * KIB, "-e", 256 * MIB,
                                "-f", 16, "--pattern", pattern, *words, check=check)

    def exchange(self, check):
        yield self.perf({"broadcast": "broadcast", "all_to_all": "all_to_all"}, "graph", 2, "-b", 64 * KIB,
                        "-e", 256 * MIB, "-f", 16, check=check)

    def calls(self, check):
        from gpu_rows import OPERATIONS, can_be_called  # pylint: disable=C0415
        for way, words in (("host", ()), ("stream", ()), ("stream_blocking", ("--blocking",)),
                           ("graph", ())):
            metrics = {operation: f"{operation}_{way}_self" for operation in OPERATIONS
                       if can_be_called(operation, way)}
            yield self.perf(metrics, way.partition("_")[0], 1, "-d", "uint64", "-b", 8, "-e", 8, *words,
                            environment={"CUDA_VISIBLE_DEVICES": "0"}, check=check)

    def self_(self, check):
        """By the source that measures NVSHMEM, so that both run the same loops. nvs-perf has its
        own, which also move its data: they are where values are checked."""
        one = {"CUDA_VISIBLE_DEVICES": "0"}
        yield Command([str(self.program), "1", "self"], one)
        if check:
            words = ("-d", "uint64", "-b", 8, "-e", 8)
            yield self.perf({name: "" for name in ("put", "p", "g", "fetch_add", "add")}, "thread", 1, *words,
                            environment=one, check=check)
            for scope in ("warp", "block"):
                yield self.perf({"put": ""}, scope, 1, "-b", KIB, "-e", 256 * KIB, "-f", 16, environment=one,
                                check=check)

    def shared(self, check):
        one = {"CUDA_VISIBLE_DEVICES": "0"}
        for mode in ("host", "stream", "graph"):
            for first, last in ((8, 8), (64 * KIB, 16 * MIB)):
                metrics = {"all_reduce": f"all_reduce_{mode}_shared"}
                if last == 8:
                    metrics.update(barrier=f"barrier_{mode}_shared",
                                   put_signal=f"put_signal_{mode}_shared")
                yield self.perf(metrics, mode, 2, "-b", first, "-e", last, "-f", 16, environment=one,
                                check=check)


def package_version(*names):
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return ""


class Nvshmem(Compiled):
    name, title = "nvshmem", "NVSHMEM"
    sources = ("nvshmem_peer.cu",)

    def start_building(self):
        found = importlib.util.find_spec("nvidia.nvshmem") if importlib.util.find_spec("nvidia") else None
        home = os.environ.get("NVSHMEM_HOME") or (found and list(found.submodule_search_locations)[0])
        self.compilers = []
        if not home:
            self.missing = "not installed (package nvidia-nvshmem-cu13, or NVSHMEM_HOME)"
            return
        lib = pathlib.Path(home, "lib")
        self.compile_words = ("-rdc=true", f"-I{home}/include")
        # The wheel has no name that the linker would find.
        self.folder.mkdir(parents=True, exist_ok=True)
        link = self.folder / "libnvshmem_host.so"
        link.unlink(missing_ok=True)
        link.symlink_to(next(lib.glob("libnvshmem_host.so*"), lib))
        self.link_words = (f"-L{self.folder}", f"-L{lib}", "-lnvshmem_host", "-lnvshmem_device",
                           "-Xlinker", f"-rpath={lib}", "-lcuda")
        super().start_building()

    def commands(self, group, first_round):
        environment = {"NVSHMEM_SYMMETRIC_SIZE": "2147483648", "NVSHMEM_REMOTE_TRANSPORT": "none",
                       "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": "lo"}
        npes = 1 if group in ("self", "calls") else 2
        if group not in (*TWO_GPUS, "self", "calls") or npes > self.machine.gpus:
            return []
        return [Command([str(self.program), str(npes), group], environment)]

    def version(self):
        return package_version("nvidia-nvshmem-cu13", "nvidia-nvshmem-cu12")


class Torch(System):
    """NCCL by way of PyTorch, and PyTorch's own."""
    groups = ()

    def finish_building(self):
        if not importlib.util.find_spec("torch"):
            self.missing = "PyTorch is not installed"
        elif self.machine.gpus < 2:
            self.missing = "needs two GPUs"

    def commands(self, group, first_round):
        if group not in self.groups:
            return []
        return [Command([sys.executable, str(HERE / "torch_peer.py"), self.name, group], limit_s=120)]


class Nccl(Torch):
    name, title = "nccl", "NCCL"
    groups = ("reduce", "exchange")

    def version(self):
        return package_version("nvidia-nccl-cu13", "nvidia-nccl-cu12")


class TorchSymmetric(Torch):
    name, title = "torch", "PyTorch symmetric memory"
    groups = ("reduce",)

    def version(self):
        return package_version("torch")


PEERS = ("nvshmem", "nccl", "torch")


def all_systems(build, machine):
    return [kind(build, machine) for kind in (Floor, Nvs, Nvshmem, Nccl, TorchSymmetric)]
