#!/usr/bin/env python3
"""Tests of what is between the programs on GPUs and the documents, with made-up figures: nothing is
measured and no GPU is needed."""
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

# pylint: disable=C0413
import gpu_plan
import gpu_report
import gpu_rows
import gpu_systems
import measure
import report
import run
import verdict
from plan import Samples
from rows import MIB

TWO = gpu_systems.Machine(2, "a GPU", "1.0", "sm_90")
ONE = gpu_systems.Machine(1, "a GPU", "1.0", "sm_90")
BUILD = pathlib.Path("build")
ABOUT = {"gpus": 2, "gpu": "a GPU", "driver": "1.0", "cuda": "13.0", "cpu": "a CPU", "cpus": 2,
         "kernel": "6", "date": "today", "rounds": 3, "seconds": 1.0, "versions": {"NCCL": "2"},
         "missing": {"NVSHMEM": "not installed"}, "problems": ["nvs, sync: it broke"]}


def samples_of(figures):
    """figures: {system: {(metric, bytes): [a figure for each round]}}."""
    samples = Samples()
    for number in range(max(len(v) for keys in figures.values() for v in keys.values())):
        samples.begin_round()
        for system, keys in figures.items():
            for key, values in keys.items():
                if number < len(values) and values[number] is not None:
                    samples.add(system, key, values[number])
    return samples


def judged_of(metric, nbytes, figures):
    row = next(r for r in gpu_rows.ROWS if (r.metric, r.nbytes) == (metric, nbytes))
    return verdict.judge(row, samples_of(figures), gpu_systems.PEERS)


LARGE = ("all_reduce", 256 * MIB)
FULL = samples_of({
    "floor": {("all_reduce", 8): [2.6, 2.5, 2.6], LARGE: [780, 781, 779], ("barrier_block", 0): [1.4] * 3,
              ("put_thread_self", 8): [0.5] * 3, ("put_stream", 256 * MIB): [678] * 3},
    "nvs": {("all_reduce", 8): [2.65, 2.66, 2.64], LARGE: [783, 784, 782],
            ("barrier_block", 0): [1.8, 1.8, 1.7], ("put_thread_self", 8): [0.6] * 3,
            ("put_stream", 256 * MIB): [700, 701, 699], ("barrier_host_self", 0): [2.0] * 3},
    "nccl": {("all_reduce", 8): [10.5] * 3, LARGE: [904] * 3},
    "torch": {("all_reduce", 8): [6.4] * 3}})

PERF = """{"results": [
 {"operation": "all_reduce", "size": 8, "type": "float", "out_of_place": {"time": 2.5, "nwrong": 0}},
 {"operation": "all_reduce", "size": 16, "type": "float", "out_of_place": {"time": 2.6, "nwrong": 3}},
 {"operation": "barrier", "size": 0, "type": "none", "out_of_place": {"time": 1.5, "nwrong": null}},
 {"operation": "put", "size": 8, "type": "float", "out_of_place": {"time": 1, "nwrong": 0}}]}"""


class Reading(unittest.TestCase):
    def test_json_of_nvs_perf(self):
        outcome = measure.Outcome()
        gpu_systems.take_json(outcome, PERF, {"all_reduce": "all_reduce", "barrier": "barrier_block"})
        self.assertEqual(outcome.us, {("all_reduce", 8): 2.5, ("barrier_block", 0): 1.5})
        self.assertIn("3 wrong values", outcome.problem)

    def test_the_floor_is_the_fastest_prototype(self):
        us = {("all_reduce_kernel", 8): 3.0, ("all_reduce_kernel", MIB): 6.0,
              ("all_reduce_pipeline", MIB): 5.0, ("copy", 8): 9.0, ("launch_graph", 0): 1.5}
        found = gpu_systems.rows_of_floor(us, 2)
        self.assertEqual((found["all_reduce", 8], found["all_reduce", MIB]), (3.0, 5.0))
        self.assertEqual((found["put_host_self", 8], found["barrier_graph_self", 0]), (9.0, 1.5))

    def test_one_gpu_says_nothing_about_links(self):
        us = {("all_reduce_kernel", 8): 3.0, ("copy", 8): 9.0, ("p_thread_self", 8): 0.1}
        found = gpu_systems.rows_of_floor(us, 1)
        self.assertNotIn(("all_reduce", 8), found)
        self.assertEqual((found["get_host_self", 8], found["p_thread_self", 8]), (9.0, 0.1))


