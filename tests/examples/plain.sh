#!/usr/bin/env bash
# plain.sh NVCC BUILD NAME - an example builds with the command that its first lines give: nvcc, its
# sources, and where nvs is. Warnings of whatever kind are errors.
set -euo pipefail
nvcc=$1 build=$2 name=$3
source=$(dirname "$(readlink -f "$0")")/../../examples/cuda
options=()
[[ $name == *_rdc ]] && options=(-rdc=true)
sources=("$source/${name%_rdc}"*.cu)

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$nvcc" "${sources[@]}" "${options[@]}" -Werror all-warnings -I "$build/include" -L "$build/lib" -lnvs -o "$out/$name"
LD_LIBRARY_PATH=$build/lib "$out/$name" --help
