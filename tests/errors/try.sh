# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2069 # standard error alone is wanted
# try ARGUMENTS: what leadline says to a mistake (standard error), whatever it prints all the same (nothing, one
# hopes), and its status.
try() {
    echo "\$ leadline $*"
    leadline "$@" 2>&1 >printed
    echo "[status $?]"
    [ ! -s printed ] || sed 's/^/[standard output] /' printed
    echo
}
