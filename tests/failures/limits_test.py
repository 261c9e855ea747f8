"""More PEs than the machine can map, or than the user may start: an error in words.

    limits_test.py NVSRUN WORKLOAD [unittest arguments]
"""

import os
import resource
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
from harness import PE as WORKLOAD, Case  # noqa: E402


class Limits(Case):
    def with_address_space(self, npes, mebibytes):
        limit = mebibytes << 20
        return self.finish(self.start(
            f"-n {npes} --bind none", [WORKLOAD, "1", "50"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))))

    def test_address_space(self):
        result = self.with_address_space(40, 500)
        self.assertEqual(result.status, 1, result.err)
        self.assertRegex(result.err, r"nvs: (PE \d+: )?init: cannot map the control memory of a job of 40 PEs, "
                         r"\d+ bytes: Cannot allocate memory \(see 'ulimit -v', or start fewer PEs\)")

    def test_little_address_space_is_shared_out(self):
        """What is left is enough for smaller heaps."""
        result = self.with_address_space(2, 6000)
        self.assertEqual((result.status, result.err), (0, ""))


if __name__ == "__main__":
    unittest.main()
