#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154 # common.sh is read when this runs, and says what program, mpi, space and here are
# A job array of Slurm, each task a shard, merged to what one process finds; then a job of two ranks: slurm.sh
# LEADLINE. Starts a Slurm of one node of its own, in a folder; 77 where that cannot be.
set -eu
. "$(dirname "$0")/common.sh"
PATH=$PATH:/usr/sbin
daemons=
clean() {
    for daemon in $daemons; do kill "$daemon" 2>/dev/null || true; done
    wait
    rm -rf "$here"
}
trap clean EXIT
for tool in munged slurmctld slurmd sbatch srun; do
    command -v $tool >/dev/null || { echo "there is no $tool" && exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "slurmd wants to be root" && exit 77; }
chmod 755 "$here"
mkdir -p "$here/munge" "$here/state" "$here/spool"
chmod 700 "$here/munge"
head -c 1024 /dev/urandom >"$here/munge/key"
chmod 400 "$here/munge/key"
munged --force --foreground --key-file="$here/munge/key" --socket="$here/munge/socket" --pid-file="$here/munge/pid" \
    --seed-file="$here/munge/seed" --log-file="$here/munge/log" >/dev/null 2>&1 &
daemons=$!
host=$(hostname -s)
port=$((20000 + $$ % 20000))
cat >"$here/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$here/munge/socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.pid
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=all Nodes=$host Default=YES State=UP
END
export SLURM_CONF=$here/slurm.conf
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons="$daemons $!"
slurmd -D -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons="$daemons $!"
tries=0
until timeout 10 srun -n1 true 2>/dev/null; do
    [ $((tries += 1)) -lt 10 ] || { echo "Slurm does not start here: $(tail -1 "$here/slurmd.log")" && exit 77; }
    sleep 0.5
done
"$program" sweep "$space" -o "$here/alone.db" >/dev/null
program=$(realpath "$program")
sbatch --quiet --wait --array=1-4 --chdir="$here" --output="$here/task%a.log" \
    --wrap="$program sweep $space -o $here/array.db -j 1 --shard auto"
"$program" merge "$here"/array.*of4.db -o "$here/array.db" >/dev/null
same "$here/alone.db" "$here/array.db" "an array of four tasks"
sbatch --quiet --wait --ntasks=2 --overcommit --chdir="$here" --output="$here/ranks.log" \
    --wrap="mpirun --oversubscribe -np 2 $program-mpi sweep $space -o $here/ranks.db -j 1" || cat "$here/ranks.log"
same "$here/alone.db" "$here/ranks.db" "a job of two ranks"
