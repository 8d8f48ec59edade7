#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arm64.sh: builds the tree for arm64 with Debian 12's gcc and runs it under qemu: the fast tests pass, and what the
# program prints as JSON is what it prints here, to the bit. Where the packages are not here, in a bare Debian 12 made
# for it; there, `--install` brings them.
set -eu
cd "$(dirname "$0")/../.."
[ "${LL_PLATFORMS-}" ] || { echo "takes half an hour; ./do platforms runs it" && exit 77; }
libraries="libopenblas-pthread-dev libzstd-dev libelf-dev libdw-dev libyaml-dev libsqlite3-dev zlib1g-dev
    libcmocka-dev"
if [ "${1-}" = --install ]; then
    dpkg --add-architecture arm64
    apt-get update -qq
    # shellcheck disable=SC2046,SC2086 # words are meant to be split
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev cmake ninja-build \
        pkg-config crossbuild-essential-arm64 qemu-user $libraries $(for l in $libraries; do echo "$l:arm64"; done) \
        >/dev/null
fi
for file in /usr/bin/qemu-aarch64 /usr/bin/aarch64-linux-gnu-gcc \
    /usr/lib/aarch64-linux-gnu/pkgconfig/openblas.pc /usr/lib/aarch64-linux-gnu/pkgconfig/cmocka.pc; do
    [ -e "$file" ] || exec tests/platforms/debian.sh bookworm 'LL_PLATFORMS=1 tests/platforms/arm64.sh --install'
done

build=build/arm64
cmake -S . -B "$build" -G Ninja --no-warn-unused-cli -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/platforms/arm64.cmake" >/dev/null
cmake --build "$build" -- --quiet
cmake --preset release >/dev/null
cmake --build --preset release --target leadline -- --quiet

# Each program steps aside for a line that has qemu run it.
find "$build" -type f -perm -u+x ! -name '*.so' ! -name '*.arm64' | while read -r program; do
    [ "$(head -c 4 "$program" | tail -c 3)" = ELF ] || continue
    mv "$program" "$program.arm64"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec qemu-aarch64 -0 "$0" "$0.arm64" "$@"\n' >"$program"
    chmod +x "$program"
done

# Left out: what loads our library into another program or stops one, which an emulator of one process cannot do, and
# what copies the program, of which the line alone would be copied. So are tests of over ten seconds: twenty times as
# long here.
apart='interpose|mechanisms|foreign|tracee|no_machines|test_damaged|test_elf|record_ranks'
long='prop_cost|prop_search|prop_machine|prop_gradients|test_search|test_accounting|test_model|test_sequences'
ctest --test-dir "$build" -L fast --output-on-failure --no-label-summary -j "$(nproc)" -E "$apart|$long"

here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
count=0 other=0
# same ARGUMENTS...: of the program here and the one for arm64.
same() {
    count=$((count + 1))
    build/release/sim/cli/leadline "$@" >"$here/native" 2>&1 || true
    "$build/sim/cli/leadline" "$@" >"$here/arm64" 2>&1 || true
    cmp -s "$here/native" "$here/arm64" && return
    other=$((other + 1))
    echo "leadline $*"
    diff "$here/native" "$here/arm64" | head -6
}
for machine in hwconfigs/devices/*.yaml hwconfigs/systems/*.yaml hwconfigs/accelerators/*.yaml; do
    for trace in traces/*.llt; do same sim -c "$machine" --json "$trace"; done
done
echo "$count outputs in JSON, $other of them not the same as here"
[ "$other" = 0 ]
