"""Tests of nvs-perf as people use it.

Usage: perf_test.py NVSRUN NVS_PERF CORRUPT.SO [unittest arguments]

CORRUPT.SO is made from corrupt.c; an empty string leaves out the tests that need it (it cannot be
loaded before a sanitizer). No test looks at how long something took. PERF_FAKECUDA names the stand-in
for libcuda (tests/fakecuda), PERF_KERNELS the kernels of nvs-perf that are compiled for it.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

NVSRUN = PERF = CORRUPT = None
OPS = {
    "p2p": ["put", "put_nbi", "get", "get_nbi", "put_signal", "signal", "ping_pong", "p", "g"],
    "atomics": ["fetch_add", "add", "fetch_inc", "inc", "swap", "cswap", "fetch", "set", "fetch_and",
                "and", "fetch_or", "or", "fetch_xor", "xor"],
    "sync": ["barrier", "sync"],
    "collectives": ["broadcast", "all_reduce", "reduce_scatter", "all_gather", "all_to_all"],
    "rate": ["rate"],
}
ALL = [op for ops in OPS.values() for op in ops]
SIZES = {"int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "half": 2,
         "float": 4, "double": 8, "bfloat16": 2}


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err
        self.rows = [line.split() for line in out.splitlines() if line and line[0] != "#"]

    def wrong(self):
        """#wrong of all rows, out of place and in place."""
        second = 17 if " p99.9 " in self.out else 12
        return [row[i] for row in self.rows for i in (8, second)]


def run(npes, *words, env=None, preload=None):
    """nvs-perf on npes PEs; 0: without nvsrun."""
    command = [PERF, *map(str, words)]
    if preload:
        command = ["env", f"LD_PRELOAD={preload}"] + command
    if npes:
        command = [NVSRUN, "-n", str(npes), "--timeout", "200"] + command
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})})
    return Result(done.returncode, done.stdout, done.stderr)


class Case(unittest.TestCase):
    def fine(self, *args, **kwargs):
        result = run(*args, **kwargs)
        self.assertEqual((result.status, result.err), (0, ""), result.out)
        self.assertIn("# Out of bounds values : 0 OK", result.out)
        self.assertEqual(set(result.wrong()) - {"0", "N/A"}, set())
        return result

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name


class Operations(Case):
    """Each operation, with each type, operator and root, at sizes that fit nothing."""

    def everything(self, npes, **kwargs):
        words = ["all", "-b", 0, "-e", 3000, "-f", 9, "-d", "all", "-o", "all", "-r", "all"]
        result = self.fine(npes, *words, "-n", 3, "-w", 1, **kwargs)
        self.assertEqual(re.findall(r"^# (\w+): ", result.out, re.M)[2:], ALL)
        for kind in SIZES:
            rows = [row for row in result.rows if row[2] == kind]
            for redop in ("sum", "prod", "min", "max", "avg"):
                self.assertGreaterEqual(sum(row[3] == redop for row in rows), 2 * 4, (kind, redop))
            self.assertGreater(sum(row[3] == "none" for row in rows), 9 * 4, kind)
        roots = {int(row[4]) for row in result.rows if row[3] == "none"}
        self.assertEqual(roots, set(range(-1, max(npes, 1))))

    def test_alone(self):
        self.everything(0)

    def test_1(self):
        self.everything(1)

    def test_2(self):
        self.everything(2)

    def test_3(self):
        self.everything(3)

    def test_4(self):
        self.everything(4)

    def test_chaos(self):
        self.fine(3, "all", "-b", 0, "-e", 3000, "-f", 9, "-n", 3, "-w", 1, "--pattern", "ring",
                  env={"NVS_TRANSPORT": "chaos", "NVS_CHAOS_SEED": "7", "NVS_LOG": "error"})

    def test_patterns(self):
        for npes in (1, 3, 4):
            for pattern in ("one", "pairs", "ring"):
                self.fine(npes, *OPS["p2p"], "atomics", "rate", "-b", 8, "-e", 1001, "-i", 331, "-n",
                          5, "-c", 3, "--pattern", pattern)

    def test_large(self):
        """Through all the ways that the library has for data of different sizes."""
        self.fine(2, "all", "-b", "100001", "-e", "17M", "-f", 13, "-n", 2, "-w", 1)

    def test_threads(self):
        for threads, contexts in ((1, 0), (3, 0), (3, 1), (3, 3), (2, 5)):
            result = self.fine(2, "rate", "-b", 1, "-e", 64, "-f", 8, "-n", 100, "--threads", threads,
                               "--contexts", contexts)
            self.assertEqual(len(result.rows[0]), 14)
            self.assertGreater(float(result.rows[0][13]), 0)

    def test_more_pes_than_cores(self):
        self.fine(8, "all", "-b", 64, "-e", 4096, "-f", 8, "-n", 2, "-w", 1)

    def test_same_buffer(self):
        result = self.fine(2, "put", "all_reduce", "-b", 8, "-e", 8, "-n", 100, "--rotate", 0)
        self.assertIn("buffers: always the same", result.out)


