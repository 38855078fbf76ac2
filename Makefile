# The commands people type. CMake does the work; presets are in CMakePresets.json.
#
#   make            fetch what is missing and build the release into build/
#   make test       build and run every test
#   make demo       build and show it
#   make install PREFIX=/usr/local

PREFIX ?= /usr/local

all: setup
	@cmake --preset release >/dev/null
	@cmake --build build

setup:
	@tools/setup.sh

demo: all
	@demo/run.sh

test: all
	@ctest --preset release

bench: all
	@bench/run.sh

debug asan tsan hostile: setup
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@
	@ctest --preset $@

lint:
	@tools/setup.sh --lint
	@tools/lint.sh

format:
	@tools/lint.sh --format

install: all
	@cmake --install build --prefix "$(PREFIX)"

clean:
	rm -rf build

.PHONY: all setup demo test bench debug asan tsan hostile lint format install clean
