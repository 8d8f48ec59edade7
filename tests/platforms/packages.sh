#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The packages, from nothing, on Debian 12 and 13: built by ./do package, installed by apt, used as a stranger would.
for suite in bookworm trixie; do
    "$(dirname "$0")/debian.sh" "$suite" './do package &&
        apt-get install -y -qq --no-install-recommends ./build/debian/*.deb man-db bash-completion zsh fish g++ \
            python3-pandas python3-matplotlib >/dev/null &&
        tests/platforms/installed.sh' || exit
done
