# SPDX-License-Identifier: Apache-2.0
# A mistake far right in a long line, in one that would do something to a terminal, and a number below zero.
. ./try.sh
{ printf 'name: x\nunits: ' && awk 'BEGIN { while (i++ < 5000) printf "[" }' && echo; } >deep.yaml
printf 'name: "\303\244" # \033[2J \377\nclock: fast\n' >terminal.yaml
printf 'name: x\nunits: [{name: u, model: vector, lanes: 4, flops: {f32: -2, f64: 1e999, i32: two}}]\n' >numbers.yaml
for bad in deep terminal numbers; do
    try machines $bad.yaml
done
