# SPDX-License-Identifier: Apache-2.0
# A gather where the memory is of a known kind: whole bursts, and the efficiency of scattered rows.
leadline record --dry-run --train -o t.llt memnet >/dev/null 2>&1
seq=$(leadline dump t.llt | grep -m1 '"kind":"gather"' | sed 's/^{"seq":\([0-9]*\),.*/\1/')
leadline sim -c custom_example --set hbm.dram=gddr6 --set hbm.channels=32 --explain "$seq" t.llt