class Device(Case):
    """Device memory, on a stand-in for a GPU, and streams of host memory."""

    def device(self, npes, mode, *words, preload=None):
        if mode in ("thread", "warp", "block"):
            if not CORRUPT:
                self.skipTest("nothing can be loaded before a sanitizer")
            preload = os.environ["PERF_KERNELS"]
        return self.fine(npes, *words, "--memory", "device", "--mode", mode, preload=preload,
                         env={"NVS_CUDA_LIBRARY": os.environ["PERF_FAKECUDA"]})

    def everything(self, mode, without):
        for npes in (1, 2, 3):
            result = self.device(npes, mode, "all", "-b", 0, "-e", 3000, "-f", 27, "-n", 3, "-w", 1)
            self.assertEqual(re.findall(r"^# (\w+): ", result.out, re.M)[4:],
                             [op for op in ALL if op not in without])

    def test_host(self):
        self.everything("host", OPS["rate"])

    def test_stream(self):
        self.everything("stream", OPS["rate"] + OPS["atomics"])

    def test_graph(self):
        self.everything("graph", OPS["rate"] + OPS["atomics"] + ["g"])

    def test_thread(self):
        self.everything("thread", OPS["rate"])

    def test_warp(self):
        self.everything("warp", OPS["rate"] + OPS["atomics"] + ["signal", "ping_pong", "p", "g"])

    def test_block(self):
        self.everything("block", OPS["rate"] + OPS["atomics"] + ["signal", "ping_pong", "p", "g"])

    def test_grid(self):
        self.device(2, "block", "put", "put_nbi", "get", "get_nbi", "-b", "1000", "-e", "60001", "-f", 7, "-n",
                    2, "--blocks", 3)
        self.device(2, "block", "put", "-b", "64K", "-e", "64K", "-n", 2, "--blocks", "auto")

    def test_types(self):
        for redop in ("sum", "prod", "min", "max"):
            self.device(2, "graph", "all_reduce", "reduce_scatter", "-b", 40, "-e", 40, "-n", 2, "-d", "all",
                        "-o", redop)

    def test_rings(self):
        for mode in ("host", "stream", "thread", "block"):
            self.device(3, mode, "put_signal", "put", "-b", 24, "-e", 24, "-n", 5, "-c", 3, "--pattern", "ring")
        self.device(3, "thread", "signal", "ping_pong", "p", "g", "atomics", "-n", 5, "--pattern", "ring")

    def test_blocking(self):
        for mode in ("host", "stream", "graph", "block"):
            result = self.device(2, mode, "put_signal", "barrier", "all_reduce", "-b", 8, "-e", 8, "-n", 5,
                                 "--blocking")
            self.assertIn("each iteration is waited for", result.out)

    def test_many_replays(self):
        """More iterations than a graph has, and a rest."""
        self.device(2, "graph", "put_signal", "ping_pong", "all_reduce", "-b", 8, "-e", 8, "-n", 253, "-w", 101)

    def test_percentiles(self):
        self.device(2, "graph", "put_signal", "-b", 8, "-e", 8, "-n", 20, "--percentiles")

    def test_streams_of_host_memory(self):
        for npes in (0, 2):
            self.fine(npes, "all", "-b", 0, "-e", 3000, "-f", 27, "-n", 3, "-w", 1, "--mode", "stream")

    def test_json(self):
        path = os.path.join(self.folder(), "r.json")
        self.device(2, "graph", "put", "-b", 8, "-e", 8, "-n", 2, "--json", path)
        with open(path) as file:
            config = json.load(file)["config"]
        self.assertEqual((config["memory"], config["mode"], config["blocking"]), ("device", "graph", False))

    def test_lies_are_caught(self):
        if not CORRUPT:
            self.skipTest("nothing can be loaded before a sanitizer")
        for memory in ("host", "device"):
            words = ["put", "all_reduce", "-b", 40, "-e", 40, "-n", 2, "--mode", "stream", "--memory", memory]
            for fault, wrong in (("nvshmemx_putmem_on_stream", ["1", "N/A", "0", "0"]),
                                 ("nvshmemx_float_sum_reduce_on_stream", ["0", "N/A", "36", "0"])):
                result = run(2, *words, preload=CORRUPT,
                             env={"PERF_FAULT": fault, "NVS_CUDA_LIBRARY": os.environ["PERF_FAKECUDA"]})
                self.assertEqual((result.status, result.err), (1, ""), result.out)
                self.assertEqual(result.wrong(), wrong, (memory, fault))


