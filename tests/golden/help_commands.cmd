# SPDX-License-Identifier: Apache-2.0
leadline --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | while read -r command; do
    echo "\$ leadline $command --help"
    leadline $command --help
    echo
done
