#!/usr/bin/env python3
"""Tests of what is between the programs' output and the documents, with canned output: no program
is run and no time is asserted."""
import json
import tempfile
import pathlib
import unittest
import xml.etree.ElementTree

import measure
import plot
import report
import rows
import run
import systems
import verdict
from plan import Plan, Samples

OUTPUT = """\
a warning of somebody's library
RESULT put_ping_pong 8 0.30000 0.29000
RESULT beside:put_ping_pong 8 0.28000 0.27000
RESULT all_reduce 65536 2.40000 2.30000
RESULT broken eight 1 1
RESULT short 8 1
"""


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


def row(metric, nbytes=0):
    return next(r for r in rows.ROWS if (r.metric, r.nbytes) == (metric, nbytes))


def judged(metric, nbytes, figures):
    return verdict.judge(row(metric, nbytes), samples_of(figures))


FULL = samples_of({
    "floor": {("all_reduce", 65536): [2.0, 2.1, 1.9], ("barrier", 0): [0.1, 0.3, 0.1]},
    "nvs": {("all_reduce", 65536): [2.2, 2.3, 2.1], ("barrier", 0): [0.30, 0.12, 0.31],
            ("beside:barrier", 0): [0.28, 0.11, 0.29], ("broadcast", 8): [0.2, 0.2, 0.2],
            ("fetch_add", 8): [0.009, 0.010, 0.016], ("get_word", 8): [0.02, 0.02, 0.02]},
    "ompi": {("all_reduce", 65536): [40.0, 41.0, 42.0], ("broadcast", 8): [0.4, 0.4, 0.4]},
    "mpich": {("broadcast", 8): [0.6, 0.5, 0.6]}})


class Parsing(unittest.TestCase):
    def test_results_among_other_lines(self):
        outcome = measure.parse(OUTPUT)
        self.assertEqual(outcome.us, {("put_ping_pong", 8): 0.3, ("beside:put_ping_pong", 8): 0.28,
                                      ("all_reduce", 65536): 2.4})
        self.assertEqual(outcome.best["all_reduce", 65536], 2.3)

    def test_endings(self):
        self.assertEqual(measure.ending(0), "")
        self.assertIn("SIGSEGV", measure.ending(-11))
        self.assertIn("3", measure.ending(3))


class Running(unittest.TestCase):
    def test_results_before_a_failure_count(self):
        script = "echo 'RESULT barrier 0 1.0 0.9'; echo 'it broke' >&2; exit 3"
        outcome = measure.run(["sh", "-c", script], 60)
        self.assertEqual(outcome.us, {("barrier", 0): 1.0})
        self.assertEqual(outcome.problem, "exit status 3: it broke")

    def test_what_hangs_is_ended_with_its_children(self):
        measure.adopt_orphans()
        outcome = measure.run(["sh", "-c", "setsid sleep 1000 & sleep 1000"], 0.5)
        self.assertIn("not finished", outcome.problem)
        self.assertEqual(measure.children(), [])


class Statistics(unittest.TestCase):
    def test_quartiles(self):
        spread = verdict.Spread.of([4, 1, None, 3, 2, 5])
        self.assertEqual((spread.low, spread.middle, spread.high), (2, 3, 4))
        self.assertIsNone(verdict.Spread.of([None, None]))

    def test_rounds_that_gave_nothing(self):
        samples = samples_of({"nvs": {("barrier", 0): [1, None, 3]}, "floor": {("barrier", 0): [1]}})
        self.assertEqual(samples.of("nvs", ("barrier", 0)), [1, None, 3])
        self.assertEqual(samples.of("floor", ("barrier", 0)), [1, None, None])


    def test_turns_keep_the_ratio_of_each(self):
        samples = Samples()
        samples.begin_round()
        samples.add_turns("nvs", {("barrier", 0): [0.2, 0.4, 0.2],
                                  ("beside:barrier", 0): [0.1, 0.2, 0.2]})
        self.assertEqual(samples.of("nvs", ("barrier", 0)), [0.2])
        self.assertEqual(samples.of("nvs", ("beside:barrier", 0)), [0.1])


