# SPDX-License-Identifier: Apache-2.0
. ./try.sh
# try_with SOURCE TARGET: learning from these two texts, and from a vocabulary if one was written.
try_with() {
    printf "$1" >texts/source.txt
    printf "$2" >texts/target.txt
    try train seq2seq --data texts --steps 1 -p bucket=1
}
mkdir texts
try train seq2seq --data texts --steps 1
try_with 'the cat\na dog\n' 'le chat\n'
try_with 'the cat\na d\001g\n' 'le\200 chat\nun chien\n'
try_with '\n\n' 'le chat\n\n'
try_with 'this sentence is much too long for the bucket that was chosen\n' 'trop long\n'
printf '_PAD\n_GO\n_UNK\n_EOS\nle le\n\nchat\nchat\n' >texts/target.vocabulary
try_with 'the cat\n' 'le chat\n'
try train seq2seq --steps 1 -p task_vocabulary=100
try train seq2seq --steps 1 -p samples=100
