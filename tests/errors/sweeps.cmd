# SPDX-License-Identifier: Apache-2.0
# Sweep files with mistakes: each is named by what is wrong with it.
. ./try.sh
for file in sweeps/*.yaml; do
    try sweep --dry-run "$file"
done
