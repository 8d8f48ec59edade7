# SPDX-License-Identifier: Apache-2.0
# Started once for each rank, record writes a trace for each; started alone, by whatever launcher, the one that is named.
record() {
    env "$@" leadline record autoenc --dry-run -o T.llt | sed 's/.*-> //'
}
record OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
record OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2
record PMI_RANK=3 PMI_SIZE=4
record SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8
record RANK=6 WORLD_SIZE=8
record PMIX_RANK=7
echo alone:
record OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0
record PMI_RANK=0 PMI_SIZE=1
record SLURM_PROCID=0 SLURM_NTASKS=8
record RANK=2
record RANK=x WORLD_SIZE=8
ls ./*.llt
echo programs:
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 leadline record -o T.llt -- true 2>&1 | cut -d: -f1,2
OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_SIZE=10 leadline record -o no/T.llt -- true
OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_SIZE=10 leadline record autoenc --dry-run -o /dev/null
