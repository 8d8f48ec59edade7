#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo and the tests, from nothing, on Debian 13: a root of it below build/platforms, in which ./do is run.
exec "$(dirname "$0")/debian.sh" trixie './do demo && ./do test'
