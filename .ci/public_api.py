"""Writes the public API of the modules, a file for each, from their symbol graphs.

Usage: public_api.py GRAPHS OUTPUT

A type is a line at the margin, with its conformances; its members follow, indented and sorted. The members that a module
adds to a type of another module are listed under `extension`, and so are the conformances that it adds. A member that is
declared twice, as a requirement and its default implementation, is listed twice.
"""

import json
import pathlib
import subprocess
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
    if symbol["kind"]["identifier"] not in TYPES:
        # The constraints of the extension that declares the member; those of the member itself are in its declaration.
        own = symbol.get("swiftGenerics", {}).get("constraints", [])
        conditions = {
            f"{c['lhs']} {'==' if c['kind'] == 'sameType' else ':'} {c['rhs']}"
            for c in symbol.get("swiftExtension", {}).get("constraints", [])
            if c not in own and c["lhs"] == "Self"
        }
        if conditions:
            text += f"  // where {', '.join(sorted(conditions))}"
    return text


def readable(name):
    """The name of a type, which the graphs of other modules have in mangled form."""
    if not name.startswith("s:"):
        return name
    command = ["swift", "demangle", "--compact", "$" + name.replace(":", "", 1)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().split(".")[-1]


def sections(graphs):
    """The text of each section of a module: its first line, and its members' lines."""
    found = {}
    for path in graphs:
        graph = json.loads(path.read_text())
        of_another_module = "@" in path.name
        conformances, fallbacks = {}, {}
        for relation in graph["relationships"]:
            if relation["kind"] in ("conformsTo", "inheritsFrom"):
                name = relation.get("targetFallback", relation["target"]).split(".")[-1]
                if name.startswith("s:"):
                    name = next(
                        (s["names"]["title"] for s in graph["symbols"] if s["identifier"]["precise"] == name), name
                    )
                conformances.setdefault(relation["source"], set()).add(name)
                if "sourceFallback" in relation:
                    fallbacks[relation["source"]] = relation["sourceFallback"]
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
                found.setdefault((name, 0), [None, []])[0] = line
                continue
            owner = ".".join(components[:-1])
            key = (owner, 1 if of_another_module else 0)
            found.setdefault(key, [None, []])[1].append(declaration(symbol))
        known = {symbol["identifier"]["precise"] for symbol in graph["symbols"]}
        for source, names in conformances.items():
            names = names - IMPLIED
            if source in known or not names:
                continue
            owner = fallbacks.get(source, source).split(".", 1)[-1]
            names = sorted(readable(name) for name in names)
            found.setdefault((readable(owner), 1), [None, []])[1].append(f": {', '.join(names)}")
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
