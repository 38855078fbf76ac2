# The flags of every target (STYLE_GUIDE.md, "Compilers and tools").

add_library(weir_flags INTERFACE)

set(weir_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align
    -Wundef -Wvla -Wwrite-strings -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wredundant-decls -Wformat=2 -Wdouble-promotion -Wimplicit-fallthrough -Wpointer-arith)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND weir_warnings -Wlogical-op -Wduplicated-cond -Wduplicated-branches
         -Wnull-dereference -Wcast-align=strict)
elseif(CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND weir_warnings -Wcomma -Wconditional-uninitialized -Wunreachable-code-aggressive
         -Wassign-enum -Wthread-safety)
endif()
if(WEIR_WERROR)
    list(APPEND weir_warnings -Werror)
endif()

target_compile_options(weir_flags INTERFACE ${weir_warnings}
    -fvisibility=hidden -fno-common -fstack-protector-strong -ffp-contract=off)
if(WEIR_MARCH)
    target_compile_options(weir_flags INTERFACE -march=${WEIR_MARCH})
endif()
target_compile_definitions(weir_flags INTERFACE _GNU_SOURCE WEIR_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${WEIR_DEBUG}>:WEIR_DEBUG=1> $<$<BOOL:${WEIR_HOSTILE}>:WEIR_HOSTILE=1>)
target_include_directories(weir_flags INTERFACE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(weir_flags INTERFACE Threads::Threads m)

if(WEIR_SANITIZE)
    target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE}
        -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
else()
    target_compile_options(weir_flags INTERFACE
        $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
    set(WEIR_NO_UNDEFINED -Wl,-z,defs)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3")
