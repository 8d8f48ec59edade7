# SPDX-License-Identifier: Apache-2.0
# ll_hardening: what makes a mistake in memory end a program rather than serve an attacker, for all that is ours: in the
# build tree, in what is installed, in the package. Sanitizers watch the same, and closer.
add_library(ll_hardening INTERFACE)
target_compile_options(ll_hardening INTERFACE -fstack-protector-strong)
target_link_options(ll_hardening INTERFACE -Wl,-z,relro -Wl,-z,now
  $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
if(NOT LL_SANITIZE) # and optimised, which glibc asks for
  target_compile_options(ll_hardening INTERFACE
    "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()
