"""Tests of nvsrun: PEs that are lost (harness.py says how they are called)."""

import os
import signal
import time
import unittest

from harness import PE, Case


class Loss(Case):
    def test_killed(self):
        process, pids = self.running("", 3, "init in=all_reduce sleep=100")
        os.kill(pids[1], signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(result.status, 128 + 9)
        self.assertEqual(result.err,
                         f"nvsrun: PE 1 (pid {pids[1]}) was killed by signal 9 (Killed) in "
                         "all_reduce #7 of the world team (float32, 100 elements, 400 bytes); "
                         "ending the job\n")

    def test_segfault(self):
        result = self.run_pe("-n 2", "init 1:after=put 1:kill=11 sleep=100")
        self.assertEqual(result.status, 128 + 11)
        self.assertRegex(result.err, r"^nvsrun: PE 1 \(pid \d+\) was killed by signal 11 "
                         r"\(Segmentation fault\) while computing \(last: put\); ending the job\n$")

    def test_exit_while_running(self):
        result = self.run_pe("-n 2", "init 0:after=put 0:exit=3 sleep=100")
        self.assertEqual(result.status, 3)
        self.assertIn("exited with status 3 while computing (last: put); ending the job",
                      result.err)

    def test_exit_without_finalize(self):
        result = self.run_pe("-n 2", "init 0:exit=0 sleep=100")
        self.assertEqual(result.status, 1)
        self.assertIn("exited with status 0 without finalize", result.err)

    def test_exit_before_init(self):
        result = self.run_pe("-n 2", "claim 0:exit=4 sleep=100")
        self.assertEqual(result.status, 4)
        self.assertIn("exited with status 4 before init", result.err)
        self.assertEqual(self.run_pe("-n 2", "claim 0:exit=0 sleep=0.2").status, 0)

    def test_nonzero_without_nvs(self):
        result = self.run_sh("-n 2", "test $NVS_JOB_PE = 0 || exit 6; sleep 1000")
        self.assertEqual(result.status, 6)
        self.assertIn("exited with status 6; ending the job", result.err)

    def test_others_ignore_sigterm(self):
        result = self.run_pe("-n 3", "init ignore=15 ignore=2 1:kill=9 sleep=100")
        self.assertEqual(result.status, 128 + 9)
        self.assertEqual(len(result.err.splitlines()), 1)

    def test_others_are_stopped(self):
        result = self.run_pe("-n 2", "init ignore=15 0:stop 1:sleep=0.1 1:kill=9 sleep=100")
        self.assertEqual(result.status, 128 + 9)

    def test_only_the_first_is_reported(self):
        result = self.run_pe("-n 4", "init 2:kill=6 failure exit=9")
        self.assertEqual(result.status, 128 + 6)
        self.assertEqual(len(result.err.splitlines()), 1, result.err)

    def test_continue(self):
        result = self.run_pe("-n 3 --on-loss continue", "init 2:kill=9 failure finalize")
        self.assertEqual(result.status, 128 + 9)
        self.assertEqual(sorted(result.out.splitlines()),
                         ["PE 0 saw 100000003", "PE 1 saw 100000003"])
        self.assertIn("PE 2", result.err)
        self.assertIn("; the others go on", result.err)

    def test_grandchild_in_order(self):
        result = self.run_sh("-n 2", f"{PE} init finalize; echo after; :")
        self.assertEqual((result.status, result.out), (0, "after\nafter\n"))

    def test_grandchild_crashes(self):
        result = self.run_sh("-n 2", f"{PE} init in=barrier 1:kill=11 sleep=100; sleep 1000")
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err, r"(?m)^nvsrun: PE 1 \(pid \d+\) (was killed by signal 11 "
                         r"\(Segmentation fault\)|ended without finalize) in barrier; "
                         r"ending the job\n", result.err)

    def test_grandchild_killed_later(self):
        process, pids = self.running("", 2, command=["sh", "-c", f"{PE} init sleep=100; :"])
        os.kill(pids[0], signal.SIGKILL)
        result = self.finish(process)
        self.assertNotEqual(result.status, 0)
        self.assertIn(f"PE 0 (pid {pids[0]}) ", result.err)

    def test_grandchild_outlives_child(self):
        started = time.monotonic()
        result = self.run_sh("-n 2", f"({PE} init print=ready sleep=0.5 finalize &) | read line")
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertGreater(time.monotonic() - started, 0.5)

    def test_grandchild_in_a_session_of_its_own(self):
        process, pids = self.running("", 2, command=["setsid", "-w", PE, "init", "sleep=100"])
        os.kill(pids[0], signal.SIGKILL)
        self.assertNotEqual(self.finish(process).status, 0)


if __name__ == "__main__":
    unittest.main()
