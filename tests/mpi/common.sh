# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
# What the tests of leadline-mpi share: a space, a run, a comparison. Sourced with LEADLINE in $1; leaves $here, $program,
# $mpi and $space behind.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
program=$1
mpi=$program-mpi
for tool in mpirun sqlite3; do
    command -v $tool >/dev/null || { echo "there is no $tool" && exit 77; }
done
[ -x "$mpi" ] || { echo "leadline-mpi was not built: there was no MPI" && exit 77; }
here=$(mktemp -d)
space=$here/space.yaml
cat >"$space" <<'END'
name: arrays
base: custom_example
models: [{name: alexnet, mode: infer, batch: 1}]
vary:
  units.array.rows: {from: 16, to: 160, by: 16}
  units.array.cols: {from: 16, to: 160, by: 16}
  memory.sram.size: {from: 64KiB, to: 32MiB, times: 2}
  memory.hbm.bandwidth: [100GB/s, 200GB/s, 400GB/s]
objectives: [min time_s, min area_mm2]
END

# rows DB: everything that was found, in order.
rows() {
    sqlite3 "$1" "SELECT * FROM points ORDER BY number; SELECT * FROM results ORDER BY point, workload"
}

# same ONE.db OTHER.db WHAT
same() {
    rows "$1" >"$here/one"
    rows "$2" >"$here/other"
    cmp "$here/one" "$here/other" || { echo "$3: not the same results" && exit 1; }
    echo "$3: $(sqlite3 "$2" 'SELECT count(*) FROM points') points, the same"
}
