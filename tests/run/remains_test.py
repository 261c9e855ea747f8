"""Tests of nvsrun: nothing stays behind, whoever is killed (harness.py says how they are called)."""

import os
import random
import signal
import time
import unittest

from harness import NVSRUN, PE, Case, processes, wait_for


class NothingStays(Case):
    """tearDown does the checking."""

    def test_nvsrun_killed(self):
        process, _ = self.running("", 3, "ignore=15 init sleep=100")
        process.kill()
        self.assertEqual(self.finish(process).status, -9)

    def test_nvsrun_killed_with_grandchildren(self):
        script = f"sleep 1000 & {PE} init sleep=100 {self.marker}; sleep 1000"
        process, _ = self.running("--tag-output", 3, command=["sh", "-c", script])
        process.kill()
        self.finish(process)

    def test_nvsrun_killed_while_pes_are_stopped(self):
        process, pids = self.running("", 2)
        for pid in pids.values():
            os.kill(pid, signal.SIGSTOP)
        process.kill()
        self.finish(process)

    def comm(self, pid):
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()

    def test_guardian_killed(self):
        process, _ = self.running("", 2, "init sleep=0.5 finalize")
        guardians = [pid for pid in processes(self.marker) if self.comm(pid) == "nvsrun-guardian"]
        self.assertEqual(len(guardians), 1)
        os.kill(guardians[0], signal.SIGKILL)
        self.assertEqual(self.finish(process).status, 0)

    def test_guardian_and_nvsrun_killed(self):
        process, _ = self.running("", 2)
        for pid in processes(self.marker):
            if self.comm(pid) == "nvsrun-guardian":
                os.kill(pid, signal.SIGKILL)
        process.kill()  # what is left is the parent-death signal
        self.finish(process)

    def test_daemon_of_a_pe(self):
        script = f"setsid -f sh -c 'sleep 1000; : {self.marker}'; sleep 0.1"
        self.assertEqual(self.run_sh("-n 2", script).status, 0)

    def test_nested(self):
        script = f"{NVSRUN} -n 2 {PE} init sleep=100 {self.marker}; :"
        process = self.start("-n 2", ["sh", "-c", script])
        wait_for("inner PEs", lambda: len(processes(self.marker)) >= 12)
        process.kill()
        self.finish(process)

    def test_random_kills(self):
        seed = int(os.environ.get("NVS_TEST_SEED", time.time_ns() % 1000000))
        print(f"seed {seed} (NVS_TEST_SEED)")
        chance = random.Random(seed)
        for _ in range(20):
            process = self.start(f"-n {chance.randint(1, 4)}", [
                "sh", "-c", f"{PE} init sleep=100 {self.marker}; sleep 1000"])
            time.sleep(chance.random() * 0.06)
            victims = [process.pid] if chance.random() < 0.5 else processes(self.marker)
            try:
                os.kill(chance.choice(victims or [process.pid]), signal.SIGKILL)
            except ProcessLookupError:
                pass
            if process.pid not in victims or len(victims) > 1:
                time.sleep(0.05)
                process.terminate()  # the victim may have been the guardian or a shell's child
            self.finish(process)
            wait_for("the end of all processes", lambda: not processes(self.marker))


if __name__ == "__main__":
    unittest.main()
