/// Creates safe file names from suggestions of servers, and hidden names for partial files.
enum FileName {
    /// The maximum length of a name in bytes on Linux file systems.
    static let limit = 255

    /// The name of a file if the response does not suggest a usable name.
    static let fallback = "download"

    /// Returns a name that stays in its directory, is not hidden, and leaves room for a number.
    static func harmless(_ suggestion: String?) -> String {
        let last = (suggestion ?? "").unicodeScalars.split { $0 == "/" || $0 == "\\" }.last.map { Array($0) } ?? []
        // Marks of the direction can make `gpj.exe` look like `exe.jpg`.
        let kept = last.filter { $0.properties.generalCategory != .control && !$0.properties.isBidiControl }
        let visible = kept.drop { $0 == "." || $0.properties.isWhitespace }
        var name = String(String.UnicodeScalarView(visible))
        while name.last?.isWhitespace == true { name.removeLast() }
        guard !name.isEmpty else { return fallback }
        let (stem, suffix) = parts(of: name)
        return suffix.utf8.count < 32
            ? prefix(of: stem, limit: 200 - suffix.utf8.count) + suffix : prefix(of: name, limit: 200)
    }

    /// Returns the name with a number before its extension, such as `report 2.pdf`.
    static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, suffix) = parts(of: name)
        return "\(stem) \(number)\(suffix)"
    }

    /// Returns the name of the partial file for a file name.
    ///
    /// The result is always the same, so that a later process finds the partial file.
    static func partial(of name: String) -> String {
        guard name.utf8.count > limit - 40 else { return ".\(name).part" }
        return ".\(prefix(of: name, limit: 180))-\(String(fingerprint(name), radix: 16)).part"
    }

    /// Returns an unguessable name for a new file.
    static func unique() -> String {
        "Bluebonnet-" + token()
    }

    /// Returns random letters and digits.
    static func token() -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 36)
        return String(repeating: "0", count: max(0, 13 - number.count)) + number
    }

    /// Returns the name without its extension, and the extension.
    ///
    /// `.tar.gz` is treated as one extension.
    private static func parts(of name: String) -> (stem: String, suffix: String) {
        guard var dot = name.lastIndex(of: "."), dot > name.startIndex else { return (name, "") }
        let stem = name[..<dot]
        if stem.hasSuffix(".tar"), stem.count > 4 { dot = name.index(dot, offsetBy: -4) }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// Returns as many characters as fit into a number of bytes.
    private static func prefix(of text: String, limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var count = 0
        let end = text.indices.first {
            count += text[$0].utf8.count
            return count > limit
        }
        return String(text[..<(end ?? text.endIndex)])
    }

    /// Returns the 64-bit FNV-1a hash, which is the same in every process, unlike a hash of `Hasher`.
    private static func fingerprint(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
