"""What the tests of nvsrun share: jobs with a marker, and waiting for what must come.

A test file is called as NAME_test.py NVSRUN PE [unittest arguments]. PE is the program whose
arguments say what it does. Nothing depends on tight timing: a test waits for what it needs to see,
up to PATIENCE seconds. Every job carries a marker in the arguments of its processes, and after every
test /proc must not show it any more.
"""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

PATIENCE = 60.0


def programs(count=2):
    """The programs that the command line names, as absolute paths; takes them off it."""
    paths = [os.path.abspath(path) for path in sys.argv[1:1 + count]]
    del sys.argv[1:1 + count]
    return paths


NVSRUN, PE = programs()


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
