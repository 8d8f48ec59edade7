#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our scripts give no cause for complaint to shellcheck, where that is installed.
cd "$(dirname "$0")/../.." || exit 1
command -v shellcheck >/dev/null || {
    echo "shellcheck is not installed"
    exit 77
}
# shellcheck disable=SC2046 # names without blanks
shellcheck -e SC2086,SC2016 ./do .ci/run $(find tests -name '*.sh')
