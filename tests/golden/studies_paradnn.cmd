# SPDX-License-Identifier: Apache-2.0
# Surveys from end to end: their criteria hold, their files are there.
leadline study P-T2 P-T3 P5 -o figures >page 2>said
echo $? $(grep -c '^  PASS' page) $(grep -c '^  FAIL' page)
cat said
ls figures