class Table(Case):
    def test_columns(self):
        """What scripts that read nccl-tests look for."""
        result = self.fine(2, "all_reduce", "-b", 8, "-e", 1024, "-f", 2, "-n", 2)
        names = ["#", "size", "count", "type", "redop", "root"] + ["time", "algbw", "busbw", "#wrong"] * 2
        self.assertIn(names, [line.split() for line in result.out.splitlines()])
        self.assertEqual([int(row[0]) for row in result.rows], [8 << i for i in range(8)])
        self.assertEqual({len(row) for row in result.rows}, {13})
        self.assertEqual(result.rows[0][:5], ["8", "2", "float", "sum", "-1"])
        for pe in range(2):
            self.assertRegex(result.out, rf"(?m)^#  PE +{pe} Pid +\d+ on +\S+ cpu +\d+")
        buses = [float(row[i]) for row in result.rows for i in (7, 11)]
        average = float(re.search(r"# Avg bus bandwidth    : (\S+)", result.out).group(1))
        self.assertAlmostEqual(average, sum(buses) / len(buses), delta=0.01 + average / 50)

    def test_steps(self):
        """nccl-tests' own default step is 1M."""
        sizes = lambda *words: [row[0] for row in self.fine(1, "put", "-n", 1, "-d", "int8", *words).rows]
        self.assertEqual(sizes("-b", "1M", "-e", "3M"), ["1048576", "2097152", "3145728"])
        self.assertEqual(sizes("-b", 5, "-e", 20, "-i", 7), ["5", "12", "19"])
        self.assertEqual(sizes("-b", 5, "-e", 20, "-f", 3), ["5", "15"])
        self.assertEqual(sizes("-b", 0, "-e", 4, "-f", 2), ["0", "1", "2", "4"])
        self.assertEqual(sizes("-e", 20), ["8", "16"])
        self.assertEqual(sizes("-e", 3), ["3"])
        self.assertEqual(sizes("-b", "33M"), ["34603008"])

    def test_sizes_of_blocks(self):
        """The size is that of all blocks together, the count that of one."""
        for op in ("all_gather", "reduce_scatter", "all_to_all"):
            result = self.fine(3, op, "-b", 100, "-e", 100, "-n", 1)
            self.assertEqual(result.rows[0][:2], ["96", "8"], op)

    def test_not_checked(self):
        result = run(2, "all_reduce", "-e", 8, "-c", 0, "-n", 1)
        self.assertEqual(result.status, 0)
        self.assertEqual(result.wrong(), ["N/A", "N/A"])
        self.assertIn("not checked", result.out)

    def test_help(self):
        result = run(3, "--help")
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertEqual(result.out.count("Usage:"), 1)
        for op in ALL:
            self.assertRegex(result.out, rf"(?m)^  {op} +\S")
        self.assertRegex(run(2, "--version").out, r"\Anvs-perf \d+\.\d+\.\d+\n\Z")

    def test_no_bar_in_a_pipe(self):
        self.assertEqual(self.fine(1, "put", "-e", 8, "-n", 1).err, "")


