# SPDX-License-Identifier: Apache-2.0
# Each machine of the list by the name that -c takes, and by its own.
leadline machines --json | grep -E '^      "(machine|name)"' | sed -n '/custom_example/,+3p'
