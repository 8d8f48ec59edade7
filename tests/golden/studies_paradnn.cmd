# SPDX-License-Identifier: Apache-2.0
# Surveys from end to end: what their criteria say, their files are there.
leadline study P-T1 P-T2 P-T3 P5 -o figures >page 2>said
echo $? $(grep -c '^  PASS' page) $(grep -c '^  FAIL' page)
grep -E '^  FAIL|looks at' page
cat said
ls figures
