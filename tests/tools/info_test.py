"""Tests of nvs-info: what it says of this machine is compared with what other sources say, and
machines that are not here (control groups of both versions, NUMA, ARM) are made up below --sysroot.

Usage: info_test.py SOURCE NVSRUN NVS_INFO [unittest arguments]
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import unittest

PATIENCE = 60.0
SOURCE = NVSRUN = INFO = None
GROUPS = {
    "--library": {"library", "kernels", "transports", "gpu", "launch"},
    "--system": {"cpu", "memory", "limits", "kernel"},
    "--start": {"start", "heap", "job", "places"},
    "--variables": {"variables"},
}


def run(*command, env=None, before=None):
    """With an environment that has no variable of ours but those given."""
    clean = {name: value for name, value in os.environ.items()
             if not re.match("NVS|SHMEM|SMA_", name)}
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                          env={**clean, **(env or {})}, preexec_fn=before)


def read(path):
    with open(path) as file:
        return file.read()


class Case(unittest.TestCase):
    def report(self, *options, launch=(), status=0, **more):
        result = run(*launch, INFO, "--json", *options, **more)
        self.assertEqual(result.returncode, status, result.stderr)
        if not launch:
            self.assertEqual(result.stderr, b"")
        return json.loads(result.stdout.decode())


class Output(Case):
    def test_parts(self):
        whole = set()
        for option, sections in GROUPS.items():
            self.assertEqual(set(self.report(option)), sections | {"problems"}, option)
            whole |= sections
        self.assertEqual(set(self.report()), whole | {"problems"})
        self.assertEqual(set(self.report("--library", "--variables")),
                         GROUPS["--library"] | GROUPS["--variables"] | {"problems"})

    def test_text_and_json_agree(self):
        report = self.report()
        text = run(INFO).stdout.decode()
        for section, facts in report.items():
            if section == "problems":
                self.assertEqual(facts, [])
                continue
            self.assertRegex(text, rf"(?m)^{section}$")
            if isinstance(facts, dict):
                for key in facts:
                    if not key.endswith("_note"):
                        self.assertRegex(text, rf"(?m)^  {key.replace('_', ' ')} ")
        for variable in report["variables"]:
            self.assertIn(f"  {variable['name']}={variable['value']}  (default)", text)

    def test_without_environment(self):
        result = subprocess.run([INFO, "--json"], env={}, capture_output=True, timeout=PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(json.loads(result.stdout)["start"]["starts"])

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([INFO], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"cannot write", result.stderr)

    def test_wrong_command_line(self):
        for words, expected in ((("--sysroot",), "argument is missing"),
                                (("--sysroot", "/nonexistent"), "no such folder"),
                                (("word",), "takes options only"),
                                (("--nonsense",), "no option of nvs-info")):
            result = run(INFO, *words)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(expected, result.stderr.decode())
            self.assertIn(words[-1], result.stderr.decode())


class Variables(Case):
    def defined(self):
        """Names, aliases and defaults in config.def."""
        text = re.sub(r"/\*.*?\*/", "", read(os.path.join(SOURCE, "src/config.def")), flags=re.S)
        return re.findall(r'CONFIG_\w+\(\w+,\s*"(\w+)",\s*(?:NO_ALIASES|ALIASES\(([^)]*)\)),\s*"([^"]*)"',
                          text)

    def by_name(self, *options, **more):
        return {v["name"]: v for v in self.report("--variables", *options, **more)["variables"]}

    def test_all_are_there(self):
        defined = self.defined()
        self.assertGreater(len(defined), 10)
        variables = self.by_name()
        self.assertEqual(sorted(variables), sorted(name for name, _, _ in defined))
        for name, aliases, default in defined:
            variable = variables[name]
            self.assertEqual(variable["aliases"], re.findall(r"\w+", aliases), name)
            self.assertEqual(variable["default"], default)
            self.assertEqual((variable["source"], variable["set_by"]), ("default", None))
            self.assertTrue(variable["takes"] and variable["help"])

    def test_where_a_value_comes_from(self):
        env = {"NVS_HEAP_SIZE": "1024m", "NVSHMEM_SYMMETRIC_SIZE": "3g", "SHMEM_DEBUG": "1", "NVS_SPIN": ""}
        variables = self.by_name(env=env)
        for name, value, by in (("NVS_HEAP_SIZE", "1g", "NVS_HEAP_SIZE"), ("NVS_LOG", "info", "SHMEM_DEBUG"),
                                ("NVS_SPIN", "auto", None)):
            self.assertEqual((variables[name]["value"], variables[name]["set_by"]), (value, by))
            self.assertEqual(variables[name]["source"], "environment" if by else "default")

    def test_refused_values(self):
        env = {"NVS_SPIN": "fast", "NVS_HEAP_SIZE": "4gg"}
        report = self.report(env=env, status=1)
        variables = {v["name"]: v for v in report["variables"]}
        for name, value in env.items():
            variable = variables[name]
            self.assertEqual((variable["value"], variable["set_by"]), (None, name))
            for part in (name, value, "must be", variable["takes"]):
                self.assertIn(part, variable["problem"])
            self.assertIn(variable["problem"], report["problems"])
        # The library itself says the same of the first of them.
        self.assertFalse(report["start"]["starts"])
        self.assertIn(report["start"]["starts_note"],
                      ["init: " + variables[name]["problem"] for name in env])
        text = run(INFO, "--variables", env=env).stdout.decode()
        self.assertIn("NVS_SPIN=?  (refused by NVS_SPIN; default auto)", text)
        self.assertIn("problems\n", text)

    def test_names_that_do_not_exist(self):
        report = self.report(env={"NVS_SPIM": "1", "NVS_TEST_X": "1"})
        self.assertEqual(len(report["problems"]), 1)
        self.assertIn("NVS_SPIM", report["problems"][0])
        self.assertIn("NVS_SPIN", report["problems"][0])

    def test_any_bytes(self):
        for value, shown in ((b"\xff\xfe", "\ufffd\ufffd"), (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
                             (b"a\xc3", "a\ufffd"), (b'"\\\t\x01', '"\\\t\x01'),
                             ("gr\u00f6\u00dfe \U0001f600".encode(), "gr\u00f6\u00dfe \U0001f600")):
            problem = self.report("--variables", env={b"NVS_SPIN": value}, status=1)["problems"][0]
            self.assertIn(f"NVS_SPIN is '{shown}'", problem)


class Library(Case):
    def test_build(self):
        library = self.report("--library")["library"]
        version = read(os.path.join(SOURCE, "VERSION")).strip()
        self.assertEqual(library["version"], version)
        self.assertEqual(library["soname"], "libnvs.so." + version.split(".")[0])
        self.assertRegex(library["compiler"], r"gcc|[Cc]lang")
        self.assertTrue(library["revision"] is None or re.fullmatch("[0-9a-f]{12}", library["revision"]))

    def test_not_part_of_this_version(self):
        transports = self.report("--library")["transports"]
        self.assertTrue(transports["shm"])
        self.assertTrue(transports["cuda"])
        self.assertIs(transports["ucx"], False)
        self.assertIn("not part of this version", transports["ucx_note"])

    def test_kernels(self):
        kernels = self.report("--library")["kernels"]
        self.assertIs(kernels[kernels["chosen"]], True)
        chosen = self.report("--library", env={"NVS_ISA": "generic"})["kernels"]["chosen"]
        self.assertEqual(chosen, "generic")
        absent = [isa for isa in ("avx512", "avx2", "neon") if not kernels.get(isa)]
        for isa in absent: # at least one: no CPU has neon and avx2
            report = self.report("--library", "--start", env={"NVS_ISA": isa}, status=1)
            self.assertIsNone(report["kernels"]["chosen"])
            self.assertIn(isa, report["problems"][0])
        self.assertTrue(absent)

    def test_heap(self):
        heap = self.report("--start", env={"NVS_HEAP_SIZE": "64m"})["heap"]
        self.assertEqual((heap["asked_for"], heap["size"]), ("64m", 64 << 20))


class Machine(Case):
    def test_this_one(self):
        report = self.report("--system")
        total = int(re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo")).group(1)) * 1024
        self.assertEqual(report["memory"]["total"], total)
        self.assertLess(0, report["memory"]["available"])
        self.assertLessEqual(report["memory"]["available"], total)
        self.assertEqual(report["memory"]["page_size"], os.sysconf("SC_PAGESIZE"))
        self.assertEqual(report["cpu"]["cpus_allowed"], len(os.sched_getaffinity(0)))
        self.assertEqual(report["cpu"]["architecture"], os.uname().machine)
        self.assertEqual(report["kernel"]["release"], os.uname().release)
        self.assertTrue(report["kernel"]["memfd"])
        self.assertEqual(report["limits"]["max_map_count"], int(read("/proc/sys/vm/max_map_count")))

    def test_affinity(self):
        one = min(os.sched_getaffinity(0))
        cpu = self.report("--system", before=lambda: os.sched_setaffinity(0, {one}))["cpu"]
        self.assertEqual((cpu["cpus_allowed"], cpu["cpus_allowed_note"]), (1, str(one)))

    def test_limits(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limits = self.report("--system", before=limit)["limits"]
        self.assertEqual((limits["open_files"], limits["core_size"]), (64, 0))
        self.assertNotIn("open_files_hard", limits)

    def test_no_address_space(self):
        if self.report("--library")["library"]["sanitizer"] != "none":
            self.skipTest("a sanitizer needs address space itself")
        bytes_ = 256 << 20
        report = self.report(before=lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_)),
                             status=1)
        self.assertEqual(report["limits"]["address_space"], bytes_)
        self.assertFalse(report["start"]["starts"])
        self.assertIn("ulimit -v", report["start"]["starts_note"])
        self.assertEqual(report["problems"], [report["start"]["starts_note"]])
        self.assertEqual(report["places"], [])

    def test_control_group(self):
        """In a group made for this test, where that is allowed."""
        limit = 512 << 20
        group = self.make_group({"memory.limit_in_bytes": limit, "memory.max": limit,
                                 "cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 150000,
                                 "cpu.max": "150000 100000"})
        def enter():
            for folder in group:
                with open(folder + "/cgroup.procs", "w") as file:
                    file.write(str(os.getpid()))
        report = self.report("--system", before=enter)
        self.assertEqual(report["memory"]["cgroup_limit"], limit)
        self.assertLess(0, report["memory"]["cgroup_used"])
        self.assertEqual(report["cpu"]["quota_percent"], 150)

    def make_group(self, settings):
        top = "/sys/fs/cgroup"
        trees = [top] if os.path.exists(top + "/cgroup.controllers") else [top + "/memory", top + "/cpu"]
        made = []
        try:
            for tree in trees:
                folder = f"{tree}/nvs-test-{os.getpid()}"
                os.mkdir(folder)
                made.append(folder)
                self.addCleanup(os.rmdir, folder)
                for name, value in settings.items():
                    if os.path.exists(f"{folder}/{name}"):
                        with open(f"{folder}/{name}", "w") as file:
                            file.write(str(value))
        except OSError as error:
            self.skipTest(f"no control group can be made here: {error}")
        controllers = {name.split(".")[0] for folder in made for name in os.listdir(folder)}
        if not {"memory", "cpu"} <= controllers:
            self.skipTest("no control group with memory and cpu can be made here")
        return made


class OtherMachines(Case):
    """Folders that look like /proc and /sys of other machines."""

    def machine(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for path, text in files.items():
            path = os.path.join(folder.name, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        return self.report("--system", "--sysroot", folder.name)

    def test_nothing_is_known(self):
        report = self.machine({})
        for section, key in (("cpu", "model"), ("cpu", "cpus"), ("cpu", "numa_nodes"), ("memory", "total"),
                             ("memory", "cgroup_limit"), ("memory", "huge_pages_shared"),
                             ("limits", "max_map_count"), ("cpu", "cache_l3")):
            self.assertIsNone(report[section][key], key)
            self.assertTrue(report[section][key + "_note"])

    def test_large_machine(self):
        files = {"proc/cpuinfo": "processor\t: 0\nmodel name\t: A \"fast\" CPU\n",
                 "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-2,5\n",
                 "proc/meminfo": "MemTotal:       1000 kB\nMemAvailable:    400 kB\nSwapTotal: 0 kB\n",
                 "proc/sys/vm/max_map_count": "1048576\n",
                 "sys/devices/system/cpu/online": "0-7\n",
                 "sys/devices/system/node/online": "0-1\n",
                 "sys/devices/system/node/node0/cpulist": "0-3\n",
                 "sys/devices/system/node/node1/cpulist": "4-7\n",
                 "sys/kernel/mm/transparent_hugepage/shmem_enabled": "always within_size [advise] never\n",
                 "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
                 "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "12\n",
                 "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "7\n"}
        for cpu in range(8): # two threads a core, four cores, two sockets
            topology = f"sys/devices/system/cpu/cpu{cpu}/topology/"
            files[topology + "thread_siblings_list"] = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}\n"
            files[topology + "core_siblings_list"] = f"{cpu // 4 * 4}-{cpu // 4 * 4 + 3}\n"
        for index, (level, kind, size) in enumerate(((1, "Instruction", "64K"), (1, "Data", "32K"),
                                                     (2, "Unified", "1024K"), (3, "Unified", "96M"))):
            cache = f"sys/devices/system/cpu/cpu0/cache/index{index}/"
            files.update({cache + "level": f"{level}\n", cache + "type": kind + "\n",
                          cache + "size": size + "\n", cache + "shared_cpu_list": "0-3\n"})
        report = self.machine(files)
        cpu, memory = report["cpu"], report["memory"]
        self.assertEqual(cpu["model"], 'A "fast" CPU')
        self.assertEqual([cpu[key] for key in ("cpus", "cores", "sockets", "cpus_allowed", "numa_nodes")],
                         [8, 4, 2, 4, 2])
        self.assertEqual(cpu["numa_nodes_note"], "node 0: 0-3; node 1: 4-7")
        self.assertEqual([cpu[f"cache_{key}"] for key in ("l1d", "l2", "l3")], [32 << 10, 1 << 20, 96 << 20])
        self.assertEqual([memory["total"], memory["available"]], [1000 << 10, 400 << 10])
        self.assertEqual(memory["huge_pages_shared"], "advise")
        self.assertIn("get huge pages", memory["huge_pages_shared_note"])
        self.assertEqual((memory["huge_pages_private"], memory["hugetlb_2m"]), ("always", 12))
        self.assertIn("7 of them free", memory["hugetlb_2m_note"])
        self.assertEqual(report["limits"]["max_map_count"], 1048576)

    def test_arm(self):
        report = self.machine({"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"})
        self.assertEqual(report["cpu"]["model"], "implementer 0x41, part 0xd40")

    def test_groups_version_2(self):
        """The least limit counts, wherever it is set; its group's use goes with it."""
        top = "sys/fs/cgroup/"
        report = self.machine({
            "proc/self/cgroup": "0::/user/job\n", top + "cgroup.controllers": "cpu memory pids\n",
            top + "user/memory.max": "1073741824\n", top + "user/memory.current": "1000\n",
            top + "user/cpu.max": "400000 100000\n", top + "user/pids.max": "max\n",
            top + "user/job/memory.max": "max\n", top + "user/job/memory.current": "500\n",
            top + "user/job/cpu.max": "150000 100000\n", top + "user/job/pids.max": "99\n"})
        memory = report["memory"]
        self.assertEqual([memory["cgroup_version"], memory["cgroup_limit"], memory["cgroup_used"]],
                         [2, 1 << 30, 1000])
        self.assertEqual((report["cpu"]["quota_percent"], report["limits"]["cgroup_pids"]), (150, 99))

    def test_inner_group_has_less(self):
        top = "sys/fs/cgroup/"
        memory = self.machine({
            "proc/self/cgroup": "0::/user/job\n", top + "cgroup.controllers": "memory\n",
            top + "user/memory.max": "1073741824\n", top + "user/memory.current": "1000\n",
            top + "user/job/memory.max": "1048576\n", top + "user/job/memory.current": "500\n"})["memory"]
        self.assertEqual([memory["cgroup_limit"], memory["cgroup_used"]], [1 << 20, 500])

    def test_groups_without_limits(self):
        top = "sys/fs/cgroup/"
        report = self.machine({
            "proc/self/cgroup": "0::/\n", top + "cgroup.controllers": "cpu memory\n",
            top + "memory.max": "max\n", top + "cpu.max": "max 100000\n"})
        self.assertEqual(report["memory"]["cgroup_version"], 2)
        self.assertIsNone(report["memory"]["cgroup_limit"])
        self.assertIsNone(report["cpu"]["quota_percent"])

    def test_groups_version_1_in_a_container(self):
        """The path is the host's: the container sees its own group as the root."""
        top = "sys/fs/cgroup/"
        report = self.machine({
            "proc/self/cgroup": "5:pids:/docker/1\n4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/\n",
            top + "memory/memory.limit_in_bytes": "2147483648\n",
            top + "memory/memory.usage_in_bytes": "77\n",
            top + "cpu/cpu.cfs_quota_us": "50000\n", top + "cpu/cpu.cfs_period_us": "100000\n",
            top + "pids/pids.max": "10\n"})
        memory = report["memory"]
        self.assertEqual([memory["cgroup_version"], memory["cgroup_limit"], memory["cgroup_used"]],
                         [1, 2 << 30, 77])
        self.assertEqual((report["cpu"]["quota_percent"], report["limits"]["cgroup_pids"]), (50, 10))

    def test_groups_version_1_without_limits(self):
        top = "sys/fs/cgroup/"
        report = self.machine({
            "proc/self/cgroup": "4:memory:/\n3:cpu,cpuacct:/\n",
            top + "memory/memory.limit_in_bytes": "9223372036854771712\n",
            top + "cpu/cpu.cfs_quota_us": "-1\n", top + "cpu/cpu.cfs_period_us": "100000\n"})
        self.assertEqual(report["memory"]["cgroup_version"], 1)
        self.assertIsNone(report["memory"]["cgroup_limit"])
        self.assertIsNone(report["cpu"]["quota_percent"])


