# SPDX-License-Identifier: Apache-2.0
# A study made of dry runs alone: nothing of it depends on the machine.
leadline study F-T2 -o here
cat here/F-T2.csv
ls here
leadline study F-T2 T-T4 -o here 2>/dev/null | tail -1
leadline study F1 F-T2 --quick -o quick 2>/dev/null | grep -E 'SKIPPED|skipped'
ls quick
