#!/usr/bin/env python3
"""split_logs.py DIRECTORY LOG...: the logs, and the payload of each of their entries, as files."""
import os
import struct
import sys


def main():
    directory = sys.argv[1]
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            log = file.read()
        name = os.path.join(directory, os.path.basename(path))
        with open(name, "wb") as file:
            file.write(log)
        at = log.index(b"\xff\xff") + 2  # behind the version
        number = 0
        while at < len(log):
            (size,) = struct.unpack_from("<Q", log, at)
            with open("%s-%d" % (name, number), "wb") as file:
                file.write(log[at + 16:at + 16 + size])
            at += 16 + size
            number += 1


main()
