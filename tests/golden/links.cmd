# SPDX-License-Identifier: Apache-2.0
# Whatever is written behind a symbolic link, which may point to nothing yet, is written where the link points; and
# what a program says does not get into its files when its streams are closed.
cat >sweep.yaml <<'END'
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
vary: {clock: [1GHz, 2GHz]}
objectives: [min time_s]
END
printf 'source,hardware,op,dtype,dims,time_s,notes\ns,custom_example,gemm,fp32,m=64;n=64;k=64,0.001,\n' >rows.csv
mkdir elsewhere

# behind NAME COMMAND...: once to nothing, once to a file that is there.
behind() {
    name=$1 && shift
    ln -s "elsewhere/$name" "$name"
    for time in first second; do
        [ "$time" = first ] || [ "${name##*.}" != db ] || continue # a database is gone on with
        leadline "$@" >/dev/null 2>said || { echo "$name, $time: status $?" && cat said; }
        [ -L "$name" ] || echo "$name is no link any more"
        [ -s "elsewhere/$name" ] || echo "elsewhere/$name was not written"
    done
}
behind trace.llt record autoenc --dry-run --steps 2 -o trace.llt
behind exported.json export timeline -c custom_example traces/alexnet_infer_b1.llt -o exported.json
behind exported.csv export csv -c custom_example traces/alexnet_infer_b1.llt -o exported.csv
behind imported.llt import csv elsewhere/exported.csv -o imported.llt
behind roof.svg sim -c custom_example traces/alexnet_infer_b1.llt --figure roof.svg
behind rows_out.csv validate rows.csv --rows rows_out.csv
behind sweep.db sweep sweep.yaml -o sweep.db
behind merged.db merge sweep.db -o merged.db
behind page.html pareto sweep.db --html page.html
# Whether it can be written is tried before anything is done, and leaves nothing behind.
ln -s elsewhere/fitted.yaml fitted.yaml
leadline calibrate --from rows.csv --machine custom_example -o fitted.yaml >/dev/null 2>&1
[ -L fitted.yaml ] || echo "fitted.yaml is no link any more"
leadline sweep sweep.yaml -o sweep.db --fresh >/dev/null 2>&1
[ -L sweep.db ] || echo "sweep.db is no link any more"
ls -A . elsewhere | grep -e part -e unfinished -e tmp

for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
    rm -f closed.llt
    (eval "leadline record autoenc --steps 2 -o closed.llt $closed") >/dev/null 2>&1
    echo "$closed: status $?"
    leadline verify closed.llt
done

# What is no ordinary file is written in place, and not read again; a database cannot be one, and none is waited for.
mkfifo pipe
cat pipe >through.llt &
leadline import csv elsewhere/exported.csv -o pipe 2>&1
wait
leadline verify through.llt
for words in "sweep sweep.yaml -o pipe" "sweep sweep.yaml -o /dev/null" "pareto pipe" "merge pipe -o m.db"; do
    # shellcheck disable=SC2086 # words are meant to be split
    timeout 60 leadline $words 2>&1
    echo "$words: status $?"
done
