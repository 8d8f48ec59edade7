# SPDX-License-Identifier: Apache-2.0
# One library a room; a room links only the rooms named, so that a forbidden include also fails to link.

# ll_plain_flags is for what runs in programs of others and takes no sanitizer along.
add_library(ll_plain_flags INTERFACE)
add_library(ll_flags INTERFACE)
target_link_libraries(ll_flags INTERFACE ll_plain_flags)
target_link_libraries(ll_plain_flags INTERFACE ll_hardening)
target_compile_options(ll_plain_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wno-sign-conversion -ffp-contract=off
  $<$<C_COMPILER_ID:Clang>:-Wno-enum-float-conversion> # whole numbers are named as enums
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= $<$<BOOL:${LL_WERROR}>:-Werror>)
target_compile_definitions(ll_plain_flags INTERFACE LL_VERSION="${PROJECT_VERSION}")
target_include_directories(ll_plain_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(LL_SANITIZE)
  target_compile_options(ll_flags INTERFACE -fsanitize=${LL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(ll_flags INTERFACE -fsanitize=${LL_SANITIZE})
  # How to ask for a sanitizer each compiler decides for itself; sources ask for these.
  target_compile_definitions(ll_flags INTERFACE LL_SANITIZED)
  if(LL_SANITIZE MATCHES address)
    target_compile_definitions(ll_flags INTERFACE LL_ASAN)
  endif()
endif()

# ll_room(NAME FOLDERS USES rooms... LIBS libraries...): the sources are the .c files of the folders, a list.
function(ll_room name folders)
  set_property(GLOBAL APPEND PROPERTY LL_ROOMS ${name})
  set_property(GLOBAL PROPERTY LL_FOLDERS_${name} ${folders})
  cmake_parse_arguments(room "" "" "USES;LIBS" ${ARGN})
  list(TRANSFORM folders PREPEND ${PROJECT_SOURCE_DIR}/)
  list(TRANSFORM folders APPEND /*.c)
  file(GLOB sources CONFIGURE_DEPENDS ${folders})
  if(sources)
    add_library(ll_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(ll_${name} PRIVATE ${room_LIBS})
  else() # a room of headers alone
    add_library(ll_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(ll_${name} ${scope} ll_flags)
  foreach(used ${room_USES})
    target_link_libraries(ll_${name} ${scope} ll_${used})
  endforeach()
endfunction()
