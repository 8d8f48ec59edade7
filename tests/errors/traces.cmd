# SPDX-License-Identifier: Apache-2.0
# Files that are no trace, or no longer a whole one.
. ./try.sh
trace=traces/alexnet_train_b8.llt
size=$(wc -c <$trace)
: >empty.llt
echo "this is a text" >text.llt
head -c 10 $trace >ten_bytes.llt
head -c $((size - 1)) $trace >one_byte_short.llt
head -c $((size / 2)) $trace >half.llt
{ head -c $((size / 2)) $trace && printf X && tail -c +$((size / 2 + 2)) $trace; } >one_byte_wrong.llt
{ cat $trace && printf "more"; } >longer.llt
for bad in missing empty text ten_bytes one_byte_short half one_byte_wrong longer contradicting; do
    try verify $bad.llt
    try info --json $bad.llt >told
    grep -v "^.standard output. " told
done
try verify .
try sim -c custom_example half.llt
