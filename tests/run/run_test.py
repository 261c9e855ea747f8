"""Tests of nvsrun: statuses, input and output, signals, losses, and that nothing stays behind.

Usage: run_test.py NVSRUN PE [unittest arguments]

PE is the program made from pe.c; its arguments are what it does. Nothing here depends on tight
timing: a test waits for what it needs to see, up to PATIENCE seconds. Every job carries a marker in
the arguments of its processes, and after every test /proc must not show it any more.
"""

import os
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

PATIENCE = 30.0
NVSRUN = PE = None


def processes(marker):
    """Living processes that have the marker among their arguments."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read()
            with open(f"/proc/{name}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if marker.encode() in words and state not in "ZX":
            found.append(int(name))
    return found


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"never saw {what}")
        time.sleep(0.01)


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


class Case(unittest.TestCase):
    def setUp(self):
        self.marker = f"marker-{os.getpid()}-{self.id().rsplit('.', 1)[1]}"
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        try:
            wait_for("the end of all processes", lambda: not processes(self.marker))
        finally:
            for pid in processes(self.marker):
                os.kill(pid, signal.SIGKILL)

    def start(self, options, command, **kwargs):
        """nvsrun with options, then command; the marker goes in as the last argument."""
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen(
            [NVSRUN, *options.split(), *command, self.marker], **kwargs)
        self.started.append(process)
        return process

    def finish(self, process, data=None):
        out, err = process.communicate(data, timeout=PATIENCE)
        return Result(process.returncode, (out or b"").decode(), (err or b"").decode())

    def run_pe(self, options, actions, **kwargs):
        data = kwargs.pop("input", None)
        if data is not None:
            kwargs["stdin"] = subprocess.PIPE
        return self.finish(self.start(options, [PE, *actions.split()], **kwargs), data)

    def run_sh(self, options, script, **kwargs):
        return self.finish(self.start(options, ["sh", "-c", script], **kwargs))

    def pe_pids(self, process, npes, state="running"):
        """The pids of the PEs once all are in this state, from nvsrun's own table (SIGUSR1)."""
        # nvsrun is ready for signals before it forks; its guardian carries the marker, too.
        wait_for("the start", lambda: len(processes(self.marker)) >= 2)

        def asked():
            process.send_signal(signal.SIGUSR1)
            pids = {}
            for _ in range(npes):
                line = process.stderr.readline().decode()
                self.assertTrue(line.startswith("nvsrun:   PE "), line)
                match = re.match(rf"nvsrun:   PE (\d+) \(pid (\d+)\): {state}", line)
                if match:
                    pids[int(match[1])] = int(match[2])
            return pids if len(pids) == npes else None
        return wait_for(f"{npes} PEs {state}", asked)

    def running(self, options, npes, actions="init sleep=100", command=None, **kwargs):
        """A started job, all of whose PEs are between init and finalize."""
        kwargs.setdefault("bufsize", 0)
        process = self.start(f"-n {npes} {options}", command or [PE, *actions.split()], **kwargs)
        return process, self.pe_pids(process, npes)


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

    def test_not_found(self):
        result = self.finish(self.start("-n 3", ["./no such program"]))
        self.assertEqual(result.status, 127)
        self.assertEqual(len(result.err.splitlines()), 1)
        self.assertIn("No such file", result.err)

    def test_not_executable(self):
        result = self.finish(self.start("-n 2", [__file__ if not os.access(__file__, os.X_OK)
                                                 else "/"]))
        self.assertEqual(result.status, 126)
        self.assertEqual(len(result.err.splitlines()), 1)
        self.assertIn("ermission denied", result.err)

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


class Loss(Case):
    def test_killed(self):
        process, pids = self.running("", 3, "init in=all_reduce sleep=100")
        os.kill(pids[1], signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(result.status, 128 + 9)
        self.assertEqual(result.err,
                         f"nvsrun: PE 1 (pid {pids[1]}) was killed by signal 9 (Killed) in "
                         "all_reduce #7 of team 0 (float32, 100 elements, 400 bytes); "
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
                         "team 0 (float32, 100 elements, 400 bytes)\n")


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
    NVSRUN, PE = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
