"""Tests of nvsrun: statuses, limits, and the command line (harness.py says how they are called)."""

import os
import re
import resource
import subprocess
import unittest

from harness import NVSRUN, Case


class Status(Case):
    def test_zero(self):
        self.assertEqual(self.run_pe("-n 3", "init finalize").status, 0)

    def test_program_without_nvs(self):
        result = self.run_sh("-n 2", "echo $NVS_JOB_PE/$NVS_JOB_NPES")
        self.assertEqual((result.status, sorted(result.out.split())), (0, ["0/2", "1/2"]))

    def test_first_failure(self):
        result = self.run_pe("-n 3", "init finalize 1:exit=7")
        self.assertEqual(result.status, 7)
        self.assertRegex(result.err, r"^nvsrun: PE 1 \(pid \d+\) exited with status 7 after finalize")
        self.assertEqual(len(result.err.splitlines()), 1)

    def test_after_finalize_others_go_on(self):
        result = self.run_pe("-n 2", "init finalize 1:exit=7 sleep=0.5 print=done")
        self.assertEqual((result.status, result.out), (7, "done\n"))
        self.assertRegex(result.err, r"PE 1 \(pid \d+\) exited with status 7 after finalize")

    def test_signal_after_finalize(self):
        result = self.run_pe("-n 2", "init finalize 1:kill=6")
        self.assertEqual(result.status, 128 + 6)
        self.assertIn("was killed by signal 6 (Aborted) after finalize", result.err)

    def test_global_exit(self):
        for status in (0, 5):
            result = self.run_pe("-n 3", f"init 1:global_exit={status} sleep=100")
            self.assertEqual((result.status, result.err), (status, ""))

    def test_usage(self):
        for words, answer in (("-n 0 true", "1..4096"), ("-n x true", "1..4096"),
                              ("-n 5000 true", "1..4096"), ("true", "how many PEs"),
                              ("-n 2", "which program"), ("-n 2 --bind x true", "core and none"),
                              ("-n 2 --timeout -1 true", "seconds"), ("--nonsense", "no option"),
                              ("-n", "missing"), ("-n 1 --on-loss x true", "end and continue")):
            done = subprocess.run([NVSRUN, *words.split()], capture_output=True, text=True)
            self.assertEqual(done.returncode, 125, words)
            self.assertIn(answer, done.stderr)

    def test_spellings(self):
        for words in ("-np 2", "--np 2", "-n2", "--np=2"):
            done = subprocess.run([NVSRUN, *words.split(), "sh", "-c", "echo $NVS_JOB_NPES"],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "2\n2\n"), words)

    def test_timeout(self):
        result = self.run_pe("-n 2 --timeout 0.4", "init in=barrier ignore=15 sleep=100")
        self.assertEqual(result.status, 124)
        self.assertIn("after 0.4 seconds", result.err)
        self.assertEqual(result.err.count("running in barrier"), 2)

    def test_timeout_not_reached(self):
        self.assertEqual(self.run_pe("-n 2 --timeout 100", "init finalize").status, 0)

    def test_many(self):
        self.assertEqual(self.run_pe("-n 64", "init sleep=0.2 finalize").status, 0)

    def test_file_size_limit(self):
        def limit(gib):
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (gib << 30, gib << 30))
        result = self.run_pe("-n 2", "init finalize", preexec_fn=limit(1 << 10))
        self.assertEqual(result.status, 0)
        self.assertIn("ulimit -f", result.err)
        result = self.run_pe("-n 2", "init finalize", preexec_fn=limit(1))
        self.assertEqual(result.status, 125)
        self.assertIn("ulimit -f", result.err)

    def test_open_files_limit(self):
        script = "ulimit -Sn"
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        result = self.run_sh("-n 24 --tag-output", script, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (40, limits[1])))
        self.assertEqual(result.status, 0)
        self.assertIn("[PE 23] 40\n", result.out)  # PEs get back what the user had set

    def test_descriptors(self):
        result = self.run_sh("-n 2 --tag-output", "ls -l /proc/self/fd")
        other = [line for line in result.out.splitlines()
                 if "->" in line and not re.search(r" [012] -> |memfd:nvs-job|/proc/\d+/fd", line)]
        self.assertEqual(other, [])


if __name__ == "__main__":
    unittest.main()
