#!/bin/sh
# Runs the demo on the data that the set-up fetched.
set -eu
cd "$(dirname "$0")/.."
exec build/weir_demo third_party/data
