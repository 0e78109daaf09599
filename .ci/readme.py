"""Compares the Swift code of README.md with the parts of Snippets/ReadMe.swift, to the letter.

Each block of Swift follows a comment that names its part, as in `<!-- ReadMe.swift: client -->`, or the word `none` for
lines that are not of a program."""

import pathlib
import re
import sys
import textwrap


def parts(text):
    """The parts of a snippet by name, without what `snippet.hide` hides."""
    found, name, shown = {}, None, True
    for line in text.splitlines():
        mark = re.match(r"\s*// snippet\.(\w+)\s*$", line)
        if mark is None:
            if name is not None and shown:
                found[name].append(line)
        elif mark[1] == "end":
            name = None
        elif mark[1] in ("hide", "show"):
            shown = mark[1] == "show"
        else:
            name, shown = mark[1], True
            found[name] = []
    return {key: textwrap.dedent("\n".join(lines)).strip("\n") for key, lines in found.items()}


def main():
    readme = pathlib.Path("README.md").read_text()
    known = parts(pathlib.Path("Snippets/ReadMe.swift").read_text())
    problems, used = [], set()
    blocks = re.findall(r"(?:<!-- ReadMe\.swift: (\w+) -->\n)?```swift\n(.*?)\n```", readme, re.S)
    for name, code in blocks:
        used.add(name)
        if name == "none":
            continue
        if name not in known:
            problems.append(f"a block names no part of the snippet: {name or code.splitlines()[0]}")
        elif known[name] != code:
            problems.append(f"the block differs from the part {name}")
    problems += [f"README.md does not show the part {name}" for name in known if name not in used]
    if len(readme.splitlines()) > 190:
        problems.append("README.md has more than 190 lines")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"README.md: {len(blocks)} blocks, {len(readme.splitlines())} lines, {len(readme.encode())} bytes")
    return 1 if problems or not blocks else 0


sys.exit(main())
