# SPDX-License-Identifier: Apache-2.0
# A header of op kinds for each target, with those alone that its sources or any header names: a new kind
# changes the headers of those that name it, and compiles no others anew.
set(ll_kinds_table ${PROJECT_SOURCE_DIR}/tracer/ir/op_table.def)
set(ll_kinds_awk ${PROJECT_SOURCE_DIR}/cmake/op_kinds.awk)
set(ll_kinds_shared ${PROJECT_BINARY_DIR}/kinds/headers.txt)
find_program(LL_AWK NAMES mawk gawk awk REQUIRED)

# ll_kinds_command(OUTPUT LIST FILES...): names kinds in OUTPUT, which is only touched where it changes.
function(ll_kinds_command output list)
  add_custom_command(OUTPUT ${output}
    COMMAND ${LL_AWK} -v list=${list} -f ${ll_kinds_awk} ${ll_kinds_table} ${ARGN} > ${output}.new
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${output}.new ${output}
    DEPENDS ${ll_kinds_awk} ${ll_kinds_table} ${ARGN} VERBATIM)
endfunction()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tracer/*.h ${PROJECT_SOURCE_DIR}/models/*.h
  ${PROJECT_SOURCE_DIR}/sim/*.h)
file(GLOB shared_rows CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tracer/ir/*.def ${PROJECT_SOURCE_DIR}/sim/machine/*.def)
list(REMOVE_ITEM shared_rows ${ll_kinds_table})
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/kinds)
ll_kinds_command(${ll_kinds_shared} 1 ${headers} ${shared_rows})
add_custom_target(ll_kinds_of_headers DEPENDS ${ll_kinds_shared})

# ll_kinds(TARGET): its sources and the rows beside them count, and of tests the headers of tests, but for the
# reference kernels of all kinds where they are not included.
function(ll_kinds target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(files)
  foreach(source ${sources})
    if(source MATCHES "[.]c$" AND NOT source MATCHES "[$]<")
      get_filename_component(source ${source} ABSOLUTE BASE_DIR ${folder})
      get_filename_component(beside ${source} DIRECTORY)
      file(GLOB rows CONFIGURE_DEPENDS ${beside}/*.def)
      list(APPEND files ${source} ${rows})
      if(source MATCHES "/tests/" AND EXISTS ${source})
        file(GLOB headers CONFIGURE_DEPENDS ${beside}/*.h ${PROJECT_SOURCE_DIR}/tests/*.h
          ${PROJECT_SOURCE_DIR}/tests/*.def)
        file(STRINGS ${source} kernels REGEX "#include \"(tests/)?(twins|op_sample|gradient_check)")
        if(NOT kernels)
          list(FILTER headers EXCLUDE REGEX "/(twins|op_sample)[a-z_]*[.]h$")
        endif()
        list(APPEND files ${headers})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES files)
  list(REMOVE_ITEM files ${ll_kinds_table})
  if(files)
    set(folder ${PROJECT_BINARY_DIR}/kinds/${target})
    file(MAKE_DIRECTORY ${folder}/tracer/ir)
    ll_kinds_command(${folder}/tracer/ir/op_kinds.h 0 ${ll_kinds_shared} ${files})
    add_custom_target(${target}_kinds DEPENDS ${folder}/tracer/ir/op_kinds.h)
    add_dependencies(${target}_kinds ll_kinds_of_headers)
    add_dependencies(${target} ${target}_kinds)
    target_include_directories(${target} BEFORE PRIVATE ${folder})
  endif()
endfunction()

# ll_kinds_below(FOLDER): for all libraries and programs that were made there and below.
function(ll_kinds_below folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY|OBJECT_LIBRARY")
      ll_kinds(${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    ll_kinds_below(${below})
  endforeach()
endfunction()
