# SPDX-License-Identifier: Apache-2.0
# A regression of 5 % that is planted in one kind of a training step is found and named first.
leadline sim -c i7_6700k --json --per-op traces/alexnet_train_b8.llt >a.json
awk '/"by_kind"|"ops"/ { on = 1 } /"what_if"|"config"/ { on = 0 } /"kind":/ { hit = on && /"conv2d_data_grad"/ }
    hit && /"time_s":/ { match($0, /[0-9.e+-]+,/); $0 = sprintf("\"time_s\": %.17g,", 1.05 * substr($0, RSTART, RLENGTH - 1)) }
    { print }' a.json >b.json
leadline compare a.json b.json
leadline compare a.json b.json --json --fail-above kind:4% | sed -n '/contributions/,/}/p; /failures/,$p'
leadline compare -c custom_example traces/alexnet_train_b8.llt a.json --top 2 | head -5
leadline compare a.json a.json --fail-above 0% --fail-above op:0% | sed -n 4p