class Job(Case):
    def test_alone(self):
        report = self.report("--start")
        self.assertEqual((report["job"]["started_by"], report["job"]["pes"]), ("itself", 1))
        self.assertEqual(len(report["places"]), 1)

    def test_printed_once(self):
        for npes in (1, 3):
            launch = (NVSRUN, "--bind", "none", "-n", str(npes))
            report = self.report(launch=launch)
            self.assertEqual((report["job"]["started_by"], report["job"]["pes"]), ("nvsrun", npes))
            places = report["places"]
            self.assertEqual([place["pe"] for place in places], list(range(npes)))
            self.assertEqual(len({place["pid"] for place in places}), npes)
            for place in places:
                self.assertIn(place["cpu"], os.sched_getaffinity(0))
            text = run(*launch, INFO).stdout.decode()
            self.assertEqual(text.count("\nplaces\n"), 1)
            self.assertEqual(len(re.findall(r"(?m)^  PE \d", text)), npes)

    def test_bound(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("one CPU only")
        places = self.report(launch=(NVSRUN, "--bind", "core", "-n", str(len(cpus))))["places"]
        self.assertEqual([place["cpus"] for place in places], [str(cpu) for cpu in cpus])

    def test_without_start(self):
        """No PE waits for another one."""
        self.assertEqual(set(self.report("--library", launch=(NVSRUN, "-n", "2"))),
                         GROUPS["--library"] | {"problems"})

    def test_refused_in_a_job(self):
        for npes in ("1", "3"):
            report = self.report(launch=(NVSRUN, "--bind", "none", "-n", npes), env={"NVS_SPIN": "fast"},
                                 status=1)
            self.assertIn("NVS_SPIN", report["problems"][0])


def main():
    global SOURCE, NVSRUN, INFO
    SOURCE, NVSRUN, INFO = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)


if __name__ == "__main__":
    main()
