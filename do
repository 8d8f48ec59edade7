#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sets Leadline up on a Debian 12 or 13, builds it, shows it, tests it. `./do` alone lists what it can do.
set -eu
cd "$(dirname "$0")"

usage() {
    cat <<'END'
./do demo        install what is missing, build, record SqueezeNet, replay it on four machines
./do test        install what is missing, build with gcc and, under sanitizers, with clang, run all tests
./do bench       build, then measure the speed of the program's own parts, and of steps beside PyTorch's
./do host        build, calibrate this machine, compare recorded steps of the workloads with predicted ones
./do fuzz [N]    N runs of every fuzz target under the sanitizers (100000 when not given)
./do soak [N]    property tests with N fresh seeds under the sanitizers, and N programs and recorders killed
                 at random moments (20 when not given); then every command with every call for memory
                 and files refused, up to 5000 a command and a sample of 2000 beyond
./do install DIR install what is missing, build, install below DIR, as /usr/local
./do docs        build, then the documentation as a site, build/site/index.html
./do package     build Debian packages below build/debian: program, library, headers, machines, Python module, pages
./do platforms   demo and tests on a fresh Debian 13; built for arm64, and tested as far as an emulator can (root)
END
}

# What a build needs; a program to compile with is asked for first. The tests need a few more. All of these names are
# known to each Debian that we speak of.
build_packages="gcc libc6-dev cmake ninja-build pkg-config libopenblas-pthread-dev libzstd-dev libelf-dev libdw-dev
    libyaml-dev libsqlite3-dev zlib1g-dev librsvg2-dev libcmocka-dev"
test_packages="clang lld libclang-rt-dev shellcheck valgrind libopenmpi-dev openmpi-bin sqlite3 protobuf-compiler"

say() { printf '%s\n' "$*" >&2; }

# Shows a command, then runs it.
run() {
    printf '$ %s\n' "$*"
    "$@"
}

# need PACKAGES...: installs those that are missing, as root or through sudo.
need() {
    command -v dpkg-query >/dev/null || return 0 # not a Debian: CMake will name what it misses
    there=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
    missing=
    for package in "$@"; do
        printf '%s\n' "$there" | grep -qx "installed $package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    say "installing$missing"
    # shellcheck disable=SC2086 # words are meant to be split
    { $root apt-get update -qq
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } \
        >build/install.log 2>&1 && return
    cat build/install.log >&2
    say "That did not work. As root, type this line, then run ./do again:"
    say "    apt-get update && apt-get install -y --no-install-recommends$missing"
    exit 3
}

# build PRESET [TARGETS...]: says how far it is, and what is wrong.
build() {
    preset=$1
    shift
    say "building $preset"
    cmake --preset "$preset" --log-level=WARNING >/dev/null
    export NINJA_STATUS='[%p] '
    if [ -t 1 ]; then
        cmake --build --preset "$preset" --target "${@:-all}"
    else
        { cmake --build --preset "$preset" --target "${@:-all}" 2>&1 || echo "builder's status $?"; } | tenths
    fi
}

# tenths: passes lines on, but of those that tell how far a build is the first of each tenth; returns its status.
tenths() {
    told=
    while IFS= read -r line; do
        case $line in
        "builder's status "*) return "${line##* }" ;;
        'ninja: no work to do.' | '['*'] Re-checking '*) continue ;;
        '['*'%] '*)
            percent=${line%%%*}
            tenth=$((${percent#'['} / 10))
            [ "$tenth" != "$told" ] || continue
            told=$tenth
            ;;
        esac
        say "$line"
    done
}

# names FILES...: without folder and ending.
names() {
    for file in "$@"; do basename "$file" .c; done
}

prepare() {
    mkdir -p build 2>/dev/null || true
    if ! [ -w build ]; then
        say "$(id -un) cannot write into $PWD; copy the tree to a place that you own"
        exit 1
    fi
    # shellcheck disable=SC2086
    need $build_packages
}

demo() {
    build release leadline
    PATH=$PWD/build/release/sim/cli:$PATH
    mkdir -p build/demo
    run leadline record squeezenet --train --batch 8 --steps 3 -o build/demo/squeezenet.llt
    run leadline info build/demo/squeezenet.llt
    run leadline sim -c i7_6700k -c v100_sxm_16gb -c tpu_v2 -c custom_example build/demo/squeezenet.llt
    run leadline sim -c custom_example build/demo/squeezenet.llt
}

# Three trees, one run of ctest, hence one summary; it is the last thing said.
all_tests() {
    # shellcheck disable=SC2086
    need $test_packages
    for tree in release debug; do build "$tree"; done
    build tsan test_pool test_pool_settle prop_kernels
    echo 'subdirs(release debug tsan)' >build/CTestTestfile.cmake
    run_tests build --output-on-failure --no-label-summary -j "$(nproc)"
}

# run_tests FOLDER OPTIONS...: ctest, and just before its summary why tests were skipped, as each said itself.
run_tests() {
    folder=$1
    { ctest --test-dir "$@" || echo "ctest's status $?"; } | (
        status=0 summary=
        while IFS= read -r line; do
            case $line in
            "ctest's status "*) status=${line##* } ;;
            [0-9]*'% tests passed'*) summary=$line ;;
            *) if [ "$summary" ]; then summary="$summary
$line"; else printf '%s\n' "$line"; fi ;;
            esac
        done
        # Only when ctest has ended is its log whole.
        printf '%s\n' "$summary" | why_skipped "$folder/Testing/Temporary/LastTest.log"
        printf '%s\n' "$summary"
        exit "$status"
    )
}

