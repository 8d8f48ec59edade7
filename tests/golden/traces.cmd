# SPDX-License-Identifier: Apache-2.0
# The samples in traces/ hold what the commands of their README record today.
while IFS="|" read -r _ name command _; do
    case $name in *.llt*)
        trace=$(echo "$name" | tr -d "\` ")
        leadline record --dry-run $(echo "$command" | tr -d "\`") -o again.llt >record.out &&
            leadline dump again.llt >again && leadline dump traces/"$trace" >kept &&
            cmp again kept && echo "$trace is as recorded today" ;;
    esac
done <traces/README.md