class Files(Case):
    def measured(self, npes, *words):
        path = os.path.join(self.folder(), "r.json")
        result = self.fine(npes, *words, "--json", path)
        with open(path) as file:
            return result, json.load(file)

    def test_json(self):
        result, read = self.measured(3, "all", "-b", 12, "-e", 1200, "-f", 10, "-n", 4)
        self.assertEqual(len(read["results"]), len(result.rows))
        self.assertEqual([pe["pe"] for pe in read["pes"]], [0, 1, 2])
        self.assertEqual(read["out_of_bounds"], 0)
        self.assertIn("1200", read["args"])
        for line, row in zip(read["results"], result.rows):
            self.assertEqual([str(line[key]) for key in ("size", "count", "type", "redop", "root")], row[:5])
            self.assertEqual(line["iters"], 4)
            self.assertEqual(line["in_place"] is None, row[9] == "N/A")

    def test_bandwidths(self):
        """nccl-tests' definitions."""
        npes = 3
        factors = {"all_reduce": 2 * (npes - 1) / npes, "broadcast": 1, "put": 1}
        for op in ("all_gather", "reduce_scatter", "all_to_all"):
            factors[op] = (npes - 1) / npes
        _, read = self.measured(npes, *factors, "-b", 3000, "-e", 3000, "-n", 4)
        self.assertEqual(len(read["results"]), len(factors))
        for line in read["results"]:
            for half in filter(None, (line["out_of_place"], line["in_place"])):
                self.assertAlmostEqual(half["alg_bw"], line["size"] / half["time"] / 1e3, delta=half["alg_bw"] * 1e-6)
                self.assertAlmostEqual(half["bus_bw"], half["alg_bw"] * factors[line["operation"]],
                                       delta=half["bus_bw"] * 1e-6)
                self.assertEqual(half["nwrong"], 0)

    def test_percentiles(self):
        result, read = self.measured(2, "all_reduce", "put_signal", "rate", "-b", 8, "-e", 8, "-n", 150, "--percentiles")
        self.assertIn("p99.9", result.out)
        for line in read["results"]:
            figures = [line["out_of_place"][key] for key in ("p50", "p90", "p99", "p99.9", "max")]
            self.assertEqual(figures, sorted(figures))
            self.assertGreater(figures[0], 0)

    def test_plot(self):
        path = os.path.join(self.folder(), "r.svg")
        self.fine(2, "all_reduce", "all_gather", "barrier", "put", "-b", 8, "-e", "64K", "-f", 8, "-n", 2, "--plot", path)
        root = xml.etree.ElementTree.parse(path).getroot()
        tag = lambda name: root.iter("{http://www.w3.org/2000/svg}" + name)
        lines = [line.get("points").split() for line in tag("polyline")]
        drawn = [points for points in lines if points]
        self.assertEqual(len(drawn), 10)  # two plots; two in both halves, put in one
        width, height = float(root.get("width")), float(root.get("height"))
        for points in drawn:
            self.assertEqual(len(points), 5)
            xs, ys = zip(*(map(float, point.split(",")) for point in points))
            self.assertEqual(list(xs), sorted(xs))
            self.assertTrue(0 < xs[0] and xs[-1] < width and 0 < min(ys) and max(ys) < height)
        texts = " ".join(text.text for text in tag("text"))
        for word in ("size", "microseconds", "GB/s", "32 KiB", "all_reduce float sum", "put float"):
            self.assertIn(word, texts)

    def test_cannot_be_written(self):
        for option in ("--json", "--plot"):
            for path in ("/nonexistent/r", "/"):
                result = run(2, "put", "-n", 1, option, path)
                self.assertEqual((result.status, result.out), (2, ""))
                self.assertRegex(result.err, rf"\Anvs-perf: {option} {path}: cannot be written: .+\n\Z")


