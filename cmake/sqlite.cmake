# SQLite with change capture: the fetched amalgamation, patched by src/sqlite/patch, compiled in one
# unit with src/sqlite. Products: sqlite/libsqlite3.so.0, which takes the place of the system's, and
# the static weir_sqlite.

set(weir_sqlite_fetched ${WEIR_THIRD_PARTY}/sqlite)
if(NOT EXISTS ${weir_sqlite_fetched}/sqlite3.c)
    message(FATAL_ERROR "${weir_sqlite_fetched}/sqlite3.c is missing; run tools/setup.sh first")
endif()

# The options of Debian's library: they decide which symbols there are and how SQLite behaves, and a
# program built for Debian's library must find both unchanged. Capture itself needs
# SQLITE_ENABLE_PREUPDATE_HOOK.
set(weir_sqlite_options
    SQLITE_ENABLE_COLUMN_METADATA SQLITE_ENABLE_DBSTAT_VTAB SQLITE_ENABLE_FTS3
    SQLITE_ENABLE_FTS3_PARENTHESIS SQLITE_ENABLE_FTS3_TOKENIZER SQLITE_ENABLE_FTS4
    SQLITE_ENABLE_FTS5 SQLITE_ENABLE_LOAD_EXTENSION SQLITE_ENABLE_MATH_FUNCTIONS
    SQLITE_ENABLE_PREUPDATE_HOOK SQLITE_ENABLE_RTREE SQLITE_ENABLE_SESSION SQLITE_ENABLE_STMTVTAB
    SQLITE_ENABLE_UNLOCK_NOTIFY SQLITE_ENABLE_UPDATE_DELETE_LIMIT SQLITE_HAVE_ISNAN
    SQLITE_LIKE_DOESNT_MATCH_BLOBS SQLITE_MAX_DEFAULT_PAGE_SIZE=32768 SQLITE_MAX_SCHEMA_RETRY=25
    SQLITE_MAX_VARIABLE_NUMBER=250000 SQLITE_OMIT_LOOKASIDE SQLITE_SECURE_DELETE SQLITE_SOUNDEX
    SQLITE_THREADSAFE=1 SQLITE_USE_URI HAVE_USLEEP=1)

set(weir_sqlite_directory ${PROJECT_BINARY_DIR}/sqlite)
set(weir_sqlite_patched ${weir_sqlite_directory}/source)
file(MAKE_DIRECTORY ${weir_sqlite_patched})
file(GLOB weir_sqlite_patches CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/sqlite/patch/*.patch)
add_custom_command(OUTPUT ${weir_sqlite_patched}/sqlite3.inc
    COMMAND ${PROJECT_SOURCE_DIR}/tools/patch_sqlite ${weir_sqlite_fetched}/sqlite3.c
            ${weir_sqlite_patched}/sqlite3.inc ${weir_sqlite_patches}
    DEPENDS ${PROJECT_SOURCE_DIR}/tools/patch_sqlite ${weir_sqlite_fetched}/sqlite3.c
            ${weir_sqlite_patches}
    COMMENT "Patching SQLite" VERBATIM)
add_custom_target(weir_sqlite_source DEPENDS ${weir_sqlite_patched}/sqlite3.inc)

# One object of SQLite and the hooks, from one unit, because SQLite's internal functions are static. The
# amalgamation is a foreign header to our files: its warnings are its own. Its public functions are
# visible, nothing else is.
set(weir_sqlite_flags -O2 -fvisibility=hidden -fno-strict-aliasing)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(weir_sqlite_flags -fvisibility=hidden -fno-strict-aliasing)
endif()
add_library(weir_sqlite_flags INTERFACE)
target_link_libraries(weir_sqlite_flags INTERFACE weir_flags ${CMAKE_DL_LIBS})
target_include_directories(weir_sqlite_flags SYSTEM INTERFACE ${weir_sqlite_patched}
                           ${weir_sqlite_fetched})
target_compile_definitions(weir_sqlite_flags INTERFACE ${weir_sqlite_options}
    "SQLITE_API=__attribute__((visibility(\"default\")))" $<$<BOOL:${WEIR_DEBUG}>:SQLITE_DEBUG>)
target_compile_options(weir_sqlite_flags INTERFACE ${weir_sqlite_flags})

# Linked last. Inlining carries gcc's doubts about NULL from SQLite's functions into ours.
add_library(weir_sqlite_warnings INTERFACE)
target_compile_options(weir_sqlite_warnings INTERFACE -Wno-null-dereference)

file(GLOB weir_sqlite_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/sqlite/*.c)
set(weir_sqlite_includes)
foreach(file ${weir_sqlite_files})
    string(APPEND weir_sqlite_includes "#include \"${file}\"\n")
endforeach()
file(CONFIGURE OUTPUT ${weir_sqlite_directory}/unit.c CONTENT "@weir_sqlite_includes@" @ONLY)
set_source_files_properties(${weir_sqlite_patched}/sqlite3.inc PROPERTIES HEADER_FILE_ONLY ON)
add_library(weir_sqlite_object OBJECT ${weir_sqlite_directory}/unit.c
            ${weir_sqlite_patched}/sqlite3.inc)
target_link_libraries(weir_sqlite_object PRIVATE weir_sqlite_flags weir_sqlite_warnings)

# In the static library what is hidden is local, so that no name of ours meets one of libweir.
set(weir_sqlite_local ${weir_sqlite_directory}/sqlite3.o)
add_custom_command(OUTPUT ${weir_sqlite_local}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden $<TARGET_OBJECTS:weir_sqlite_object>
            ${weir_sqlite_local}
    DEPENDS weir_sqlite_object $<TARGET_OBJECTS:weir_sqlite_object>
    COMMENT "Hiding the inner names of SQLite" VERBATIM)
set_source_files_properties(${weir_sqlite_local} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
add_library(weir_sqlite STATIC ${weir_sqlite_local})
target_include_directories(weir_sqlite SYSTEM INTERFACE ${weir_sqlite_fetched})
target_link_libraries(weir_sqlite PUBLIC weir_flags ${CMAKE_DL_LIBS})

add_library(weir_libsqlite3 SHARED $<TARGET_OBJECTS:weir_sqlite_object>)
target_include_directories(weir_libsqlite3 SYSTEM INTERFACE ${weir_sqlite_fetched})
target_link_libraries(weir_libsqlite3 PRIVATE weir_flags ${CMAKE_DL_LIBS})
set_target_properties(weir_sqlite weir_libsqlite3 PROPERTIES LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${weir_sqlite_directory}
    ARCHIVE_OUTPUT_DIRECTORY ${weir_sqlite_directory})
set_target_properties(weir_libsqlite3 PROPERTIES OUTPUT_NAME sqlite3 SOVERSION 0)

# The hooks one by one, never built: what the linters read them by.
add_library(weir_sqlite_lint OBJECT EXCLUDE_FROM_ALL ${weir_sqlite_files})
target_link_libraries(weir_sqlite_lint PRIVATE weir_sqlite_flags weir_sqlite_warnings)
add_dependencies(weir_sqlite_lint weir_sqlite_object)