class Verdicts(unittest.TestCase):
    def test_floor(self):
        floor = {("all_reduce", 65536): [2.0, 2.0, 2.0]}
        for ours, expected in (([2.2, 2.3, 2.3], "met"), ([2.6, 2.5, 2.7], "missed"),
                               ([2.2, 2.9, 2.3], "within noise")):
            found = judged("all_reduce", 65536,
                           {"nvs": {("all_reduce", 65536): ours}, "floor": floor})
            self.assertEqual(found.verdict, expected)

    def test_paired_ignores_where_the_cores_were(self):
        found = judged("barrier", 0, {
            "floor": {("barrier", 0): [0.1, 0.3]},
            "nvs": {("barrier", 0): [0.33, 0.11], ("beside:barrier", 0): [0.3, 0.1]}})
        self.assertEqual(found.verdict, "met")
        self.assertAlmostEqual(found.against.middle, 1.1)

    def test_peers_behind_one_is_missed(self):
        ours = {("broadcast", 8): [0.5, 0.5]}
        ahead = {"nvs": ours, "ompi": {("broadcast", 8): [0.6, 0.7]}}
        self.assertEqual(judged("broadcast", 8, ahead).verdict, "met")
        behind = {**ahead, "mpich": {("broadcast", 8): [0.4, 0.4]}}
        self.assertEqual(judged("broadcast", 8, behind).verdict, "missed")

    def test_like_by_floor(self):
        nvs = {("barrier_single", 0): [0.4, 0.2], ("beside:barrier_single", 0): [0.2, 0.1],
               ("barrier_multiple", 0): [0.2, 0.4], ("beside:barrier_multiple", 0): [0.1, 0.2]}
        found = judged("barrier_multiple", 0, {"nvs": nvs})
        self.assertAlmostEqual(found.against.middle, 1.0)

    def test_nothing_measured(self):
        self.assertEqual(judged("barrier", 0, {"ompi": {("barrier", 0): [1.0]}}).verdict, "")


class Documents(unittest.TestCase):
    def setUp(self):
        self.judged = verdict.judge_all(rows.ROWS, FULL)
        self.about = {"cpu": "a CPU", "cpus": 2, "memory": "1 GiB", "kernel": "6", "date": "today",
                      "load": "0.0", "rounds": 3, "seconds": 1.0, "scheduling": "ordinary",
                      "versions": {"Open MPI": "4"}, "missing": {"MPICH": "not installed"},
                      "problems": []}

    def test_markdown(self):
        text = report.markdown(self.judged, self.about, {"get_word 8": "Because\nof it."}, [
            {"what": "w", "predicted": "p", "seen": "s", "why": "y"}])
        self.assertNotIn("@", text)
        self.assertIn("| all-reduce 64 KiB | 2.00 | 2.20 |", text)
        self.assertIn("MPICH is not in the tables: not installed", text)
        self.assertIn("**get 8 B** (missed)", text)
        self.assertIn("Because of it.", text)
        self.assertIn("| w | p | s | y |", text)

    def test_tables_have_as_many_cells_as_headings(self):
        for block in report.all_tables(self.judged).split("\n\n"):
            lines = [line for line in block.splitlines() if line.startswith("|")]
            self.assertLessEqual(len({line.count("|") for line in lines}), 1, block)

    def test_json(self):
        found = json.loads(report.as_json(self.judged, self.about, FULL))
        entry = next(r for r in found["rows"] if r["row"] == "all_reduce 65536")
        self.assertEqual(entry["rounds_us"]["nvs"], [2.2, 2.3, 2.1])
        self.assertEqual(entry["verdict"], "met")

    def test_plots_are_svg(self):
        plots = plot.all_plots(self.judged)
        self.assertEqual(len(plots), 3)
        for text in plots.values():
            self.assertTrue(xml.etree.ElementTree.fromstring(text).tag.endswith("svg"))

    def test_notes_are_about_rows_that_exist(self):
        reasons, changes = report.load_notes()
        self.assertLessEqual(set(reasons), {r.key for r in rows.ROWS})
        for change in changes:
            self.assertEqual(set(change), {"what", "predicted", "seen", "why"})

    def test_write(self):
        with tempfile.TemporaryDirectory() as folder:
            run.write(pathlib.Path(folder), self.judged, self.about, FULL)
            self.assertEqual(len(list(pathlib.Path(folder).iterdir())), 5)


class Systems(unittest.TestCase):
    def test_a_peer_that_is_not_installed_is_left_out(self):
        peer = systems.Mpich(pathlib.Path("build"))
        peer.compiler = "no-such-compiler"
        peer.prepare()
        self.assertIn("no-such-compiler is not installed", peer.missing)
        self.assertEqual(Plan([peer]).everything, [])

    def test_launcher_is_above_the_pes(self):
        nvs = systems.Nvs(pathlib.Path("build"))
        nvs.prepare()
        command = nvs.command(2, ["small"], realtime=True)
        self.assertEqual(command[:3], ["chrt", "-f", str(systems.LAUNCHER_PRIORITY)])
        self.assertLess(systems.PE_PRIORITY, systems.LAUNCHER_PRIORITY)

    def test_every_row_has_its_own_key(self):
        keys = [r.key for r in rows.ROWS]
        self.assertEqual(len(keys), len(set(keys)))


if __name__ == "__main__":
    unittest.main()
