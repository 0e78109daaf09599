"""Compares the Swift code in README.md and in the articles with the snippets, to the letter.

The snippets are compiled and run; a page shows them as text. Each block follows a comment that names its snippet and its
part, as in `<!-- Pipe.swift: copy -->`. In README.md, the word `none` marks lines that are not of a program.

    code_blocks.py          fails if a block differs from its snippet
    code_blocks.py --write  writes the code of the snippets into the blocks

A part of a snippet is what stands between `// snippet.NAME` and `// snippet.end`, or the next part, without the lines
between `// snippet.hide` and `// snippet.show`."""

import pathlib
import re
import sys
import textwrap

BLOCK = re.compile(r"<!-- (?:(\w+)\.swift: )?([\w-]+) -->\n```swift\n(.*?)\n?```", re.S)
COLUMNS = 80


def parts(path):
    """The parts of a snippet by name."""
    found, name, shown = {}, None, True
    for line in path.read_text().splitlines():
        mark = re.match(r"\s*// snippet\.([\w-]+)\s*$", line)
        if mark is None:
            if name is not None and shown:
                found[name].append(line)
        elif mark[1] == "end":
            name = None
        elif mark[1] in ("hide", "show"):
            shown = mark[1] == "show"
        else:
            name, shown = mark[1], True
            if name in found:
                sys.exit(f"error: {path} has two parts {name}")
            found[name] = []
    return {key: textwrap.dedent("\n".join(lines)).strip("\n") for key, lines in found.items()}


class Pages:
    """The pages with code, and what is wrong with them."""

    def __init__(self):
        self.snippets = {path.stem: parts(path) for path in sorted(pathlib.Path("Snippets").rglob("*.swift"))}
        self.problems = []
        self.count = 0
        self.used = set()

    def check(self, path, writes):
        text = path.read_text()
        if path.name == "README.md" and text.count("```swift") != len(BLOCK.findall(text)):
            self.problems.append("README.md: a block of Swift names no snippet")
        written = BLOCK.sub(lambda match: self.block(path, match), text)
        if writes and written != text:
            path.write_text(written)
        elif written != text:
            self.problems.append(f"{path}: a block differs from its snippet; `.ci/code_blocks.py --write` mends it")

    def block(self, path, match):
        """The comment and the block as they should be."""
        name, part, _ = match.groups()
        self.count += 1
        if part == "none":
            return match[0]
        self.used.add((name, part))
        code = self.snippets.get(name, {}).get(part)
        if code is None:
            self.problems.append(f"{path}: there is no part {part} of Snippets/{name}.swift")
            return match[0]
        wide = [line for line in code.splitlines() if len(line) > COLUMNS and path.name != "README.md"]
        self.problems += [f"{name}.swift, {part}: more than {COLUMNS} columns: {line.strip()}" for line in wide]
        return f"<!-- {name}.swift: {part} -->\n```swift\n{code}\n```"


def main():
    pages, writes = Pages(), sys.argv[1:] == ["--write"]
    readme = pathlib.Path("README.md")
    for path in [readme, *sorted(pathlib.Path("DocC").rglob("*.md"))]:
        pages.check(path, writes)
    lines = len(readme.read_text().splitlines())
    if lines > 190:
        pages.problems.append(f"README.md has {lines} lines, more than 190")
    pages.problems += [
        f"README.md does not show the part {part}"
        for part in pages.snippets["ReadMe"]
        if ("ReadMe", part) not in pages.used
    ]
    for problem in pages.problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"{pages.count} blocks of code in README.md and DocC")
    return 1 if pages.problems or pages.count == 0 else 0


sys.exit(main())