# why_skipped LOG <SUMMARY: the last line that each skipped test printed.
why_skipped() {
    awk 'summary { if (/\(Skipped\)$/) said[$3] = "does not say why"; next }
         /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
         /^<end of output>$/ { inside = 0 }
         inside && NF && name in said { said[name] = $0 }
         /^-+$/ && last == "Output:" { inside = 1 }
         /^"[^"]*" end time: / && name in said { print name " is skipped: " said[name] }
         { last = $0 }' summary=1 - summary=0 "$1"
}

bench() {
    build release
    for name in $(names tests/bench/bench_*.c); do run "build/release/tests/$name"; done
    # Steps of ours beside PyTorch's, where that is installed.
    run ctest --test-dir build/release --verbose -R peers_torch_ -E graphs
}

host() {
    build release
    run build/release/sim/cli/leadline calibrate -o build/host.yaml
    run build/release/tests/host_steps build/host.yaml
}

fuzz() {
    # shellcheck disable=SC2086
    need $test_packages
    targets=$(names tests/fuzz/fuzz_*.c)
    # shellcheck disable=SC2086
    build fuzz $targets
    # Little of what is freed is kept from being used again, for runs are short: twice as many in the same time.
    export ASAN_OPTIONS="${ASAN_OPTIONS-quarantine_size_mb=16:malloc_context_size=5}"
    for name in $targets; do
        seeds=$PWD/tests/fuzz/corpus/${name#fuzz_} # some work in a folder of their own
        found=$PWD/build/fuzz/found/${name#fuzz_}
        mkdir -p "$found"
        run "build/fuzz/tests/$name" -runs="$1" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
            -artifact_prefix="$found-" "$found" "$seeds"
    done
}

soak() {
    build debug
    i=0
    while [ $((i += 1)) -le "$1" ]; do
        LL_SEED=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
        export LL_SEED
        say "seed $LL_SEED"
        ctest --test-dir build/debug --output-on-failure -R prop_ -Q -O build/soak.log || {
            cat build/soak.log >&2
            say "LL_SEED=$LL_SEED repeats it"
            exit 1
        }
    done
    say "no law was broken"
    build release leadline leadline_preload products
    LL_KILLS=$1 run tests/foreign/killed.sh build/release/sim/cli/leadline build/release/tests/foreign/products
    build release faults faults_inject
    for kind in memory files; do
        run build/release/tests/faults/faults "$PWD/build/release/sim/cli/leadline" \
            "$PWD/build/release/tests/faults/libfaults_inject.so" tests/faults/commands . "$kind" 5000 2000 "${LL_SEED:-1}"
    done
}

# In a copy of the tree, beside which they are written.
package() {
    rm -rf build/debian
    mkdir -p build/debian/leadline
    find . -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name .git -print0 | xargs -0 cp -R -t build/debian/leadline
    (cd build/debian/leadline && run dpkg-buildpackage -us -uc -b)
    ls build/debian/*.deb
}

# On machines that are made for it, below build/platforms.
platforms() {
    build release
    LL_PLATFORMS=1 run_tests build/release --output-on-failure --verbose -R platforms_
}

case ${1:-} in
demo) prepare; demo ;;
test) prepare; all_tests ;;
bench) prepare; bench ;;
host) prepare; host ;;
fuzz) prepare; fuzz "${2:-100000}" ;;
soak) prepare; soak "${2:-20}" ;;
platforms) prepare; need debootstrap; platforms ;;
install)
    [ $# = 2 ] || { usage >&2 && exit 2; }
    prepare
    build release
    run cmake --install build/release --prefix "$2"
    ;;
docs)
    prepare
    need mkdocs python3
    build release
    run python3 packaging/site/site.py build/release build/site
    ;;
package) prepare; need build-essential debhelper; package ;;
'') usage ;;
*) say "no command '$1'" && usage >&2 && exit 2 ;;
esac
