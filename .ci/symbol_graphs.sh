# shellcheck shell=bash
# Makes symbol graphs of the library's modules. Sourced by .ci/docs and .ci/public_api.

# Puts the symbol graphs of modules, and of what they add to others' types (Module@Other.symbols.json), into a folder.
collect_symbol_graphs() {
    local folder=$1 module found output
    shift
    found=$(swift build --show-bin-path)
    found=$(dirname "$found")/symbolgraph
    rm -rf "$found" # it may hold modules that are gone
    # Where there are tests that are not built, this fails for them, after it has written the rest.
    output=$(swift package dump-symbol-graph --minimum-access-level public --skip-synthesized-members 2>&1) || true
    for module in "$@"; do
        [[ -f $found/$module.symbols.json ]] || {
            printf '%s\n' "$output" "error: there is no symbol graph of $module" >&2
            return 1
        }
        cp "$found/$module".symbols.json "$folder"
        find "$found" -name "$module@*.symbols.json" -exec cp {} "$folder" \;
    done
}
