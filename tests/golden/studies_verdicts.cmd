# SPDX-License-Identifier: Apache-2.0
# All studies that record nothing: no criterion fails, what is explained has its cause, its arithmetic and what is
# needed, and what is not judged says why.
studies=$(leadline study | awk 'NR > 1 && $1 !~ /^(F1|F2|F3|F4|F6|T2)$/ && $1 ~ /^[CFPT](-T)?[0-9]/ { print $1 }')
leadline study $studies -o here --figure software.svg --kind P12 --json >page.json 2>/dev/null
echo status $?
cmp software.svg here/P12.svg && cmp software-versions.svg here/P12-versions.svg && echo "a study's second figure goes beside its first"
awk -F'"' '
    $2 == "verdict" { n[$4]++ }
    $2 == "cause" && $4 ~ /^(paper_contradicts_itself|paper_contradicts_its_code|assumption)$/ { cause++ }
    $2 == "arithmetic" && $4 ~ /[0-9]/ { arithmetic++ }
    $2 == "needed" && $4 ~ /, which gives .*[0-9]/ { needed++ }
    $2 == "why_no_criterion" && length($4) > 20 { why++ }
    $2 == "id" { studies++ }
    END {
        print studies, "studies,", n["FAIL"] + 0, "criteria fail"
        if (n["PASS"] > 300) print "more than 300 hold"; else print "few hold:", n["PASS"]
        e = n["EXPLAINED"]
        if (e > 0 && cause == e && arithmetic == e && needed == e)
            print "all that are explained have cause, arithmetic and what is needed"
        else print e, "explained:", cause, "causes,", arithmetic, "arithmetics,", needed, "needed"
        if (why == n["INFO"]) print "all that are not judged say why"; else print n["INFO"], "not judged,", why, "say why"
    }' page.json
python3 traces/../tests/figures/labels.py here/*.svg && echo "no label of a figure lies on another"
