#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# folder.sh LEADLINE LIBRARY: a build folder anywhere finds the machines of its source tree: CMake is asked for such a
# folder, and the program and its library are put there as a build would put them. CMake has to do with an MPI whose compiler is there, but whose
# headers are not, as Debian's openmpi-bin without libopenmpi-dev.
set -eu
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
unset LEADLINE_PATH
mkdir "$tree/bin"
cat >"$tree/bin/mpicc" <<'END'
#!/bin/sh
case $* in
*-showme:compile*) echo -I/none/include ;;
*-showme:link*) echo -L/none/lib -lno_mpi ;;
*) exit 1 ;;
esac
END
chmod +x "$tree/bin/mpicc"
cp "$tree/bin/mpicc" "$tree/bin/mpiexec"
export PATH="$tree/bin:$PATH"
cmake -S . -B "$tree/any/where" -G Ninja >"$tree/log" 2>&1 || { cat "$tree/log" && exit 1; }
cp "$1" "$tree/any/where/sim/cli/leadline"
cp "$2" "$tree/any/where/sim/api/libleadline.so.0"
cd "$tree"
any/where/sim/cli/leadline machines | grep -q custom_example
rm any/where/source
! any/where/sim/cli/leadline machines 2>/dev/null | grep custom_example
