#!/usr/bin/env bash
# gen_environment_doc.sh [--print | --check] - keeps the lists of variables in the documents true.
#
# They are what the library itself prints about src/config.def: a table in docs/environment.md, and
# the same as mdoc in man/nvs-environment.7. Without an option the part of each page between its two
# marks is replaced; --print writes the table to standard output; --check says whether the pages are
# up to date and changes nothing (for lint).
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

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

# The rows of the table, whose cells are names, what is taken, the default and the meaning.
awk -F ' [|] ' 'NR > 2 {
    names = substr($1, 3)
    meaning = $4
    sub(/ \|$/, "", meaning)
    gsub(/`/, "", names)
    gsub(/`/, "", $3)
    gsub(/\\/, "\\e", meaning)
    gsub(/\. /, ".\n", meaning) # a sentence begins on a line of its own
    n = split(names, name, "<br>")
    printf ".It Ev %s\n%s\n.br\nTakes %s.\nDefault:\n.Cm %s .\n", name[1], meaning, $2, $3
    for (i = 2; i <= n; i++)
        printf "%s.Ev %s%s\n", i == 2 ? "Also\n" : "", name[i], i < n ? " ," : " ."
}' "$scratch/table" >"$scratch/mdoc"

# page_update PAGE BEGIN END CONTENT - replaces what is between two lines of a page.
page_update() {
    local page=$1 begin=$2 end=$3 content=$4 mark
    for mark in "$begin" "$end"; do
        grep -qxF -e "$mark" "$page" || {
            echo "$page:1: the line '$mark' is missing" >&2
            return 1
        }
    done
    # Through the environment: an assignment by -v would eat the backslash of a roff comment.
    begin=$begin end=$end awk -v content="$content" '
        $0 == ENVIRON["begin"] {
            print
            while ((getline line < content) > 0) print line
            inside = 1
        }
        $0 == ENVIRON["end"] { inside = 0 }
        !inside && $0 != ENVIRON["begin"] { print }' "$page" >"$scratch/page"
    if cmp -s "$scratch/page" "$page"; then
        return 0
    elif [ "$mode" = --check ]; then
        echo "$page:1: differs from src/config.def: run scripts/gen_environment_doc.sh" >&2
        return 1
    fi
    cat "$scratch/page" >"$page"
    echo "$page: updated"
}

mode=${1:-}
failed=0
page_update docs/environment.md '<!-- table: written by scripts/gen_environment_doc.sh -->' \
    '<!-- end of the table -->' "$scratch/table" || failed=1
page_update man/nvs-environment.7 '.\" list: written by scripts/gen_environment_doc.sh' \
    '.\" end of the list' "$scratch/mdoc" || failed=1
exit $failed
