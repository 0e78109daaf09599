"""Counts words and phrases that plain sentences do without, and fails where a text has more of them than are listed.

Usage: plain_words.py [--update]

Looks at comments, texts and test names of the Swift files, and at the documentation. Each line of banned_words.txt has
the number of places that are left, an extended regular expression, and what to say instead, separated by tabs. A number
may only fall; --update writes those of now.
"""

import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("banned_words.txt")
TEXTS = re.compile(r'//.*|"(?:[^"\\]|\\.)*"|func `[^`]*`')


def lines():
    """The lines of prose of all files, with their places."""
    listing = subprocess.run(
        ["git", "ls-files", "Sources", "Tests", "Snippets", "DocC", "README.md"], capture_output=True, text=True, check=True
    )
    for name in listing.stdout.split("\n"):
        if not name.endswith((".swift", ".md")):
            continue
        for number, line in enumerate(pathlib.Path(name).read_text().split("\n"), 1):
            text = line if name.endswith(".md") else " ".join(TEXTS.findall(line))
            if text:
                yield f"{name}:{number}", re.sub(r"``[^`]*``|`[^`]*`" if name.endswith(".md") else r"``[^`]*``", "", text)


def main():
    rows = [line.split("\t") for line in LIST.read_text().split("\n") if line and not line.startswith("#")]
    prose = list(lines())
    failed = False
    for row in rows:
        allowed, pattern, instead = int(row[0]), re.compile(row[1]), row[2]
        found = [f"{place}: {text.strip()}" for place, text in prose if pattern.search(text)]
        if len(found) > allowed and "--update" not in sys.argv:
            failed = True
            print(f"error: {row[1]} is in {len(found)} places, {allowed} were left; say: {instead}")
            print("\n".join(f"    {line}" for line in (found if len(found) < 20 else found[-5:])))
        row[0] = str(len(found))
    if "--update" in sys.argv:
        header = [line for line in LIST.read_text().split("\n") if line.startswith("#")]
        LIST.write_text("\n".join(header + ["\t".join(row) for row in rows]) + "\n")
    print(f"{len(rows)} patterns, {sum(int(row[0]) for row in rows)} places left")
    return failed


if __name__ == "__main__":
    sys.exit(main())
