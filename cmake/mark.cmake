# SPDX-License-Identifier: Apache-2.0
# ll_mark(ROOM SYMBOL rooms...): a hash of the sources of these rooms becomes `const char SYMBOL[]` of a room's library,
# 16 hex digits: equal where the sources are, whoever compiled them. The same file, run as a script, writes the source:
# cmake -DROOT=... -DFOLDERS=... -DTO=... -DSYMBOL=... -P mark.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  list(TRANSFORM FOLDERS REPLACE "(.+)" "${ROOT}/\\1/*.[ch];${ROOT}/\\1/*.def")
  file(GLOB sources RELATIVE ${ROOT} ${FOLDERS})
  foreach(source ${sources})
    file(SHA256 ${ROOT}/${source} hash)
    string(APPEND lines "${source} ${hash}\n")
  endforeach()
  string(SHA256 mark "${lines}")
  string(SUBSTRING ${mark} 0 16 mark)
  file(WRITE ${TO} "const char ${SYMBOL}[] = \"${mark}\";\n")
  return()
endif()

function(ll_mark room symbol)
  foreach(marked ${ARGN})
    get_property(folders GLOBAL PROPERTY LL_FOLDERS_${marked})
    list(APPEND all ${folders})
  endforeach()
  list(TRANSFORM all REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*.[ch];${PROJECT_SOURCE_DIR}/\\1/*.def" OUTPUT_VARIABLE sources)
  file(GLOB sources CONFIGURE_DEPENDS ${sources})
  set(made ${PROJECT_BINARY_DIR}/${symbol}.c)
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DFOLDERS=${all}" -DTO=${made} -DSYMBOL=${symbol}
      -P ${PROJECT_SOURCE_DIR}/cmake/mark.cmake
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/cmake/mark.cmake VERBATIM)
  target_sources(ll_${room} PRIVATE ${made})
endfunction()
