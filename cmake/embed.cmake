# SPDX-License-Identifier: Apache-2.0
# ll_embed(ROOM FILE SYMBOL): the bytes of a file become `const char SYMBOL[]` of a room's library, with a NUL behind
# them. The same file, run as a script, writes the source: cmake -DFROM=... -DTO=... -DSYMBOL=... -P embed.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${FROM} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" lines "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," lines "${lines}")
  file(WRITE ${TO} "const char ${SYMBOL}[] = {\n${lines}0};\n")
  return()
endif()

function(ll_embed room file symbol)
  set(source ${PROJECT_BINARY_DIR}/${symbol}.c)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFROM=${PROJECT_SOURCE_DIR}/${file} -DTO=${source} -DSYMBOL=${symbol}
      -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/${file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(ll_${room} PRIVATE ${source})
endfunction()
