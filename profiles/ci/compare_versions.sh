#!/usr/bin/env bash
# Whether a version of a package is worse than another, in the rows that somebody watches.
#
#   profiles/ci/compare_versions.sh PACKAGE OLD NEW ROWS [CONFIGFILE]
#
# Exit status: 0 it is not, 1 it is (standard error names the rows), 2 it could not be told (in one line, why).
# RELEVANT is the smallest change to name, in percent (3).
# The page lies in results/bumps/. On a clean checkout both versions are measured, their processes in turn.
set -euo pipefail
if [ $# -lt 4 ]; then
    echo "usage: $0 PACKAGE OLD NEW ROWS [CONFIGFILE]" >&2
    exit 2
fi
if [ -z "${PYTHON:-}" ]; then
    make .venv/ready >&2 || exit 2
fi
exec "${PYTHON:-.venv/bin/python}" scripts bump_version "$1==$3" --from "$2" --rows "$4" --fail \
    --relevant "${RELEVANT:-3}" --configfile "${5:-config/quick.yaml}"
