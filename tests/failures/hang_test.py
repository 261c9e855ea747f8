"""A job that hangs says who is missing: one PE for all, once, then ever more rarely.

    hang_test.py NVSRUN HANG [unittest arguments]

HANG is made from hang.c. No test depends on how long something takes but for the patience that it
sets itself; the harness is that of the launcher's tests.
"""

import os
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
from harness import PE as HANG, Case, wait_for  # noqa: E402


class Hang(Case):
    def hang(self, scenario, npes=4, options="", **environment):
        environment = {**os.environ, **environment}
        return self.start(f"-n {npes} --bind none {options}", [HANG, scenario], env=environment)

    def timed_out(self, scenario, npes=4, **environment):
        """The lines that a job with NVS_TIMEOUT ends with."""
        result = self.finish(self.hang(scenario, npes, NVS_TIMEOUT="1", **environment))
        self.assertNotIn(result.status, (0, 2, 124), result.err)
        self.assertEqual(result.err.count("What the PEs are doing"), 1, result.err)
        return result.err

    def next_table(self, process):
        """The lines of the next table on the error output of a running job."""
        lines = []
        while not lines or not re.search(r"^nvs.*missing|done its part", lines[-1]):
            line = process.stderr.readline().decode()
            self.assertTrue(line, "the job has ended: " + "".join(lines))
            if line.startswith(("nvs: ", "nvs:  ", "nvsrun:  ")):
                lines.append(line.rstrip("\n"))
        return lines


class Timeout(Hang):
    def test_missing(self):
        err = self.timed_out("missing")
        self.assertIn("PE 1 is missing in all_reduce #", err)
        lines = [line for line in err.splitlines() if line.startswith("nvs:")]
        self.assertRegex(lines[0], r"^nvs: PE \d: has waited 1\.\d s in all_reduce #\d+ of the world team "
                         r"\(float32, 100 elements, 400 bytes\)\. What the PEs are doing:$")
        for pe in (0, 2, 3):
            self.assertRegex(lines[1 + pe], rf"^nvs:   PE {pe} \(pid \d+\): running in all_reduce #\d+ of the "
                             r"world team \(float32, 100 elements, 400 bytes\), waits for PE 1$")
        self.assertRegex(lines[2], r"^nvs:   PE 1 \(pid \d+\): running while computing \(last: barrier\)$")
        self.assertRegex(lines[5], r"^nvs:   PE 1 is missing in all_reduce #\d+ of the world team "
                         r"\(float32, 100 elements\); PEs 0, 2, 3 wait$")

    def test_sentence_of_the_call(self):
        """What nvs_last_error() says."""
        err = self.timed_out("missing")
        self.assertRegex(err, r"(?m)^(PE \d: )+PE 1 is missing in all_reduce #\d+ of the world team "
                         r"\(float32, 100 elements\); waited 1\d\d\d ms, the limit of NVS_TIMEOUT$")

    def test_one_speaks_for_all(self):
        """A void function ends the job: one table, one sentence, status 1."""
        result = self.finish(self.hang("barrier", 6, NVS_TIMEOUT="1"))
        self.assertEqual(result.status, 1, result.err)
        self.assertEqual(result.err.count("What the PEs are doing"), 1, result.err)
        self.assertEqual(result.err.count("NVS_ERR_TIMEOUT"), 1, result.err)
        self.assertNotIn("nvsrun:", result.err)

    def test_team(self):
        err = self.timed_out("team", 6)
        self.assertRegex(err, r"PE 1 is missing in all_reduce #1 of team \d+ \[PEs 1, 3, 5\] "
                         r"\(float32, 100 elements\); PEs 3, 5 wait")

    def test_team_in_a_used_place(self):
        self.assertRegex(self.timed_out("second_team", 4),
                         r"PE 1 is missing in all_reduce #1 of team \d+ \[PEs 1, 3\] ")

    def test_wide_team(self):
        self.assertRegex(self.timed_out("team", 10), r"of team \d+ \[PEs 1-9 by 2\] ")

    def test_crossed(self):
        err = self.timed_out("crossed", 4)
        self.assertRegex(err, r"nvs:   PE 1 is missing in barrier #\d+ of the world team; PEs 0, 2, 3 wait")
        self.assertRegex(err, r"nvs:   PE 3 is missing in sync #1 of team \d+ \[PEs 1, 3\]; PE 1 waits")

    def test_broadcast(self):
        err = self.timed_out("broadcast", 4)
        self.assertRegex(err, r"nvs:   PE 1 is missing in broadcast #\d+ of the world team "
                         r"\(100 elements\); PEs 0, 3 wait")

    def test_ring(self):
        err = self.timed_out("ring", 2)
        self.assertRegex(err, r"nvs:   PE 1 is missing in broadcast #\d+ of the world team")

    def test_active_set(self):
        err = self.timed_out("active_set", 4)
        self.assertRegex(err, r"PE 1 is missing in barrier #1 of the active set of PEs 1-3; PEs 2, 3 wait")

    def test_wait_until(self):
        err = self.timed_out("wait_until", 2)
        self.assertRegex(err, r"waited 1\d\d\d ms, the limit of NVS_TIMEOUT, in wait_until \(8 bytes\): "
                         r"no PE has stored the awaited value")

    def test_set_lock(self):
        err = self.timed_out("set_lock", 2)
        self.assertRegex(err, r"PE 0: waited 1\d\d\d ms, the limit of NVS_TIMEOUT, in set_lock behind PE 1 ")

    def test_malloc(self):
        self.assertRegex(self.timed_out("malloc", 3), r"PE 1 is missing in malloc #\d+ of the world team; waited")


