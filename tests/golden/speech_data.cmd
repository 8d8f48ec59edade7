# SPDX-License-Identifier: Apache-2.0
# Sixteen utterances of 30 frames (2720 samples of 16 kHz, silence), the longest of three phonemes: so many labels and
# times reach the loss.
mkdir spoken
for i in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16; do
    printf 'RIFF\144\025\000\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000\000\175\000\000' >spoken/$i.wav
    printf '\002\000\020\000data\100\025\000\000' >>spoken/$i.wav
    head -c 5440 /dev/zero >>spoken/$i.wav
    printf '0 1000 h#\n1000 2720 sh\n' >spoken/$i.phn
done
printf '2720 2720 h#\n' >>spoken/07.phn
leadline record speech --data spoken --dry-run --train --steps 1 --batch 2 -p frames=30 -p hidden=4 -p classes=3 -o s.llt
leadline dump s.llt | grep '"ctc_loss"'
