# SPDX-License-Identifier: Apache-2.0
. ./try.sh
# wave FILE FRAMES: that many frames of silence, 400 samples the first and 80 each other, as RIFF WAVE of 16 kHz.
wave() {
    bytes=$((640 + 160 * $2))
    printf 'RIFF\044\000\000\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000\000\175\000\000\002\000\020\000data' >"$1"
    printf "\\$(printf %o $((bytes % 256)))\\$(printf %o $((bytes / 256)))\\000\\000" >>"$1"
    head -c "$bytes" /dev/zero >>"$1"
}
try train speech --data spoken
mkdir -p spoken/one spoken/two
try train speech --data spoken
for i in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16; do
    wave spoken/one/$i.WAV 30
    printf '0 1000 a\n1000 2000 b\n2000 2800 c\n' >spoken/one/$i.PHN
done
wave spoken/two/17.wav 61
printf '0 1000 d\n1000 2000 e\n1000 2000 f\n' >spoken/two/17.phn
try train speech --data spoken
cp spoken/two/17.phn spoken/two/18.phn
printf 'sound' >spoken/two/19.wav
printf '0 1000 a\n900 b\n800 700 a\n800\tx a\nb\200\n' >spoken/two/19.phn
printf '0 1000 a\n900 b\n800 700 a\n800\tx a\n' >spoken/two/17.phn
try train speech --data spoken