class Mistakes(Case):
    """Each is told once, by one PE, and says what was wrong and what is allowed."""

    def mistake(self, words, *told, npes=2, env=None):
        result = run(npes, *words.split(), env=env)
        self.assertEqual((result.status, result.out), (2, ""), result.err)
        self.assertEqual(result.err.count("\n"), 1, result.err)
        self.assertTrue(result.err.startswith("nvs-perf: "), result.err)
        for part in told:
            self.assertIn(part, result.err)

    def test_operation(self):
        self.mistake("", "which operation?", "--help")
        self.mistake("alreduce", "alreduce", "did you mean all_reduce?")
        self.mistake("put atomic", "atomic: no operation", "did you mean atomics?")
        self.mistake("put xylophone", "xylophone", "--help")

    def test_sizes(self):
        for value in ("x", "-8", "1X", "", "1e30"):
            self.mistake(f"put -b={value}" if not value else f"put -b {value}", "-b", "no size", "64K")
        self.mistake("put -e 8Q", "-e 8Q", "no size")
        self.mistake("put -b 2G -e 1G", "-b 2G", "more than -e 1G")
        self.mistake("put -f 1", "-f 1", "2 to")
        self.mistake("put -f 1.5", "-f 1.5", "whole numbers")
        self.mistake("put -i 0", "-i 0", "at least one byte")
        self.mistake("put -f 2 -i 1M", "-f 2 and -i 1M", "one of them")

    def test_numbers(self):
        self.mistake("put -n 0", "-n 0", "1 to 1000000000")
        self.mistake("put -n ten", "-n ten", "1 to 1000000000")
        self.mistake("put -w -1", "-w -1", "0 to")
        self.mistake("put -c 9999999", "-c 9999999", "0 to 1000000")
        self.mistake("put --rotate yes", "--rotate yes", "0 and 1")
        self.mistake("rate --threads 0", "--threads 0", "1 to 256")
        self.mistake("rate --contexts 257", "--contexts 257", "0 to 256")
        self.mistake("put --threads 2", "--threads 2", "only the operation rate")

    def test_words(self):
        self.mistake("put -d flaot", "-d flaot", "did you mean float?", "bfloat16")
        self.mistake("all_reduce -o som", "-o som", "did you mean sum?", "avg")
        self.mistake("add -d float", "-d float", "add takes int32, uint32, int64 and uint64")
        self.mistake("swap -d half", "-d half", "swap takes", "double")
        self.mistake("put --pattern star", "--pattern star", "one, pairs and ring")
        self.mistake("barrier --plot x.svg", "--plot x.svg", "barrier has no sizes")

    def test_modes(self):
        fake = {"NVS_CUDA_LIBRARY": os.environ["PERF_FAKECUDA"]}
        self.mistake("put --memory gpu", "--memory gpu", "host and device")
        self.mistake("put --mode kernel", "--mode kernel", "thread, warp and block")
        self.mistake("put --mode graph", "--mode graph", "--memory device")
        self.mistake("put --blocks 2", "--blocks 2", "--mode block")
        self.mistake("put --blocks many", "--blocks many", "auto")
        self.mistake("fetch_add --mode stream", "fetch_add is not for streams")
        self.mistake("rate --memory device", "rate is for host memory")
        self.mistake("p --memory device --mode warp", "p is done by one thread")
        self.mistake("g --memory device --mode graph", "g returns a value")
        self.mistake("signal --memory device --mode graph --pattern ring", "--mode stream")
        self.mistake("atomics --mode stream", "none of these operations")
        self.mistake("all_reduce --mode stream -o avg", "-o avg", "sum, prod, max and min")
        self.mistake("all_reduce --memory device --mode block -d int32", "-d int32", "float with sum")
        self.mistake("signal -d float", "-d float", "signal takes uint64")
        self.mistake("put --memory device", "--memory device", "no GPU driver", "nowhere",
                     env={"NVS_CUDA_LIBRARY": "/nowhere/libcuda.so.1"})
        self.mistake("put --memory device", "shows no GPU", env={**fake, "FAKECUDA_DEVICES": "0"})

    def test_roots(self):
        self.mistake("broadcast -r 2", "-r 2", "0 to 1")
        self.mistake("broadcast -r -1", "-r -1", "number of a PE and all")
        self.mistake("broadcast -r 1", "-r 1", "0 to 0", npes=0)

    def test_options(self):
        self.mistake("put --frobnicate", "--frobnicate: no option")
        self.mistake("put -b", "-b", "value is missing")
        self.mistake("put -g 1", "-g: no option")

    def test_memory(self):
        self.mistake("all_reduce -b 1G -e 4G -w 5 -n 1000", "all_reduce of 4 GiB needs 8 GiB", "each of 2 PEs",
                     "16 GiB in all", "NVS_HEAP_SIZE", env={"NVS_HEAP_SIZE": "256M"})
        self.mistake("all_reduce -b 8T -e 8T", "16 TiB", "32 TiB in all", "nvs_malloc: ")

    def test_no_room_to_rotate(self):
        result = self.fine(2, "put", "-e", 64, "-n", 3, env={"NVS_HEAP_SIZE": "1M"})
        self.assertIn("no memory for more", result.out)


