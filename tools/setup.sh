#!/bin/sh
# tools/setup.sh: install what Weir needs to build and test, and nothing that is there already.
#
#   tools/setup.sh           build and test
#   tools/setup.sh --lint    the same and the linters
#   tools/setup.sh --compare the same and Turso, whose change log is compared with ours (needs node to run)
#
# Debian packages come from apt (only missing ones; that needs root). DuckDB, SQLite's amalgamation
# and the demo data come from the npm registry that npm is configured for, pinned and checked by
# tools/deps.lock, and land in third_party/. With DUCKDB_LIB=/path/libduckdb.so that library is used and none is fetched.
set -eu
cd "$(dirname "$0")/.."

lint=no
compare=no
for argument in "$@"; do
    case $argument in
    --lint) lint=yes ;;
    --compare) compare=yes ;;
    *) echo "usage: tools/setup.sh [--lint] [--compare]" >&2; exit 2 ;;
    esac
done

# --- Debian packages --------------------------------------------------------------------------

missing=
need_command() { # command package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need_library() { # pkg-config name, package
    pkg-config --exists "$1" 2>/dev/null || missing="$missing $2"
}
need_command gcc gcc
need_command cmake cmake
need_command ninja ninja-build
need_command make make
need_command patch patch
need_command python3 python3
need_command pkg-config pkg-config
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
need_library json-c libjson-c-dev
need_library libxxhash libxxhash-dev
need_library cmocka libcmocka-dev
need_library libedit libedit-dev
if [ $lint = yes ]; then
    need_command clang clang
    need_command clang-tidy clang-tidy
    need_command clang-format clang-format
    need_command cppcheck cppcheck
fi

machine=$(uname -m)
lock=tools/deps.lock
stamps=third_party/.stamps

stamp_of() { # lock line -> stamp file
    echo "$stamps/$(printf '%s' "$1" | cksum | tr ' ' -)"
}
is_wanted() { # lock line
    case $1 in
    '' | '#'*) return 1 ;;
    "any "* | "$machine "*) ;;
    *) return 1 ;;
    esac
    case $1 in
    *"/libduckdb.so "*) [ -z "${DUCKDB_LIB:-}" ] ;;
    *" @tursodatabase/"*) [ $compare = yes ] ;;
    esac
}
is_present() { # lock line: fetched in this version, and nothing of it deleted since
    [ -e "$(stamp_of "$1")" ] || return 1
    # shellcheck disable=SC2086
    set -- $1
    shift 3
    for pair in "$@"; do
        [ -e "third_party/${pair#*=}" ] || return 1
    done
}
is_lock_satisfied() {
    while IFS= read -r line; do
        if is_wanted "$line" && ! is_present "$line"; then return 1; fi
    done <$lock
}

fetch=no
is_lock_satisfied || fetch=yes
if [ $fetch = yes ]; then need_command npm npm; fi

if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "setup: missing, and there is no apt here; install the equivalent of:$missing" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "setup: packages are missing and only root can install them. Run:" >&2
        echo "    sudo apt-get install -y --no-install-recommends$missing" >&2
        echo "and then tools/setup.sh again." >&2
        exit 1
    fi
    echo "setup: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 || {
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends $missing >/dev/null
    }
fi

# --- npm tarballs -----------------------------------------------------------------------------

work=
cleanup() { if [ -n "$work" ]; then rm -rf "$work"; fi; }
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

fetch_package() { # machine package integrity member=destination...
    package=$2
    integrity=$3
    shift 3
    echo "setup: fetching $package"
    tarball=$work/fetched.tgz
    if ! (cd "$work" && npm pack --loglevel=error --ignore-scripts "$package" >/dev/null); then
        echo "setup: npm cannot fetch $package from $(npm config get registry)" >&2
        exit 1
    fi
    mv "$work"/*.tgz "$tarball"
    sum=sha512-$(sha512sum <"$tarball" | cut -d ' ' -f 1 |
        python3 -c 'import base64, sys; print(base64.b64encode(bytes.fromhex(input())).decode())')
    if [ "$sum" != "$integrity" ]; then
        echo "setup: $package is not what $lock says:" >&2
        echo "    expected $integrity" >&2
        echo "    received $sum" >&2
        exit 1
    fi
    for pair in "$@"; do
        member=package/${pair%%=*}
        destination=third_party/${pair#*=}
        mkdir -p "$(dirname "$destination")"
        tar -xzf "$tarball" -C "$work" "$member"
        touch "$work/$member"
        mv -f "$work/$member" "$destination"
    done
    rm -f "$tarball"
}

if [ $fetch = yes ]; then
    mkdir -p "$stamps"
    work=$(mktemp -d third_party/.fetch.XXXXXX)
    while IFS= read -r line; do
        is_wanted "$line" || continue
        if is_present "$line"; then continue; fi
        # shellcheck disable=SC2086
        fetch_package $line </dev/null
        : >"$(stamp_of "$line")"
    done <$lock
fi
