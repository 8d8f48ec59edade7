# SPDX-License-Identifier: Apache-2.0
# Standard output on a full disk: whatever is asked for, it did not arrive.
[ -c /dev/full ] || exit 77
for words in --help --version "sim --help" models "verify traces/alexnet_infer_b1.llt"; do
    echo "\$ leadline $words"
    # shellcheck disable=SC2086 # words are meant to be split
    leadline $words 2>&1 >/dev/full
    echo "[status $?]"
done
echo "\$ leadline record, when no file may grow beyond 8 kB"
(ulimit -f 8 && leadline record alexnet --dry-run --steps 1000000 -o limited.llt 2>&1)
echo "[status $?]"
leadline verify limited.llt >/dev/null 2>&1
echo "what could be written: [status $?]"
echo "\$ leadline record, the same, over a trace of before"
cp traces/alexnet_infer_b1.llt before.llt
(ulimit -f 8 && leadline record alexnet --dry-run --steps 1000000 -o before.llt 2>&1)
echo "[status $?]"
cmp before.llt traces/alexnet_infer_b1.llt
leadline verify before.llt.part >/dev/null 2>&1
echo "what could be written: [status $?]"
cat >sweep.yaml <<'END'
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
vary: {clock: [1GHz, 2GHz]}
objectives: [min time_s]
END
echo "\$ leadline sweep, the same"
(ulimit -f 8 && leadline sweep sweep.yaml -o limited.db 2>&1)
echo "[status $?]"
