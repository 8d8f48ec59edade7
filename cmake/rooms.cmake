# SPDX-License-Identifier: Apache-2.0
# One library a room; a room links only the rooms named, so that a forbidden include also fails to link.

add_library(ll_flags INTERFACE)
target_compile_options(ll_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wno-sign-conversion -ffp-contract=off $<$<BOOL:${LL_WERROR}>:-Werror>)
target_compile_definitions(ll_flags INTERFACE LL_VERSION="${PROJECT_VERSION}")
target_include_directories(ll_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(LL_SANITIZE)
  target_compile_options(ll_flags INTERFACE -fsanitize=${LL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(ll_flags INTERFACE -fsanitize=${LL_SANITIZE})
endif()

# ll_room(NAME FOLDER USES rooms... LIBS libraries...): the sources are the .c files of the folder.
function(ll_room name folder)
  cmake_parse_arguments(room "" "" "USES;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  if(NOT sources)
    add_library(ll_${name} INTERFACE)
    return()
  endif()
  add_library(ll_${name} STATIC ${sources})
  target_link_libraries(ll_${name} PUBLIC ll_flags PRIVATE ${room_LIBS})
  foreach(used ${room_USES})
    target_link_libraries(ll_${name} PUBLIC ll_${used})
  endforeach()
endfunction()
