"""Tests of nvsrun: signals to nvsrun, and its table (harness.py says how they are called)."""

import os
import signal
import unittest

from harness import Case, wait_for


class Signals(Case):
    def test_end(self):
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            process, _ = self.running("", 2)
            process.send_signal(sig)
            result = self.finish(process)
            self.assertEqual((result.status, result.err), (128 + sig, ""))

    def test_end_is_forwarded(self):
        process, _ = self.running("", 2, "catch=15 init sleep=0.3 sleep=100 exit=0")
        process.send_signal(signal.SIGTERM)
        wait_for("the signal", lambda: os.read(process.stdout.fileno(), 10) == b"caught 15\n")
        process.send_signal(signal.SIGTERM)  # the second kills at once
        self.assertEqual(self.finish(process).status, 128 + 15)

    def test_end_after_grace(self):
        process, _ = self.running("", 2, "ignore=2 init sleep=100")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).status, 128 + 2)

    def test_usr2(self):
        process, _ = self.running("", 2, "catch=12 init sleep=1 finalize")
        process.send_signal(signal.SIGUSR2)
        result = self.finish(process)
        self.assertEqual((result.status, result.out), (0, "caught 12\n" * 2))

    def state(self, pid):
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]

    def test_stop_and_continue(self):
        process, pids = self.running("", 2)
        everyone = [process.pid, *pids.values()]
        process.send_signal(signal.SIGTSTP)
        wait_for("a stop", lambda: all(self.state(pid) == "T" for pid in everyone))
        process.send_signal(signal.SIGCONT)
        wait_for("a continuation", lambda: all(self.state(pid) in "SR" for pid in everyone))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).status, 128 + 15)

    def test_ignored_stays_ignored(self):
        process, _ = self.running("", 2, "init sleep=0.5 finalize",
                                  preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.finish(process).status, 0)

    def test_table(self):
        process, pids = self.running("", 2, "in=all_reduce init sleep=100")
        process.send_signal(signal.SIGUSR1)
        lines = sorted(process.stderr.readline().decode() for _ in range(2))
        self.assertEqual(lines[1], f"nvsrun:   PE 1 (pid {pids[1]}): running in all_reduce #7 of "
                         "the world team (float32, 100 elements, 400 bytes)\n")


if __name__ == "__main__":
    unittest.main()
