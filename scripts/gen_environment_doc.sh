#!/usr/bin/env bash
# gen_environment_doc.sh [--print | --check] - keeps the table in docs/environment.md true.
#
# The table is what the library itself prints about src/config.def. Without an option the part of the
# page between its two marks is replaced; --print writes the table to standard output; --check says
# whether the page is up to date and changes nothing (for lint).
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

page=docs/environment.md
begin='<!-- table: written by scripts/gen_environment_doc.sh -->'
end='<!-- end of the table -->'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Straight from the sources: needs no build folder, only a compiler.
cat >"$scratch/print.c" <<'C'
#include "config.h"
int main(void)
{
    nvsi_config_print_markdown(stdout);
    return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Isrc "$scratch/print.c" src/config.c src/config_print.c \
    src/util/parse.c src/util/closest.c -o "$scratch/print"
"$scratch/print" >"$scratch/table"

[ "${1:-}" = --print ] && exec cat "$scratch/table"

for mark in "$begin" "$end"; do
    grep -qxF -e "$mark" "$page" || {
        echo "$page:1: the line '$mark' is missing" >&2
        exit 1
    }
done
awk -v begin="$begin" -v end="$end" -v table="$scratch/table" '
    $0 == begin { print; while ((getline line < table) > 0) print line; inside = 1 }
    $0 == end { inside = 0 }
    !inside && $0 != begin { print }' "$page" >"$scratch/page"

if cmp -s "$scratch/page" "$page"; then
    exit 0
elif [ "${1:-}" = --check ]; then
    echo "$page:1: differs from src/config.def: run scripts/gen_environment_doc.sh" >&2
    exit 1
fi
cat "$scratch/page" >"$page"
echo "$page: updated"
