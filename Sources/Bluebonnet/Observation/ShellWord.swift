/// Writes texts so that a shell takes them as one word, character for character.
enum ShellWord {
    /// Returns the text in quotes.
    ///
    /// In single quotes every character stands for itself (POSIX, Shell Command Language §2.2.2). Control characters
    /// other than line feeds would not survive being pasted into a terminal: a text with some is written as bash's
    /// `$'…'`.
    static func quote(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else {
            return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }
        var word = "$'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'": word += "\\'"
            case "\\": word += "\\\\"
            case "\n": word += "\\n"
            case "\r": word += "\\r"
            case "\t": word += "\\t"
            case _ where isControl(scalar): word += String(scalar).utf8.map(octal).joined()
            default: word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }

    /// Returns a quoted format for `printf` with which it prints the bytes.
    static func printfFormat(_ bytes: some Collection<UInt8>) -> String {
        var word = "'"
        for (position, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "'"), 0..<0x20, 0x7F...: word += octal(byte)
            // The first word of the arguments must not look like an option.
            case UInt8(ascii: "-") where position == 0: word += octal(byte)
            case UInt8(ascii: "%"): word += "%%"
            case UInt8(ascii: "\\"): word += "\\\\"
            default: word.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return word + "'"
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar != "\n" && scalar.properties.generalCategory == .control
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
    }
}
