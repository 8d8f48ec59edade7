#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh [SUITE...]: the packages, from nothing, on Debian 12 and 13: built by ./do package on one fresh system,
# installed by apt on another, which has none of what they were built with, and used there as a stranger would.
set -eu
debian=$(dirname "$0")/debian.sh
roots=$(cd "$(dirname "$0")/../.." && pwd)/build/platforms
[ $# -gt 0 ] || set -- bookworm trixie
for suite; do
    "$debian" "$suite" './do package' || exit
    rm -rf "$roots/$suite.packages"
    mkdir "$roots/$suite.packages"
    cp "$roots/$suite.fresh/leadline/build/debian/"*.deb "$roots/$suite.packages"
    "$debian" "$suite" '
        export DEBIAN_FRONTEND=noninteractive
        add="apt-get install -y -qq --no-install-recommends"
        apt-get update -qq
        cp given/*.deb /tmp
        (cd /tmp && apt-get install -y -qq ./*.deb) >/tmp/log 2>&1 || { cat /tmp/log && exit 1; }
        $add man-db bash-completion zsh fish cmake g++ make pkg-config python3-pandas python3-matplotlib >/tmp/log 2>&1 ||
            { cat /tmp/log && exit 1; }
        # Its second major version asks for a newer Node.js than Debian 13 has.
        { $add npm && npm install --global --silent yaml-language-server@1; } >/tmp/log 2>&1 ||
            { tail /tmp/log && echo "npm brings no yaml-language-server"; }
        tests/platforms/installed.sh' "$roots/$suite.packages" || exit
done
