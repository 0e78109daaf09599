"""Writes the public API of the modules, a file for each, from their symbol graphs.

Usage: api_list.py GRAPHS OUTPUT

A type is a line at the margin, with its conformances; its members follow, indented and sorted. What a module adds to
another module's type stands under `extension`.
"""

import json
import pathlib
import sys

TYPES = {
    "swift.struct": "struct",
    "swift.class": "class",
    "swift.enum": "enum",
    "swift.protocol": "protocol",
    "swift.actor": "actor",
}
# What the compiler adds to every type, or what another conformance says already.
IMPLIED = {"SendableMetatype", "Copyable", "Escapable"}


def declaration(symbol):
    text = "".join(fragment["spelling"] for fragment in symbol["declarationFragments"])
    text = " ".join(text.split())
    for availability in symbol.get("availability", []):
        if availability.get("isUnconditionallyDeprecated") or "deprecated" in availability:
            text = f"@deprecated {text}"
    return text


def sections(graphs):
    """The text of each section of a module: its first line, and its members' lines."""
    found = {}
    for path in graphs:
        graph = json.loads(path.read_text())
        of_another_module = "@" in path.name
        conformances = {}
        for relation in graph["relationships"]:
            if relation["kind"] in ("conformsTo", "inheritsFrom"):
                name = relation.get("targetFallback", relation["target"]).split(".")[-1]
                if name.startswith("s:"):
                    name = next(
                        (s["names"]["title"] for s in graph["symbols"] if s["identifier"]["precise"] == name), name
                    )
                conformances.setdefault(relation["source"], set()).add(name)
        for symbol in graph["symbols"]:
            kind = symbol["kind"]["identifier"]
            components = symbol["pathComponents"]
            if kind == "swift.extension":
                continue
            if kind in TYPES:
                names = sorted(conformances.get(symbol["identifier"]["precise"], set()) - IMPLIED)
                head = declaration(symbol)
                word, _, rest = head.partition(f"{TYPES[kind]} ")
                name = ".".join(components)
                title = rest.replace(components[-1], name, 1) if rest else head
                line = f"{word}{TYPES[kind]} {title}" if rest else head
                if names and kind != "swift.protocol":  # a protocol's declaration has what it refines
                    line += f" : {', '.join(names)}"
                found.setdefault((name, 0), [None, set()])[0] = line
                continue
            owner = ".".join(components[:-1])
            key = (owner, 1 if of_another_module else 0)
            section = found.setdefault(key, [None, set()])
            section[1].add(declaration(symbol))
    return found


def write(module, graphs, output):
    lines = []
    for (owner, extended), (head, members) in sorted(sections(graphs).items()):
        lines.append(head or (f"extension {owner}" if owner else "global"))
        lines.extend(f"    {member}" for member in sorted(members))
        lines.append("")
    (output / f"{module}.txt").write_text("\n".join(lines))


def main():
    folder, output = map(pathlib.Path, sys.argv[1:])
    modules = {}
    for path in sorted(folder.glob("*.symbols.json")):
        modules.setdefault(path.name.split("@")[0].removesuffix(".symbols.json"), []).append(path)
    for module, graphs in modules.items():
        write(module, graphs, output)


if __name__ == "__main__":
    main()
