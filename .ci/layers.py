#!/usr/bin/env python3
"""Checks the order of the folders of Sources/Bluebonnet that Architecture.md states: code uses only what is in the
same layer or in a lower one.

The uses come from the compiler's index store, which a debug build writes. A type that is only a name space, as in
`Session.Configuration` and in the first line of an extension, is not used.
"""

import collections
import ctypes
import os
import re
import shutil
import sys
from ctypes import CFUNCTYPE, POINTER, byref, c_bool, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(ROOT, "Sources", "Bluebonnet") + os.sep
ARTICLE = os.path.join(ROOT, "DocC", "Bluebonnet.docc", "Articles", "Architecture.md")
STORE = os.path.join(ROOT, ".build", "debug", "index", "store")
LARGEST_SHARE = 0.2

# The constants of indexstore.h.
DEFINITION, REFERENCE = 1 << 1, 1 << 2
RECORD = 2
TYPE_KINDS = {5, 6, 7, 8, 11}
EXTENSION, PARAMETER = 9, 25

Use = collections.namedtuple("Use", "file line column target name kind")


class Text(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("length", c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode() if self.length else ""


class IndexStore:
    """The functions of the toolchain's libIndexStore that read symbols and their occurrences."""

    EACH_UNIT = CFUNCTYPE(c_bool, c_void_p, Text)
    EACH = CFUNCTYPE(c_bool, c_void_p, c_void_p)

    def __init__(self, path):
        swift = os.path.realpath(shutil.which("swift"))
        self.library = ctypes.CDLL(os.path.join(os.path.dirname(swift), "..", "lib", "libIndexStore.so"))
        create = self.function("store_create", c_void_p, c_char_p, POINTER(c_void_p))
        self.each_unit = self.function("store_units_apply_f", c_bool, c_void_p, c_uint, c_void_p, self.EACH_UNIT)
        self.open_unit = self.function("unit_reader_create", c_void_p, c_void_p, c_char_p, POINTER(c_void_p))
        self.close_unit = self.function("unit_reader_dispose", None, c_void_p)
        self.main_file = self.function("unit_reader_get_main_file", Text, c_void_p)
        self.time = self.function(
            "unit_reader_get_modification_time", None, c_void_p, POINTER(c_int64), POINTER(c_int64))
        self.each_dependency = self.function(
            "unit_reader_dependencies_apply_f", c_bool, c_void_p, c_void_p, self.EACH)
        self.dependency_kind = self.function("unit_dependency_get_kind", c_int, c_void_p)
        self.dependency_name = self.function("unit_dependency_get_name", Text, c_void_p)
        self.dependency_path = self.function("unit_dependency_get_filepath", Text, c_void_p)
        self.open_record = self.function("record_reader_create", c_void_p, c_void_p, c_char_p, POINTER(c_void_p))
        self.close_record = self.function("record_reader_dispose", None, c_void_p)
        self.each_occurrence = self.function(
            "record_reader_occurrences_apply_f", c_bool, c_void_p, c_void_p, self.EACH)
        self.symbol = self.function("occurrence_get_symbol", c_void_p, c_void_p)
        self.roles = self.function("occurrence_get_roles", c_uint64, c_void_p)
        self.position = self.function("occurrence_get_line_col", None, c_void_p, POINTER(c_uint), POINTER(c_uint))
        self.name = self.function("symbol_get_name", Text, c_void_p)
        self.identifier = self.function("symbol_get_usr", Text, c_void_p)
        self.kind = self.function("symbol_get_kind", c_int, c_void_p)
        self.store = create(path.encode(), byref(c_void_p()))
        if not self.store:
            sys.exit(f"error: there is no index in {path}; run swift build first")

    def function(self, name, result, *arguments):
        function = getattr(self.library, "indexstore_" + name)
        function.restype, function.argtypes = result, arguments
        return function

    def records(self):
        """The newest record of each source file that still exists."""
        units, newest = [], {}
        self.each_unit(self.store, 0, None, self.EACH_UNIT(lambda _, name: units.append(str(name)) or True))
        for name in units:
            unit = self.open_unit(self.store, name.encode(), byref(c_void_p()))
            if not unit:
                continue
            path = str(self.main_file(unit))
            if path.startswith(SOURCES) and os.path.exists(path):
                seconds, nanoseconds = c_int64(), c_int64()
                self.time(unit, byref(seconds), byref(nanoseconds))
                time = (seconds.value, nanoseconds.value)
                if path not in newest or newest[path][0] < time:
                    newest[path] = (time, self.records_of(unit, path))
            self.close_unit(unit)
        return {path: records for path, (_, records) in newest.items()}

    def records_of(self, unit, path):
        names = []

        def visit(_, dependency):
            if self.dependency_kind(dependency) == RECORD and str(self.dependency_path(dependency)) == path:
                names.append(str(self.dependency_name(dependency)))
            return True

        self.each_dependency(unit, None, self.EACH(visit))
        return names

    def occurrences(self, record):
        found = []

        def visit(_, occurrence):
            symbol, line, column = self.symbol(occurrence), c_uint(), c_uint()
            self.position(occurrence, byref(line), byref(column))
            found.append((
                str(self.identifier(symbol)), str(self.name(symbol)), self.kind(symbol), self.roles(occurrence),
                line.value, column.value))
            return True

        reader = self.open_record(self.store, record.encode(), byref(c_void_p()))
        self.each_occurrence(reader, None, self.EACH(visit))
        self.close_record(reader)
        return found


def uses():
    """The uses of declarations of other files, and the number of files in the index."""
    index = IndexStore(STORE)
    definitions, references = {}, []
    records = index.records()
    for path, names in records.items():
        file = path[len(SOURCES):]
        for record in names:
            for identifier, name, kind, roles, line, column in index.occurrences(record):
                if roles & DEFINITION and kind not in (EXTENSION, PARAMETER):
                    definitions.setdefault(identifier, (file, name, kind))
                if roles & REFERENCE:
                    references.append((file, line, column, identifier))
    for file, line, column, identifier in references:
        target = definitions.get(identifier)
        if target and target[0] != file:
            yield Use(file, line, column, *target)


def is_name_space(use, lines):
    if use.kind not in TYPE_KINDS:
        return False
    text = lines[use.line - 1] if use.line <= len(lines) else ""
    rest = text[use.column - 1 + len(use.name):]
    return re.match(r"\.[A-Z]", rest) or re.match(r"\s*((file)?private |public |package )?extension\b", text)


def layers():
    """The folders with the numbers of their layers, the lowest first; from the table of the article."""
    found, number = {}, 0
    with open(ARTICLE, encoding="utf-8") as article:
        section = article.read().split("\n## Layers\n", 1)[1].split("\n## ", 1)[0]
    for row in re.findall(r"^\| \d+ \| (.*?) \|", section, re.MULTILINE):
        number += 1
        for folder in re.findall(r"`([^`]+)`", row):
            found[folder] = number
    return found


def folder_of(file, folders):
    path = os.path.dirname(file)
    while path not in folders:
        if not path:
            sys.exit(f"error: {file} is in no layer of Architecture.md")
        path = os.path.dirname(path)
    return path


def main():
    folders = layers()
    counts = collections.Counter()
    for path, _, names in os.walk(SOURCES):
        for name in names:
            if name.endswith(".swift"):
                file = os.path.join(path, name)
                with open(file, encoding="utf-8") as source:
                    counts[folder_of(file[len(SOURCES):], folders)] += len(source.readlines())
    total, upward, sources = 0, collections.defaultdict(set), {}
    for use in uses():
        user, used = folder_of(use.file, folders), folder_of(use.target, folders)
        if folders[user] == folders[used]:
            continue
        if use.file not in sources:
            with open(SOURCES + use.file, encoding="utf-8") as source:
                sources[use.file] = source.read().split("\n")
        if is_name_space(use, sources[use.file]):
            continue
        total += 1
        if folders[used] > folders[user]:
            upward[use.file, use.target].add((use.line, use.name))
    for (file, target), places in sorted(upward.items()):
        names = ", ".join(sorted({name for _, name in places}))
        print(f"error: {file}:{min(places)[0]} uses {names} of {target}, which is in a higher layer")
    folder, lines = counts.most_common(1)[0]
    share = lines / sum(counts.values())
    if share > LARGEST_SHARE:
        print(f"error: {folder} has {share:.0%} of the lines, more than {LARGEST_SHARE:.0%}")
    print(f"{total} uses of another layer, {len(upward)} pairs of files upward; {folder} is the largest, {share:.1%}")
    return 1 if upward or share > LARGEST_SHARE or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
