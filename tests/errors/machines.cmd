# SPDX-License-Identifier: Apache-2.0
# The gallery of bad machine files.
. ./try.sh
try machines v100
try machines nobody.yaml
try machines machines
for bad in machines/*.yaml; do try machines "$bad"; done
