#!/usr/bin/env bash
# listed.sh SOURCE_FOLDER NAME... - every program of examples/cuda is named here, exists, is built by its
# CMakeLists.txt, and has its place in docs/examples-cuda.md; and there is no other.
set -uo pipefail
cd "$1/examples/cuda" || exit 1
shift
failed=0

complain() {
    echo "listed: $*" >&2
    failed=1
}

[ $# -eq 10 ] || complain "$# names, expected ten"
for name; do
    [ -f "$name.cu" ] || complain "examples/cuda/$name.cu is missing"
    grep -qw "$name" CMakeLists.txt || complain "$name is not in examples/cuda/CMakeLists.txt"
    grep -q "^## $name\$" ../../docs/examples-cuda.md || complain "$name has no section in docs/examples-cuda.md"
done
for file in *.cu; do
    grep -q '\bmain(' "$file" || continue
    [[ " $* " == *" ${file%.cu} "* ]] || complain "examples/cuda/$file is no test: see tests/examples/CMakeLists.txt"
done
exit $failed
