"""Tests of nvsrun: programs that cannot be started (harness.py says how the tests are called)."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import NVSRUN, Case


class Start(Case):
    """What cannot be executed: one line that names the file, says why, and what to do."""

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="nvsrun-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, name, data=b"", mode=0o755):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, mode)
        return path

    def refused(self, status, words, *command, **kwargs):
        """All of the words are in the one line that nvsrun says."""
        done = subprocess.run([NVSRUN, "-n", "2", *command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, **kwargs)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        return done.stderr

    def test_missing(self):
        self.refused(127, ["cannot start ./no such program", "No such file"],
                     "./no such program")
        self.refused(127, [f"there is no {self.folder}/sub\n"], f"{self.folder}/sub/dir/program")

    def test_missing_in_path(self):
        self.refused(127, ["cannot start no-such-program", "in no folder of PATH",
                           "(a program of this folder is called ./name)"], "no-such-program")
        self.file("here", b"#!/bin/sh\n")
        self.refused(127, ["in no folder of PATH", "is called ./here"], "here", cwd=self.folder)

    def test_found_in_path(self):
        """Like execvp: what cannot be executed does not hide what can."""
        path = os.pathsep.join([self.folder, os.environ["PATH"]])
        self.file("true", mode=0o644)
        os.mkdir(os.path.join(self.folder, "false"))
        for name, status in (("true", 0), ("false", 1)):
            done = subprocess.run([NVSRUN, "-n", "2", name], env={**os.environ, "PATH": path},
                                  capture_output=True)
            self.assertEqual(done.returncode, status, done.stderr)

    def test_empty_name(self):
        self.refused(127, ["its name is empty"], "")

    def test_empty_arguments(self):
        done = subprocess.run([NVSRUN, "-n", "1", "printf", "[%s]", "", "a", ""],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "[][a][]"))

    def test_long_name(self):
        self.refused(127, ["File name too long"], "x" * 5000)
        self.refused(126, ["File name too long"], "./" + "x" * 3000)

    def test_directory(self):
        self.refused(126, [f"cannot start {self.folder}", "is a directory"], self.folder)

    def test_part_of_the_path_is_a_file(self):
        path = self.file("file")
        self.refused(126, ["Not a directory"], f"{path}/program")

    def test_not_regular(self):
        self.refused(126, ["not a regular file"], "/dev/null")

    def test_no_permission(self):
        path = self.file("script", b"#!/bin/sh\n", 0o644)
        self.refused(126, [path, "Permission denied", "no execute permission: chmod +x"], path)

    def test_script_without_interpreter(self):
        path = self.file("script", b"#!/no/such/interpreter -x\n")
        self.refused(126, [path, "names the interpreter /no/such/interpreter,"], path)
        path = self.file("dos", b"#!/bin/sh\r\necho\r\n")
        self.refused(126, [path, "carriage return", "'/bin/sh\\r'"], path)

    def test_script_without_first_line(self):
        path = self.file("script", b"echo $0 $1\n")
        done = subprocess.run([NVSRUN, "-n", "1", path, "argument"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, f"{path} argument\n"), done.stderr)

    def elf(self, machine):
        with open("/bin/true", "rb") as file:
            data = bytearray(file.read())
        data[18:20] = machine.to_bytes(2, "little" if data[5] == 1 else "big")
        return bytes(data)

    def test_other_architecture(self):
        path = self.file("foreign", self.elf(22))  # s390, where nobody develops
        self.refused(126, [path, "a binary for s390", f"this machine is {os.uname().machine}"], path)

    def test_damaged_binary(self):
        self.refused(126, ["cut off"], self.file("short", b"\x7fELF"))
        with open("/bin/true", "rb") as file:
            head = file.read(20)
        self.refused(126, ["damaged"], self.file("damaged", head))

    def test_loader_missing(self):
        with open("/bin/true", "rb") as file:
            data = file.read()
        at = data.find(b"/lib")
        if data.find(b"ld-linux") < 0 or at < 0:
            self.skipTest("/bin/true has no loader")
        path = self.file("static", data.replace(data[at:at + 4], b"/bil", 1))
        self.refused(126, [path, "the loader that it names is not"], path)

    def test_being_written(self):
        path = self.file("busy")
        shutil.copy("/bin/true", path)
        with open(path, "ab"):
            self.refused(126, [path, "somebody is writing the file"], path)

    def test_arguments_too_long(self):
        # 100 KiB each is allowed, and in all what nvsrun itself was given; its PEs get a bit more.
        arguments = ["x" * 100000] * 20
        try:
            done = subprocess.run([NVSRUN, "-n", "1", "true", *arguments], capture_output=True)
        except OSError:
            self.skipTest("the system does not even start nvsrun")
        self.assertIn(done.returncode, (0, 126))

    def test_process_limit(self):
        def limit():
            import resource
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            resource.setrlimit(resource.RLIMIT_NPROC, (4, 4))
        try:
            done = subprocess.run([NVSRUN, "-n", "50", "sleep", "1"], capture_output=True, text=True,
                                  preexec_fn=limit, cwd="/")
        except PermissionError:
            self.skipTest("another user may not execute nvsrun here")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertRegex(done.stderr, r"cannot start (PE \d+|a process): .*limit of processes")


if __name__ == "__main__":
    unittest.main()
