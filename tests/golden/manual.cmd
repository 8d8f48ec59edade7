# SPDX-License-Identifier: Apache-2.0
# A manual page, in the language of man(7).
leadline manual verify
