#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each primitive of oneDNN, forward and on the way back, is an op with a meaning: primitives.sh LEADLINE PRIMITIVES
leadline=$1 primitives=$2 failed=0
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
# shellcheck source=tests/foreign/expect.sh
. "$(dirname "$0")/expect.sh"

said=$("$leadline" record -o "$here/t.llt" -- "$primitives" 2>/dev/null)
expect $? 5 "the program's own exit status"
expect "$said" "done" "its own output"
"$leadline" dump "$here/t.llt" >"$here/ops"
count() { grep -c "\"kind\":\"$1\"$2" "$here/ops"; }

expect "$(count opaque)" 0 "calls of which nothing is known"
for ops in 1:conv2d 1:conv2d_data_grad 1:conv2d_filter_grad 1:matmul_add 1:add 1:batch_norm 1:batch_norm_grad \
    1:batch_norm_inference 2:normalize_channels 1:normalize_channels_grad 2:normalize 2:normalize_grad \
    1:max_pool_places 1:max_pool_places_grad 1:avg_pool 1:avg_pool_grad 2:relu 1:relu_grad 2:tanh 1:tanh_grad \
    2:gelu 1:gelu_grad 2:eltwise 1:eltwise_grad 2:softmax 2:softmax_grad 1:recurrent 1:recurrent_grad 1:lrn \
    1:lrn_data_grad 1:prelu 1:prelu_grad 1:resize_nearest 1:resize_nearest_grad 1:resize_linear \
    1:resize_linear_grad 1:mul 1:reduction 2:copy 1:concat 1:add_n 2:reorder 1:abs; do
    expect "$(count "${ops#*:}")" "${ops%:*}" "ops ${ops#*:}"
done
flops() { sed -n "s/.*\"kind\":\"$1\".*\"flops\":\([0-9]*\).*/\1/p" "$here/ops"; }
expect "$(flops conv2d)" $((2 * 2 * 6 * 6 * 8 * 8 * 9)) "FLOPs of a convolution"
expect "$(flops recurrent)" $((2 * 3 * 2 * (4 + 5) * 4 * 5)) "FLOPs of an LSTM: each weight, sample and step"
expect "$(flops recurrent_grad)" $((2 * 2 * 3 * 2 * (4 + 5) * 4 * 5)) "FLOPs of the way back"
expect "$(count '\(conv2d\|matmul_add\)' '.*"post_ops":2')" 2 "ops with two operations behind them"
expect "$(count reorder '.*"bytes_read":1152,.*"edges":\[.*"data"')" 1 "movements of such a part"
for machine in v100_sxm_16gb+archive/deepbench a100_sxm_40gb+pytorch tpu_v3 e5_2630v3_2s; do
    "$leadline" sim -c $machine "$here/t.llt" >/dev/null
    expect $? 0 "a simulation on $machine"
done
exit $failed
