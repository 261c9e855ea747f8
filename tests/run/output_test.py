"""Tests of nvsrun: input, output, and CPUs (harness.py says how they are called)."""

import os
import pty
import re
import subprocess
import time
import unittest

from harness import PATIENCE, PE, Case


class InputOutput(Case):
    def test_input_to_pe_0(self):
        result = self.run_pe("-n 3", "0:sleep=0.3 cat 0:print=end", input=b"one\ntwo\n")
        self.assertEqual((result.status, result.out), (0, "one\ntwo\nend\n"))
        result = self.run_pe("-n 3 --tag-output", "0:sleep=0.3 cat", input=b"one\ntwo\n")
        self.assertEqual((result.status, result.out), (0, "[PE 0] one\n[PE 0] two\n"))

    def test_input_from_terminal(self):
        controller, terminal = pty.openpty()
        process = self.start("-n 2", [PE, "cat"], stdin=terminal, start_new_session=True,
                             preexec_fn=lambda: os.close(os.open(os.ttyname(terminal), os.O_RDWR)))
        os.close(terminal)
        os.write(controller, b"typed\n\x04")
        result = self.finish(process)
        os.close(controller)
        self.assertEqual((result.status, result.out), (0, "typed\n"))

    def check_flood(self, out, npes, nlines):
        seen = [0] * npes
        for line in out.splitlines():
            match = re.fullmatch(r"\[PE (\d+)\] (\d+) (\w*)\.", line)
            self.assertIsNotNone(match, line[:200])
            pe, number = int(match[1]), int(match[2])
            self.assertEqual(number, seen[pe])
            self.assertEqual(match[3], chr(ord("a") + pe) * (number * 37 % 5000))
            seen[pe] += 1
        self.assertEqual(seen, [nlines] * npes)

    def test_tagged_lines_stay_whole(self):
        self.check_flood(self.run_pe("-n 4 --tag-output", "flood=500").out, 4, 500)

    def test_tagged_slow_reader(self):
        process = self.start("-n 3 --tag-output", [PE, "flood=700"])
        parts = []
        while True:  # a reader that takes its time, until well after all PEs are gone
            part = os.read(process.stdout.fileno(), 40000)
            if not part:
                break
            parts.append(part)
            time.sleep(0.002)
        self.assertEqual(self.finish(process).status, 0)
        self.check_flood(b"".join(parts).decode(), 3, 700)

    def test_tagged_both_outputs_in_one_file(self):
        result = self.run_sh(
            "-n 2 --tag-output", 'i=0; while [ $i -lt 300 ]; do echo out; echo err >&2; '
            'i=$((i+1)); done', stderr=subprocess.STDOUT)
        lines = result.out.splitlines()
        self.assertEqual(len(lines), 1200)
        self.assertEqual({re.sub(r"\[PE [01]\] ", "", line) for line in lines}, {"out", "err"})

    def test_tagged_partial_line(self):
        result = self.run_sh("-n 2 --tag-output", "printf a; printf b >&2; sleep 0.1; printf c")
        self.assertEqual(sorted(result.out.splitlines()), ["[PE 0] ac", "[PE 1] ac"])
        self.assertEqual(sorted(result.err.splitlines()), ["[PE 0] b", "[PE 1] b"])

    def test_tagged_reader_gone(self):
        process = self.start("-n 2 --tag-output", ["sh", "-c", "while echo y; do :; done"])
        process.stdout.read(10)
        process.stdout.close()
        process.stdout = None
        self.assertNotEqual(self.finish(process).status, 0)

    def test_untagged_large(self):
        result = self.run_pe("-n 1", "flood=1000")
        self.assertEqual(len(result.out.splitlines()), 1000)

    def test_bind(self):
        allowed = sorted(os.sched_getaffinity(0))
        result = self.run_pe("-n 1", "cpus")
        self.assertEqual(result.out, "PE 0: " + " ".join(map(str, allowed)) + "\n")
        if len(allowed) > 1:
            result = self.run_pe(f"-n {len(allowed)}", "cpus")
            self.assertEqual(sorted(int(line.split(": ")[1]) for line in result.out.splitlines()),
                             allowed)
        more = len(allowed) + 1
        result = self.run_pe(f"-n {more} --bind core", "cpus")
        self.assertIn(f"PE {more - 1}: {allowed[0]}\n", result.out)
        result = self.run_pe(f"-n {more}", "cpus")
        self.assertEqual(result.out.count(": " + " ".join(map(str, allowed)) + "\n"), more)

    def test_background_process_of_a_pe(self):
        started = time.monotonic()
        result = self.run_sh("-n 2 --tag-output", f"sleep 1000 & echo on; : {self.marker}")
        self.assertEqual(sorted(result.out.split("\n")), ["", "[PE 0] on", "[PE 1] on"])
        self.assertLess(time.monotonic() - started, PATIENCE)


if __name__ == "__main__":
    unittest.main()
