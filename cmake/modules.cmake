# weir_module(NAME [LIBS library ...]) makes the static library weir_NAME of src/NAME/*.c.
#
# Its dependencies on other folders are those of tools/layers.txt. A folder without .c files
# becomes an interface library, so that the rest configures and builds.

set(weir_layers ${PROJECT_SOURCE_DIR}/tools/layers.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${weir_layers})
file(STRINGS ${weir_layers} weir_layer_lines REGEX "^[a-z]")
set(WEIR_FOLDERS)
foreach(line ${weir_layer_lines})
    string(REGEX MATCH "^([a-z_]+):(.*)$" matched "${line}")
    set(folder ${CMAKE_MATCH_1})
    string(STRIP "${CMAKE_MATCH_2}" deps)
    string(REGEX REPLACE " +" ";" WEIR_DEPS_${folder} "${deps}")
    list(APPEND WEIR_FOLDERS ${folder})
endforeach()

# One library TARGET of the given SOURCES, with the dependencies of folder NAME.
function(weir_library target name)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LIBS;DEFINES")
    list(TRANSFORM WEIR_DEPS_${name} PREPEND weir_ OUTPUT_VARIABLE deps)
    if(arg_SOURCES)
        add_library(${target} STATIC ${arg_SOURCES})
        target_link_libraries(${target} PUBLIC ${deps} weir_flags ${arg_LIBS})
        target_compile_definitions(${target} PRIVATE ${arg_DEFINES})
    else()
        add_library(${target} INTERFACE)
        target_link_libraries(${target} INTERFACE ${deps} weir_flags ${arg_LIBS})
    endif()
endfunction()

function(weir_module name)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c)
    weir_library(weir_${name} ${name} SOURCES ${sources} ${ARGN})
endfunction()

# Sets OUT to true if TARGET has compiled sources.
function(weir_has_code out target)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
        set(${out} TRUE PARENT_SCOPE)
    else()
        set(${out} FALSE PARENT_SCOPE)
    endif()
endfunction()
