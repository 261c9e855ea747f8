#!/usr/bin/env bash
# environment_doc.sh - the table of variables in docs/environment.md is that of src/config.def.
exec "$(dirname "$(readlink -f "$0")")/../gen_environment_doc.sh" --check
