# SPDX-License-Identifier: Apache-2.0
# Formats and rows that there are not, or of which only one can count.
T=traces/alexnet_infer_b1.llt
leadline info --format xml $T
leadline info --json --format csv $T
leadline info --json --format json $T >/dev/null && echo "the same twice is one"
leadline info --json --top 3 $T
leadline info --top 0 $T
leadline info --color red $T
leadline verify --top 3 $T
leadline dump --format csv $T
