# SPDX-License-Identifier: Apache-2.0
t=traces/alexnet_train_b8.llt
leadline sim -c i7_6700k -c custom_example --json $t >two.json
leadline sim -c i7_6700k --json $t >one.json
exec 2>&1
leadline compare $t
leadline compare $t $t
leadline compare $t custom_exampel
leadline compare nothing nowhere
leadline compare two.json $t -c i7_6700k --fail-above 3
leadline compare two.json one.json
leadline compare two.json one.json -c tpu_v1
leadline compare one.json custom_example
leadline compare one.json one.json --fail-above scope:3%
echo '{"schema": 1}' >empty.json; leadline compare empty.json one.json
echo '{"results": [{"machine": 3}]}' >bad.json; leadline compare bad.json one.json
leadline compare $t $t -c custom_example -c i7_6700k -c i7_6700k
leadline compare $t $t -c i7_6700k -c custom_example --fail-above 1% | tail -1
echo "status $?"
leadline sim -c i7_6700k --check 'time <= 5ms' $t
leadline sim -c i7_6700k --check 'time_s <= 5MB' $t >one.txt
leadline sim -c i7_6700k --check 'time_s <= 5ms' --check 'by_kind.adam.share < 0.1 or memory.fits == 0' $t >one.txt
echo "status $?"
leadline sim -c i7_6700k --check 'time_s <= 5s and share.dram > 0.1' $t >one.txt
echo "status $?"
