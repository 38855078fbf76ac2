# make install: libraries, headers, extension, SQLite with change capture, shell, manual page, pkg-config file.

if(TARGET weir)
    install(TARGETS weir LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    # Relative, so that the installed tree can be moved.
    file(RELATIVE_PATH weir_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/weir.pc.in ${PROJECT_BINARY_DIR}/weir.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/weir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
    if(NOT DUCKDB_LIB)
        # The DuckDB we fetched goes where libweir's rpath finds it and nothing else does.
        install(PROGRAMS ${weir_duckdb_lib} DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir)
    endif()
endif()
if(TARGET weir_shell)
    install(TARGETS weir_shell RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/docs/weir.1 ${PROJECT_SOURCE_DIR}/docs/weir-cdc.1
            DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
if(TARGET dbsp)
    install(FILES ${WEIR_EXTENSION} DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir)
endif()
# In a folder of its own: it takes the place of the system's library only where a program is pointed at it.
install(TARGETS weir_libsqlite3 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir/sqlite)
install(FILES ${weir_sqlite_fetched}/sqlite3.h ${weir_sqlite_fetched}/sqlite3ext.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir/sqlite)
