# SPDX-License-Identifier: Apache-2.0
# Criteria that hold and those that do not: all from dry runs.
leadline study C-T1 C-T2 C-T3 C-T4 C9 C12 -o here 2>/dev/null >page
echo $?
grep -E '^  +(PASS|FAIL|EXPLAINED|INFO) |^[0-9]+ studies' page
