# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down, wherever the prefix is and will be moved to:
#   bin/leadline                       the program
#   lib/libleadline.so.0               the library, which is all of it; include/leadline.h, lib/pkgconfig/leadline.pc,
#                                      lib/cmake/leadline: find_package(leadline) has the target leadline::leadline
#   share/leadline/{hwconfigs,traces,examples}  machines, sample traces and sweep files, found from the library's own place
#   lib/libleadline-rooms.a, include/leadline, lib/pkgconfig/leadline-rooms.pc   the rooms, for who builds on their structs
# debian/ makes packages of it, packaging/ has recipes for other systems.

# One archive of all rooms but the models and the program's face; each room's foreign libraries are named in
# leadline-rooms.pc, because an archive cannot carry them.
add_library(leadline_library STATIC)
set_target_properties(leadline_library PROPERTIES OUTPUT_NAME leadline-rooms)
get_property(rooms GLOBAL PROPERTY LL_ROOMS)
foreach(room ${rooms})
  get_target_property(type ll_${room} TYPE)
  if(NOT room MATCHES "^(nn|data|models)$" AND type STREQUAL STATIC_LIBRARY)
    target_sources(leadline_library PRIVATE $<TARGET_OBJECTS:ll_${room}>)
  endif()
endforeach()
set_target_properties(leadline_library PROPERTIES LINKER_LANGUAGE C)

# From lib/pkgconfig, or lib/TRIPLET/pkgconfig, to the prefix.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(WRITE ${PROJECT_BINARY_DIR}/leadline.pc "prefix=\${pcfiledir}/${to_prefix}
Name: leadline
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lleadline
Cflags: -I\${prefix}/include
")
file(WRITE ${PROJECT_BINARY_DIR}/leadline-rooms.pc "# Only a static library exists, so all that it needs is required.
prefix=\${pcfiledir}/${to_prefix}
Name: leadline-rooms
Description: ${PROJECT_DESCRIPTION}: the rooms of the library
Version: ${PROJECT_VERSION}
Requires: libzstd libelf libdw yaml-0.1 sqlite3 zlib
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lleadline-rooms -lpthread -lm
Cflags: -I\${prefix}/include/leadline
")

# The library needs no other package, so that what CMake exports is the whole configuration. All of .so.0 are compatible.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/leadlineConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(EXPORT leadline NAMESPACE leadline:: FILE leadlineConfig.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/leadline COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/leadlineConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/leadline
  COMPONENT dev)

# The header is one file where it is installed: what it includes from the tree stands in it.
set(header ${PROJECT_SOURCE_DIR}/sim/api/leadline.h)
set(marks ${PROJECT_SOURCE_DIR}/tracer/interpose/leadline.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header} ${marks})
file(READ ${header} header)
file(READ ${marks} marks)
string(REPLACE "#include \"tracer/interpose/leadline.h\"" "${marks}" header "${header}")
file(WRITE ${PROJECT_BINARY_DIR}/include/leadline.h "${header}")

install(FILES ${PROJECT_BINARY_DIR}/include/leadline.h DESTINATION include COMPONENT dev)
install(TARGETS leadline_library ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/leadline.pc ${PROJECT_BINARY_DIR}/leadline-rooms.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
# What others may rely on: the ground floor, traces, machines, costs and replay. The other headers are for the
# rooms themselves. tests/package compiles each of these alone.
install(DIRECTORY tracer/base DESTINATION include/leadline/tracer COMPONENT dev FILES_MATCHING PATTERN "*.h")
foreach(header tracer/ir/trace.h tracer/ir/op_table.def tracer/ir/op_kinds.h tracer/ir/ops.h tracer/ir/profile.h tracer/format/reader.h tracer/record/recorder.h tracer/ir/tensor.h
        tracer/ir/work.h sim/machine/cache_policies.def sim/machine/cache_shape.h
        sim/machine/warm_bytes.h sim/machine/core_types.h sim/machine/dram.h sim/machine/machine.h sim/machine/unit.h sim/machine/kernel_figures.h
        sim/machine/algorithms.def sim/machine/tuners.def sim/machine/topologies.def sim/machine/collectives.def sim/machine/unit_models.def sim/cost/cost.h sim/cost/kernel_table.h
        sim/memory/allocators.def sim/memory/footprint.h sim/memory/residency.h sim/replay/replay.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION include/leadline/${folder} COMPONENT dev)
endforeach()
install(DIRECTORY hwconfigs traces examples DESTINATION share/leadline
  FILES_MATCHING PATTERN "*.yaml" PATTERN "*.c" PATTERN "*.cpp" PATTERN "*.py" PATTERN "*.ipynb" PATTERN "residuals.csv" PATTERN "validated.csv" PATTERN "*.llt" PATTERN "README.md")
install(FILES LICENSE DESTINATION share/doc/leadline RENAME copyright)

# What the program says of itself, where it can run: manual pages, completion, the schema of machine files.
if(NOT LL_SANITIZE AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
  set(said ${PROJECT_BINARY_DIR}/said)
  file(MAKE_DIRECTORY ${said})
  add_custom_command(OUTPUT ${said}/leadline.bash ${said}/_leadline ${said}/leadline.fish ${said}/machine.schema.json
      ${said}/plan.schema.json ${said}/sweep.schema.json ${said}/serve.schema.json ${said}/man1/leadline.1
    COMMAND leadline completion bash > ${said}/leadline.bash
    COMMAND leadline completion zsh > ${said}/_leadline
    COMMAND leadline completion fish > ${said}/leadline.fish
    COMMAND leadline schema machine > ${said}/machine.schema.json
    COMMAND leadline schema plan_file > ${said}/plan.schema.json
    COMMAND leadline schema sweep_file > ${said}/sweep.schema.json
    COMMAND leadline schema serve_file > ${said}/serve.schema.json
    COMMAND leadline manual -o ${said}/man1
    DEPENDS leadline leadline_shared VERBATIM)
  add_custom_target(leadline_said ALL DEPENDS ${said}/man1/leadline.1)
  install(DIRECTORY ${said}/man1 DESTINATION share/man)
  install(FILES ${said}/leadline.bash DESTINATION share/bash-completion/completions RENAME leadline)
  install(FILES ${said}/_leadline DESTINATION share/zsh/site-functions)
  install(FILES ${said}/leadline.fish DESTINATION share/fish/vendor_completions.d)
  install(FILES ${said}/machine.schema.json ${said}/plan.schema.json ${said}/sweep.schema.json
      ${said}/serve.schema.json DESTINATION share/leadline)
endif()