class Commands(unittest.TestCase):
    def metrics_of(self, machine):
        found = set()
        nvs = gpu_systems.Nvs(BUILD, machine)
        for group in gpu_systems.GROUPS:
            for command in nvs.commands(group, True):
                found |= set((command.metrics or {}).values())
        return found - {""}

    def test_every_row_is_measured_on_nvs(self):
        self.assertEqual(self.metrics_of(TWO), {row.metric for row in gpu_rows.ROWS
                                                if row.section != gpu_rows.SELF})

    def test_one_gpu_measures_what_it_can(self):
        self.assertEqual(self.metrics_of(ONE), {row.metric for row in gpu_rows.ROWS
                                                if row.metric.endswith(("_self", "_shared"))
                                                and row.section != gpu_rows.SELF})

    def test_loops_in_kernels_are_those_of_the_peer(self):
        """One source for both, and every row of the table is in it and in the floor's."""
        nvs, peer = gpu_systems.Nvs(BUILD, ONE), gpu_systems.Nvshmem(BUILD, ONE)
        self.assertEqual(nvs.sources, peer.sources)
        first = nvs.commands("self", False)
        self.assertEqual([command.words[1:] for command in first], [["1", "self"]])
        for source in (*nvs.sources, "floor_local.cu"):
            text = (gpu_systems.HERE / source).read_text(encoding="utf-8")
            for row in gpu_rows.ROWS:
                if row.section == gpu_rows.SELF:
                    self.assertIn(f'"{row.metric}"', text, source)

    def test_multicast_is_off_for_all(self):
        with unittest.mock.patch.object(measure, "run", return_value=measure.Outcome()) as ran:
            for system in gpu_systems.all_systems(BUILD, TWO):
                for group in gpu_systems.GROUPS:
                    gpu_systems.figures_of(system, system.commands(group, True))
        self.assertGreater(ran.call_count, 20)
        for call in ran.call_args_list:
            self.assertLessEqual(gpu_systems.NO_MULTICAST.items(), call.args[2].items())

    def test_what_fails_is_not_tried_again(self):
        broken = measure.Outcome(problem="exit status 1")
        plan = gpu_plan.Plan([gpu_systems.Floor(BUILD, TWO)], 2, ["sync"])
        with unittest.mock.patch.object(measure, "run", return_value=broken) as ran, \
                unittest.mock.patch.object(sys, "stderr"):
            plan.measure_round()
            plan.measure_round()
        self.assertEqual(ran.call_count, 1)
        self.assertIn("exit status 1", plan.samples.problems["floor", "sync"])


class Verdicts(unittest.TestCase):
    def test_bandwidth(self):
        for us, expected in ((780, "met"), (800, "missed")):
            found = judged_of(*LARGE, {"nvs": {LARGE: [us] * 3}})
            self.assertEqual(found.verdict, expected)
            self.assertIn("GB/s", report.seen_text(found))

    def test_against_the_floor(self):
        key = ("barrier_stream", 0)
        found = judged_of(*key, {"nvs": {key: [2.5] * 2}, "floor": {key: [2.4] * 2}})
        self.assertEqual(found.verdict, "met")

    def test_targets_are_of_two_gpus(self):
        for row in gpu_rows.ROWS:
            if row.rule:
                self.assertFalse(row.metric.endswith(("_self", "_shared")), row.key)


class Documents(unittest.TestCase):
    def setUp(self):
        self.judged = verdict.judge_all(gpu_rows.ROWS, FULL, gpu_systems.PEERS)

    def test_markdown(self):
        plots = gpu_report.all_plots(self.judged)
        text = gpu_report.markdown(self.judged, ABOUT, {"barrier_block": "Because\nof it."}, plots)
        self.assertNotIn("@", text)
        self.assertIn("NVSHMEM is not in the tables: not installed", text)
        self.assertIn("**barrier in a kernel, block** (missed)", text)
        self.assertIn("Because of it.", text)
        self.assertIn("it broke", text)
        self.assertIn("| all-reduce 256 MiB | 344 | 343 |", text)
        self.assertIn("performance-gpu-bandwidth.svg", text)

    def test_one_gpu_is_said(self):
        self.assertIn("no target applies", gpu_report.conditions_text({**ABOUT, "gpus": 1}))

    def test_tables_have_as_many_cells_as_headings(self):
        for block in report.all_tables(self.judged, gpu_systems.PEERS).split("\n\n"):
            lines = [line for line in block.splitlines() if line.startswith("|")]
            self.assertLessEqual(len({line.count("|") for line in lines}), 1, block)

    def test_short_table(self):
        text = gpu_report.short(self.judged)
        line = next(line for line in text.splitlines() if line.startswith("all-reduce 8 B"))
        self.assertEqual(line.split()[3:], ["2.65", "2.60", "6.40", "PyTorch", "≤", "2.7", "µs", "µs", "met"])

    def test_plots_are_svg(self):
        plots = gpu_report.all_plots(self.judged)
        self.assertEqual(set(plots), set(gpu_report.HEADINGS))
        for text in plots.values():
            self.assertTrue(xml.etree.ElementTree.fromstring(text).tag.endswith("svg"))

    def test_documents_from_the_file(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            with unittest.mock.patch.object(sys, "stderr"):
                run.write(folder, self.judged, ABOUT, FULL)
            found = json.loads((folder / "performance-gpu.json").read_text(encoding="utf-8"))
            again = verdict.judge_all(gpu_rows.ROWS, gpu_report.Saved(found), gpu_systems.PEERS)
            self.assertEqual(gpu_report.short(again), gpu_report.short(self.judged))
            self.assertEqual(len(list(folder.iterdir())), 2 + len(gpu_report.HEADINGS))

    def test_notes_are_about_rows_that_exist(self):
        reasons, _ = report.load_notes(HERE / "notes.toml")
        self.assertLessEqual(set(reasons), {row.key for row in gpu_rows.ROWS})

    def test_every_row_has_its_own_key(self):
        keys = [row.key for row in gpu_rows.ROWS]
        self.assertEqual(len(keys), len(set(keys)))


if __name__ == "__main__":
    unittest.main()