class Wrong(Case):
    """A library that lies: corrupt.c."""

    def caught(self, fault, *words, npes=3):
        if not CORRUPT:
            self.skipTest("nothing can be loaded before a sanitizer")
        words = [*words, "-n", 2, "-w", 1, "--pattern", "ring"]
        self.fine(npes, *words, preload=CORRUPT)
        result = run(npes, *words, preload=CORRUPT, env={"PERF_FAULT": fault})
        self.assertEqual((result.status, result.err), (1, ""), result.out)
        self.assertRegex(result.out, r"(?m)^# Out of bounds values : [1-9]\d* FAILED$")
        return [int(number) for number in result.wrong() if number != "N/A"]

    def test_collectives(self):
        small = ("-b", 96, "-e", 96)
        # One bit on one PE, in the exact and in the rounding round, out of place and in place.
        self.assertEqual(self.caught("nvs_all_reduce", "all_reduce", *small), [2, 2])
        self.assertEqual(self.caught("nvs_all_reduce", "all_reduce", "-d", "int32", *small), [1, 1])
        self.assertEqual(self.caught("nvs_all_gather", "all_gather", *small), [1, 1])
        self.assertEqual(self.caught("nvs_broadcast", "broadcast", *small), [1, 0])
        self.assertEqual(self.caught("nvs_all_to_all", "all_to_all", *small), [3 * 16, 3 * 16])
        self.assertGreater(self.caught("nvs_reduce_scatter", "reduce_scatter", *small)[0], 0)

    def test_between_two(self):
        sizes = ("-b", 40, "-e", 40)
        self.assertEqual(self.caught("shmem_putmem", "put", *sizes), [3])
        self.assertEqual(self.caught("shmem_putmem_nbi", "put_nbi", *sizes), [3])
        self.assertEqual(self.caught("shmem_getmem", "get", *sizes), [3 * 10])
        self.assertEqual(self.caught("shmem_getmem_nbi", "get_nbi", *sizes), [3 * 10])
        self.assertEqual(self.caught("shmem_putmem_signal", "put_signal", *sizes), [3 * 10])
        self.assertEqual(self.caught("shmem_uint32_p", "p"), [3])
        self.assertEqual(self.caught("shmem_uint32_g", "g"), [3])
        self.assertGreater(self.caught("shmem_ctx_putmem_nbi", "rate", "--threads", 2, "-n", 20)[0], 0)

    def test_atomics(self):
        self.assertEqual(self.caught("shmem_uint64_atomic_fetch_add", "fetch_add"), [300])
        self.assertGreater(self.caught("shmem_uint64_atomic_compare_swap", "cswap")[0], 3)
        self.assertEqual(self.caught("shmem_uint32_atomic_set", "set", "-d", "uint32"), [3])

    def test_sync(self):
        self.assertGreater(self.caught("shmem_sync_all", "sync", "-c", 5)[0], 0)


class Ends(Case):
    def test_killed_in_the_middle(self):
        """A PE that dies ends the job with its name; no result is left that looks like one."""
        path = os.path.join(self.folder(), "r.json")
        process = subprocess.Popen([NVSRUN, "-n", "3", "--timeout", "100", PERF, "all_reduce", "-b", "64K", "-e", "64K",
                                    "-n", "1000000000", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        for line in process.stdout:
            found = re.match(r"#  PE +1 Pid +(\d+) ", line)
            if found:
                os.kill(int(found.group(1)), signal.SIGKILL)
                break
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGKILL)
        self.assertIn("PE 1", errors)
        self.assertNotIn("nvs-perf:", errors)
        self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    NVSRUN, PERF, CORRUPT = (path and os.path.abspath(path) for path in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
