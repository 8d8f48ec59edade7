#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A page with hostile names, opened and used in a browser: page.sh VIEW LEADLINE SOURCE [SHOTS]. 77 where there is no
# chromium, node or the modules playwright-core and axe-core (in PAGE_MODULES, or found by npm -g). SHOTS: a folder
# for pictures of what is seen.
set -eu
view=$1 leadline=$2 source=$3
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
name="$here/a \"q\" \$x <b class=hostile>.llt"
cp "$source/traces/alexnet_train_b8.llt" "$name"
case $view in
    sim)
        "$leadline" sim -c h100_sxm -c v100_sxm_16gb -c quad_core_example --batch 16 --html "$here/page.html" "$name" >/dev/null
        ;;
    sweep)
        cat >"$here/sweep.yaml" <<'END'
name: "<b class=hostile>arrays</b>"
base: custom_example
models: [{name: alexnet, mode: infer, batch: 4}]
dtype: bf16
vary:
  units.array.rows: [16, 32, 64, 128, 256]
  memory.sram.size: {from: 512KiB, to: 32MiB, times: 2}
  memory.hbm: {"<b class=hostile>two": {bandwidth: 200GB/s}, eight: {bandwidth: 800GB/s}}
constraints: [area_mm2 <= 60]
objectives: [min time_s, max throughput, min area_mm2]
END
        "$leadline" sweep "$here/sweep.yaml" -o "$here/r.db" >/dev/null
        "$leadline" pareto "$here/r.db" --html "$here/page.html" >/dev/null
        "$leadline" pareto "$here/r.db" --json >"$here/expected.json"
        ;;
    plan)
        "$leadline" record --dry-run --train --batch 1 -o "$name" -p layers=8 -p hidden=512 -p heads=8 -p seq=128 gpt >/dev/null
        "$leadline" plan -c dgx_a100 --set network.nvlink.bandwidth=2GB/s --devices 8 --batch 32 --simulate 40 \
            --html "$here/page.html" "$name" >/dev/null
        ;;
    compare)
        "$leadline" compare -c h100_sxm -c v100_sxm_16gb --html "$here/page.html" "$name" \
            "$source/traces/alexnet_train_b8.llt" >/dev/null
        ;;
    info)
        "$leadline" info --html "$here/page.html" "$name" >/dev/null
        ;;
    validate)
        sed '1!s/^[^,]*/<b class=hostile>/' "$source/tests/validation/measured_h200.csv" >"$here/<b class=hostile>.csv"
        "$leadline" validate --html "$here/page.html" "$here/<b class=hostile>.csv" >/dev/null
        "$leadline" validate --json "$here/<b class=hostile>.csv" >"$here/expected.json"
        ;;
    study)
        "$leadline" study P-T2 C7 -o "$here/studies" --html "$here/page.html" >/dev/null 2>&1
        ;;
    serve)
        printf 'inherits: h100_sxm+vllm\n' >"$here/<b class=hostile>.yaml"
        serve() {
            "$leadline" serve -c "$here/<b class=hostile>.yaml" --model qwen3-8b --prefill '1 x tp=1' --decode '2 x tp=1' \
                --rate 12 --input-tokens 200-2000 --output-tokens 20-150 --num-prompts 120 --ttft 300ms "$@"
        }
        serve --html "$here/page.html" >/dev/null
        serve --json >"$here/expected.json"
        ;;
esac
EXPECTED=$here/expected.json node "$(dirname "$0")/$view.mjs" "$browser" "$here/page.html" ${4:+"$4"}
