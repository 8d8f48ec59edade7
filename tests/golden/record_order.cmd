# SPDX-License-Identifier: Apache-2.0
# The ops of every workload, in order: the same whichever compiler built the program.
leadline models --json | sed -n 's/^ *"name": "\(.*\)",$/\1/p' | while read -r model; do
    leadline record "$model" --train --dry-run --batch 4 -o step.llt >/dev/null 2>&1 || continue
    echo "$model $(leadline dump step.llt | cksum)"
done
