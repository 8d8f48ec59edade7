#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The packages, from nothing, on Debian 12: built by ./do package, installed by apt, used as a stranger would.
exec "$(dirname "$0")/debian.sh" bookworm './do package &&
    apt-get install -y -qq --no-install-recommends ./build/debian/*.deb man-db bash-completion g++ >/dev/null &&
    tests/platforms/installed.sh'
