# SPDX-License-Identifier: Apache-2.0
# `-` is standard input; the ways to ask for help and for the version are the same; no escape byte goes to a file.
t=traces/alexnet_train_b8.llt
leadline info - <$t >a; leadline info $t >b; cmp a b
leadline sim -c i7_6700k --json $t | leadline compare - $t -c i7_6700k --json | grep '"difference_s"' | head -1
leadline help sim >a; leadline sim help >b; leadline sim --help >c; cmp a b; cmp a c
leadline -V >a; leadline --version | cmp - a
leadline compare - - <$t 2>&1
unset NO_COLOR; for TERM in dumb xterm; do export TERM; leadline sim -c i7_6700k $t | tr -cd '\033' | wc -c; done
