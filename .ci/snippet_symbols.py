"""Writes the symbol graph that DocC takes `@Snippet(path: "PACKAGE/Snippets/NAME", slice: "…")` from.

snippet_symbols.py PACKAGE SNIPPETS OUTPUT

A snippet is a Swift file in the folder SNIPPETS or below. Comments of the form `// snippet.WORD` in it mark:

    // snippet.NAME     the beginning of a slice with that name; a slice that has begun ends here
    // snippet.end      the end of the slice
    // snippet.hide     the beginning of lines that the documentation does not show
    // snippet.show     their end

None of these lines is shown. The file's first comment lines are its documentation.
"""

import json
import pathlib
import re
import sys

MARK = re.compile(r"^\s*// snippet\.([\w-]+)\s*$")
HEADING = re.compile(r"^//!? ?(.*)$")


class Snippet:
    """A snippet as it is shown: its words, its lines of code, and which of these are slices."""

    def __init__(self, path):
        self.path = path
        self.lines = []
        self.slices = {}
        self._slice = None
        text = path.read_text().splitlines()
        count = next((index for index, line in enumerate(text) if not HEADING.match(line)), len(text))
        self.documentation = [HEADING.match(line).group(1) for line in text[:count]]
        self._read(text[count:], first=count + 1)

    def _read(self, text, first):
        hidden = False
        for number, line in enumerate(text, first):
            mark = MARK.match(line)
            if not mark:
                if not hidden and (line.strip() or self.lines):
                    self.lines.append(line)
            elif mark[1] in ("hide", "show"):
                hidden = mark[1] == "hide"
            else:
                self._end_slice()
                if mark[1] != "end":
                    self._begin_slice(mark[1], number)
        self._end_slice()

    def _begin_slice(self, name, number):
        if name in self.slices:
            sys.exit(f"{self.path}:{number}: error: there is a slice {name} already")
        self._slice = name
        self.slices[name] = [len(self.lines), len(self.lines)]

    def _end_slice(self):
        if not self._slice:
            return
        start, end = self.slices[self._slice][0], len(self.lines)
        while end > start and not self.lines[end - 1].strip():
            end -= 1
        self.slices[self._slice] = [start, end]
        self._slice = None

    def symbol(self, package, relative):
        name = relative.stem
        return {
            "kind": {"identifier": "swift.snippet", "displayName": "Snippet"},
            "identifier": {
                "precise": f"$snippet__{package}.{'.'.join(relative.with_suffix('').parts)}",
                "interfaceLanguage": "swift",
            },
            "pathComponents": ["Snippets", name],
            "names": {"title": name},
            "accessLevel": "public",
            "docComment": {"lines": [{"text": line} for line in self.documentation]},
            "snippet": {"language": "swift", "lines": self.lines, "slices": self.slices},
        }


def symbol_graph(package, folder):
    files = sorted(folder.rglob("*.swift"))
    return {
        "metadata": {
            "formatVersion": {"major": 0, "minor": 6, "patch": 0},
            "generator": pathlib.Path(__file__).name,
        },
        "module": {
            "name": package,
            "platform": {"operatingSystem": {"name": "linux"}},
            "isVirtual": True,
        },
        "symbols": [Snippet(file).symbol(package, file.relative_to(folder)) for file in files],
        "relationships": [],
    }


def main(package, folder, output):
    graph = symbol_graph(package, pathlib.Path(folder))
    pathlib.Path(output).write_text(json.dumps(graph, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
