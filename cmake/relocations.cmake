# SPDX-License-Identifier: Apache-2.0
# ll_packed_relocations: tables of pointers make up most of what the loader has to adjust when the program starts.
# Packed (DT_RELR), that list takes a hundredth of the room; linkers knew it before all C libraries did, so a program
# is run to see.
include(CheckCSourceRuns)
add_library(ll_packed_relocations INTERFACE)
if(NOT CMAKE_CROSSCOMPILING)
  set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
  check_c_source_runs("
    static int one, other;
    static int *const volatile places[] = {&one, &other, &one, &other};
    int main(void) { return !(places[0] == &one && places[3] == &other && *places[1] == 0); }" LL_PACKED_RELOCATIONS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(LL_PACKED_RELOCATIONS)
    target_link_options(ll_packed_relocations INTERFACE -Wl,-z,pack-relative-relocs)
  endif()
endif()
