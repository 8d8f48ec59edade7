# SPDX-License-Identifier: Apache-2.0
leadline sim -c i7_6700k -c v100_sxm_16gb+archive/deepbench -c tpu_v2_core -c custom_example traces/alexnet_train_b8.llt
# Two files of one name are told apart by their paths.
mkdir a b
printf 'inherits: custom_example\nname: A\n' >a/mine.yaml
printf 'inherits: custom_example\nname: B\nclock: 2GHz\n' >b/mine.yaml
leadline sim -c a/mine.yaml -c b/mine.yaml traces/alexnet_infer_b1.llt
leadline sim -c a/mine.yaml -c b/mine.yaml --json traces/alexnet_infer_b1.llt | grep '"machine"'