class Warning(Hang):
    def test_once_then_more_rarely(self):
        """Of 6 PEs one prints, after 0.5, 1, 2 and 4 s. On a busy machine they begin to wait at
        different times, so there may be some more tables, but not 4 from each."""
        process = self.hang("missing", 6, NVS_WARN_AFTER="500ms")
        spoken = {}
        ntables = 0
        while not spoken or max(map(max, spoken.values())) < 4:
            lines = self.next_table(process)
            self.assertEqual(len(lines), 8, lines)
            found = re.search(r"PE (\d): has waited ([\d.]+) s", lines[0])
            spoken.setdefault(found[1], []).append(float(found[2]))
            ntables += 1
        process.kill()
        self.assertLess(ntables, 12, spoken)
        for times in spoken.values():
            for before, after in zip(times, times[1:]):
                self.assertGreater(after, before * 1.5, spoken)

    def test_the_wait_goes_on(self):
        result = self.finish(self.hang("late", 3, NVS_WARN_AFTER="1"))
        self.assertEqual(result.status, 0, result.err)
        self.assertIn("PE 1 is missing", result.err)

    def test_every_wait_counts(self):
        """The second wait is told, though the first was told as well."""
        process = self.hang("twice", 3, NVS_WARN_AFTER="500ms")
        numbers = set()
        while len(numbers) < 2:
            numbers.add(re.search(r"all_reduce #(\d+)", self.next_table(process)[-1])[1])
        process.kill()

    def test_log_level(self):
        result = self.finish(self.hang("late", 3, NVS_WARN_AFTER="500ms", NVS_LOG="error"))
        self.assertEqual((result.status, result.err), (0, ""))

    def test_stopped(self):
        process = self.hang("missing", 3, NVS_WARN_AFTER="500ms")
        pid = int(re.search(r"PE 1 \(pid (\d+)\)", "\n".join(self.next_table(process)))[1])
        os.kill(pid, signal.SIGSTOP)
        wait_for("a stopped PE in the table",
                 lambda: re.search(r"PE 1 \(pid \d+\): stopped while computing",
                                   "\n".join(self.next_table(process))))
        os.kill(pid, signal.SIGCONT)
        wait_for("a running PE in the table",
                 lambda: re.search(r"PE 1 \(pid \d+\): running while computing",
                                   "\n".join(self.next_table(process))))
        process.kill()

    def test_the_speaker_is_killed(self):
        """Whoever printed last is stopped: another PE goes on to print."""
        process = self.hang("missing", 4, NVS_WARN_AFTER="500ms")
        lines = self.next_table(process)
        speaker = int(re.search(r"PE (\d+): has waited", lines[0])[1])
        os.kill(int(re.search(rf"PE {speaker} \(pid (\d+)\)", "\n".join(lines))[1]), signal.SIGSTOP)
        lines = self.next_table(process)
        self.assertNotEqual(int(re.search(r"PE (\d+): has waited", lines[0])[1]), speaker)
        self.assertRegex("\n".join(lines), rf"PE {speaker} \(pid \d+\): stopped in all_reduce")
        process.kill()


class Asked(Hang):
    def ask(self, process):
        process.send_signal(signal.SIGUSR1)
        return self.next_table(process)

    def waiting(self, scenario, npes):
        """A job whose PEs have waited long enough to say so themselves."""
        process = self.hang(scenario, npes, NVS_WARN_AFTER="200ms")
        self.next_table(process)
        return process

    def test_the_same_table(self):
        process = self.waiting("missing", 3)
        lines = [line for line in self.ask(process) if line.startswith("nvsrun")]
        process.kill()
        self.assertEqual(len(lines), 4, lines)
        self.assertRegex(lines[1], r"^nvsrun:   PE 1 \(pid \d+\): running while computing \(last: barrier\)$")
        self.assertRegex(lines[3], r"^nvsrun:   PE 1 is missing in all_reduce #\d+ of the world team "
                         r"\(float32, 100 elements\); PEs 0, 2 wait$")

    def test_wide(self):
        """PEs in the same state share a line."""
        process = self.waiting("team", 20)

        def all_wait():
            lines = [line for line in self.ask(process) if line.startswith("nvsrun")]
            return lines if any("PEs 3-19 by 2 (9): " in line for line in lines) else None
        lines = wait_for("a line for all who wait", all_wait)
        process.kill()
        text = "\n".join(lines)
        self.assertEqual(len(lines), 3, text)
        self.assertRegex(text, r"PEs 3-19 by 2 \(9\): running in all_reduce #1 of team \d+ \[PEs 1-19 by 2\] "
                         r"\(float32, 100 elements, 400 bytes\), waits for PE 1")
        self.assertIn("PEs 0-2, 4, 6, 8, 10, 12, 14, 16, 18 (11): running while computing (last: team_split)", text)
        self.assertIn("PE 1 is missing in all_reduce #1", text)


if __name__ == "__main__":
    unittest.main()
