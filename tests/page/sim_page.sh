#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `sim --html`, with hostile names, opened and used in a browser: sim_page.sh LEADLINE SOURCE. 77 where
# there is no chromium, node or the modules playwright-core and axe-core (in PAGE_MODULES, or found by npm -g).
set -eu
browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || { echo "there is no chromium" && exit 77; }
command -v node >/dev/null || { echo "there is no node" && exit 77; }
: "${PAGE_MODULES:=$(npm root -g 2>/dev/null || echo /usr/lib/node_modules)}"
export PAGE_MODULES
for module in playwright-core axe-core; do
    [ -d "$PAGE_MODULES/$module" ] || [ -d "$PAGE_MODULES/node_modules/$module" ] ||
        { echo "there is no module $module in $PAGE_MODULES" && exit 77; }
done
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
name="$here/a \"q\" <b class=hostile>.llt"
cp "$2/traces/alexnet_train_b8.llt" "$name"
"$1" sim -c h100_sxm -c v100_sxm_16gb -c i7_6700k --html "$here/page.html" "$name" >/dev/null
node "$(dirname "$0")/sim_page.mjs" "$browser" "$here/page.html" ${3:+"$3"}
