# What Weir stands on: libduckdb (third_party/ or the user's own), json-c, xxHash, libedit, threads.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

set(WEIR_THIRD_PARTY ${PROJECT_SOURCE_DIR}/third_party)
set(weir_fetched_duckdb ${WEIR_THIRD_PARTY}/duckdb-${WEIR_DUCKDB_VERSION}/libduckdb.so)
set(weir_duckdb_lib ${weir_fetched_duckdb})
if(DUCKDB_LIB)
    set(weir_duckdb_lib ${DUCKDB_LIB})
endif()
foreach(file ${weir_duckdb_lib} ${WEIR_THIRD_PARTY}/include/duckdb_extension.h)
    if(NOT EXISTS ${file})
        message(FATAL_ERROR "${file} is missing; run tools/setup.sh first")
    endif()
endforeach()

# DuckDB's headers; only src/duckdb and its tests link this.
add_library(weir_duckdb_headers INTERFACE)
target_include_directories(weir_duckdb_headers SYSTEM INTERFACE ${WEIR_THIRD_PARTY}/include)

add_library(weir_libduckdb SHARED IMPORTED)
set_target_properties(weir_libduckdb PROPERTIES IMPORTED_LOCATION ${weir_duckdb_lib}
                                                IMPORTED_SONAME libduckdb.so)

# json-c is linked from its static archive where there is one: the extension must depend on
# nothing but libc.
pkg_check_modules(JSONC REQUIRED json-c)
find_library(JSONC_ARCHIVE libjson-c.a HINTS ${JSONC_LIBRARY_DIRS})
add_library(weir_jsonc INTERFACE)
target_include_directories(weir_jsonc SYSTEM INTERFACE ${JSONC_INCLUDEDIR})
if(JSONC_ARCHIVE)
    target_link_libraries(weir_jsonc INTERFACE ${JSONC_ARCHIVE})
else()
    message(WARNING "no libjson-c.a: the extension will need libjson-c.so at run time")
    target_link_libraries(weir_jsonc INTERFACE ${JSONC_LINK_LIBRARIES})
endif()

# xxHash is used inlined: headers only.
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)

pkg_check_modules(EDIT IMPORTED_TARGET libedit)
