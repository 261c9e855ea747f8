"""The command line of every tool: --help, its manual page and its completion agree.

Usage: tools_test.py help|man|bash|zsh SOURCE BUILD

--help is what the program says itself, so the others are compared with it, in both directions. The
build folder has the shape of an installed tree; pages are read from there, as man would find them.
Exit status 77: the program that this part needs is not here.
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PATIENCE = 60.0
SKIPPED = 77
SOURCE = BUILD = None
OSHMEM = "libexec/nvs/oshmem"


class Tool:
    """`complete`: the name of its completion files, "" if it has none. `own`: an option that only
    the tool itself can refuse; what shmemcc does not know goes to the compiler."""

    def __init__(self, name, complete, tree="", own="--no-such-option", version="--version"):
        self.name, self.complete, self.own, self.version = name, complete, own, version
        self.path = os.path.join(BUILD, tree, "bin", name)
        self.page = os.path.join(BUILD, tree, "share/man/man1", name + ".1")

    def run(self, *arguments):
        return subprocess.run([self.path, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE, env={**os.environ, "LC_ALL": "C"})


def tools():
    compiler = {"own": "--showme:no-such-option", "version": "--showme:version"}
    return [
        Tool("nvsrun", "nvsrun"),
        Tool("nvs-info", "nvs-info"),
        Tool("nvs-perf", "nvs-perf"),
        Tool("shmemrun", "shmemrun"),
        Tool("oshrun", "", OSHMEM),
        Tool("shmemcc", "shmemcc", **compiler),
        Tool("shmemc++", "shmemcc", **compiler),
        *(Tool(name, "", OSHMEM, **compiler) for name in ("oshcc", "oshc++", "oshcxx")),
    ]


def options_of_help(tool):
    """The options that --help lists: lines that begin with one, up to the description."""
    found = set()
    for line in tool.run("--help").stdout.splitlines():
        if re.match(r"  -", line):
            for part in re.split(r"\s{2,}", line.strip())[0].split(", "):
                option = re.match(r"--?[\w:+-]+", part.strip(" ,"))
                if option:
                    found.add(option.group(0))
    return found


def options_of_page(path):
    """The options that a page lists: the items that begin with a flag."""
    found = set()
    with open(path) as page:
        for line in page:
            if line.startswith(".It Fl "):
                found |= {"-" + flag for flag in re.findall(r"\bFl (\S+)", line)}
    return found


class Help(unittest.TestCase):
    def test_help(self):
        for tool in tools():
            with self.subTest(tool.name):
                result = tool.run("--help")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertRegex(result.stdout, rf"\AUsage: (nvsrun .* )?{re.escape(tool.name)} ")
                for heading in ("Examples", "Exit status"):
                    self.assertRegex(result.stdout, rf"(?m)^{heading}\b")
                for line in result.stdout.splitlines():
                    self.assertLessEqual(len(line), 100, line)
                    self.assertNotRegex(line, r"\t|\s$|@")
                options = options_of_help(tool)
                self.assertIn("--help", options)
                self.assertIn(tool.version, options)

    def test_accepted(self):
        """Every option that is listed is one: with a value of the kind named, --help follows."""
        values = {"N": "1", "S": "1", "DIR": "/"}
        for tool in tools():
            if tool.name not in ("nvsrun", "nvs-info"):
                continue
            for line in re.findall(r"(?m)^  (-\S.*?)(?:\s{2,}.*)?$", tool.run("--help").stdout):
                for option in line.split(", "):
                    name, *value = option.split()
                    value = [values.get(word, word.split("|")[0]) for word in value]
                    with self.subTest(f"{tool.name} {name}"):
                        result = tool.run(name, *value, "--help")
                        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_version(self):
        with open(os.path.join(SOURCE, "VERSION")) as file:
            version = file.read().strip()
        for tool in tools():
            with self.subTest(tool.name):
                result = tool.run(tool.version)
                self.assertEqual((result.returncode, result.stdout.strip(), result.stderr),
                                 (0, f"{tool.name} {version}", ""))

    def test_wrong_option(self):
        for tool in tools():
            with self.subTest(tool.name):
                result = tool.run(tool.own)
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual(result.stdout, "")
                self.assertIn(tool.own, result.stderr)
                self.assertIn("--help", result.stderr)


class Man(unittest.TestCase):
    def pages(self):
        folder = os.path.join(SOURCE, "man")
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                if re.search(r"\.[1-9]$", name)]

    def test_options(self):
        for tool in tools():
            with self.subTest(tool.name):
                listed = options_of_page(tool.page)
                self.assertTrue(listed, tool.page)
                self.assertEqual(sorted(listed), sorted(options_of_help(tool)))

    def test_names(self):
        """Who is looked up is in the NAME section, which apropos reads."""
        for tool in tools():
            with self.subTest(tool.name), open(tool.page) as page:
                self.assertRegex(page.read(), rf"(?m)^\.Nm {re.escape(tool.name)}( ,)?$")

    def test_references(self):
        """Our pages refer to each other; those that begin like ours must exist."""
        names = {os.path.basename(path) for path in self.pages()}
        for path in self.pages():
            with self.subTest(path), open(path) as page:
                for name, section in re.findall(r"(?m)^\.(?:It )?Xr (\S+) (\d)", page.read()):
                    self.assertIn(f"{name}.{section}", names)

    def test_lint(self):
        checkers = {"mandoc": ["-T", "lint", "-W", "warning"],
                    "groff": ["-ww", "-mdoc", "-Tutf8", "-z"]}
        available = [name for name in checkers if shutil.which(name)]
        if not available:
            self.skipTest("neither mandoc nor groff is here")
        for name in available:
            for path in self.pages():
                with self.subTest(f"{name} {path}"):
                    result = subprocess.run([name, *checkers[name], path], capture_output=True,
                                            text=True, timeout=PATIENCE)
                    self.assertEqual((result.stdout, result.stderr), ("", ""))


# Sources a file of completion and asks the function that it registers for $1, whose command line is
# the other arguments; the last is the word under the cursor.
BASH_ASK = """
source "$1" || exit
shift
registered=$(complete -p "$1") || exit
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$LINE COMP_POINT=${#LINE}
"$(sed 's/.*-F \\([^ ]*\\).*/\\1/' <<<"$registered")" "$1" "${!#}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Bash(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, mode in (("data.txt", 0o644), ("data file", 0o644), ("program", 0o755)):
            path = os.path.join(self.folder.name, name)
            with open(path, "w"):
                os.chmod(path, mode)
        os.mkdir(os.path.join(self.folder.name, "directory"))

    def file_of(self, complete):
        return os.path.join(SOURCE, "completion", complete + ".bash")

    def ask(self, complete, *words, line=None):
        """What bash would offer for the last word; words as bash breaks them (also at = and :)."""
        env = {**os.environ, "LINE": line or " ".join(words), "NVS_TEST_COMPLETION": "1",
               "PATH": os.path.join(BUILD, "bin") + ":" + os.environ["PATH"]}
        result = subprocess.run(["bash", "--norc", "-c", BASH_ASK, "bash", self.file_of(complete),
                                 *words], cwd=self.folder.name, env=env, capture_output=True,
                                text=True, timeout=PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return sorted(line for line in result.stdout.splitlines() if line)

    def test_options(self):
        for tool in tools():
            if tool.complete:
                with self.subTest(tool.name):
                    offered = self.ask(tool.complete, tool.name, "-")
                    self.assertEqual(offered, sorted(options_of_help(tool)))

    def test_nvsrun(self):
        ask = lambda *words, **more: self.ask("nvsrun", "nvsrun", *words, **more)
        self.assertEqual(ask("--no"), [])
        self.assertEqual(ask("--t"), ["--tag-output", "--timeout"])
        self.assertEqual(ask("--bind", ""), ["core", "none"])
        self.assertEqual(ask("--bind", "=", ""), ["core", "none"])
        self.assertEqual(ask("--bind", "="), ["core", "none"])
        self.assertEqual(ask("--on-loss", "c"), ["continue"])
        self.assertEqual(ask("-n", ""), [])
        self.assertEqual(ask("-n", "4", "nvs-inf"), ["nvs-info"])
        self.assertEqual(ask("-n", "4", "--bind", "=", "none", "nvs-inf"), ["nvs-info"])
        self.assertEqual(ask("-n", "4", "./pro"), ["./program"])
        self.assertEqual(ask("-n", "4", "./dir"), ["./directory"])
        self.assertEqual(ask("-n", "4", "./program", "da"), ["data file", "data.txt"])
        self.assertEqual(ask("-n", "4", "./program", "--bi"), [], "options of the program")

    def test_nvs_info(self):
        ask = lambda *words: self.ask("nvs-info", "nvs-info", *words)
        self.assertEqual(ask("--sy"), ["--sysroot", "--system"])
        self.assertEqual(ask("--sysroot", "d"), ["directory"])
        self.assertEqual(ask("--sysroot", "=", "d"), ["directory"])
        self.assertEqual(ask("--json", "--va"), ["--variables"])

    def test_shmemcc(self):
        ask = lambda *words, **more: self.ask("shmemcc", "shmemcc", *words, **more)
        self.assertEqual(ask("da"), ["data file", "data.txt"])
        self.assertEqual(ask("--showme:l", line="shmemcc --showme:l"), ["libdirs", "libs", "link"])
        self.assertIn("--showme:link", ask("--showme", line="shmemcc --showme"))

    def test_shmemrun(self):
        ask = lambda *words: self.ask("shmemrun", "shmemrun", *words)
        self.assertEqual(ask("--bind-to", "h"), ["hwthread"])
        self.assertEqual(ask("-x", "NVS_TEST_COMP"), ["NVS_TEST_COMPLETION"])
        self.assertEqual(ask("-x", "A", "=", "b", "-n", "2", "nvs-inf"), ["nvs-info"])
        self.assertEqual(ask("--mca", "a", "b", "nvs-inf"), ["nvs-info"])
        self.assertEqual(ask("-wd", "d"), ["directory"])
        self.assertEqual(ask("./program", "da"), ["data file", "data.txt"])

    def test_terminal(self):
        """The key itself, in a bash on a terminal."""
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.update(PS1="ready> ", TERM="dumb", INPUTRC="/dev/null")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        try:
            os.write(fd, f"source {self.file_of('nvsrun')}\n".encode())
            os.write(fd, b"nvsrun -n 2 --tag\t")
            seen, end = b"", time.monotonic() + PATIENCE
            while b"nvsrun -n 2 --tag-output " not in seen:
                self.assertGreater(end, time.monotonic(), seen)
                if select.select([fd], [], [], 1)[0]:
                    seen += os.read(fd, 4096)
        finally:
            os.close(fd)
            os.kill(pid, 9)
            os.waitpid(pid, 0)


# Sources a file of completion with the functions replaced that it hands its specifications to.
ZSH_ASK = "_arguments() { print -rl -- \"$@\" }; source $1"


class Zsh(unittest.TestCase):
    def zsh(self, *arguments):
        result = subprocess.run(["zsh", "-f", *arguments], capture_output=True, text=True,
                                timeout=PATIENCE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def path(self, complete):
        return os.path.join(SOURCE, "completion", "_" + complete)

    def test_syntax(self):
        for tool in tools():
            if tool.complete:
                with self.subTest(tool.name), open(self.path(tool.complete)) as file:
                    first = file.readline().split()
                    self.assertEqual(first[0], "#compdef")
                    self.assertIn(tool.name, first[1:])
                    self.zsh("-n", self.path(tool.complete))

    def test_options(self):
        for tool in tools():
            if not tool.complete:
                continue
            with self.subTest(tool.name):
                found = set()
                for spec in self.zsh("-c", ZSH_ASK, "zsh", self.path(tool.complete)).splitlines():
                    option = re.match(r"(?:\([^)]*\))?\*?(--?(?:\\:|[\w+-])+)[=+-]?\[", spec)
                    if option:
                        found.add(option.group(1).replace("\\:", ":"))
                self.assertEqual(sorted(found), sorted(options_of_help(tool)))


def main():
    global SOURCE, BUILD
    part, SOURCE, BUILD = sys.argv[1:4]
    if part in ("bash", "zsh") and not shutil.which(part):
        print(f"{part} is not here")
        return SKIPPED
    parts = {"help": Help, "man": Man, "bash": Bash, "zsh": Zsh}
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(parts[part])
    return not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
