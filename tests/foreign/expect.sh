#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For scripts that count what went wrong and go on, to be sourced: sets `failed`, their exit status.
# shellcheck disable=SC2034

expect() { # what is there, what was expected, of what
    [ "$1" = "$2" ] && return
    echo "$3: $1, expected $2"
    failed=1
}
