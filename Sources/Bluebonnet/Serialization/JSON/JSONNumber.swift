/// A number of a JSON text, kept as it is written there.
///
/// ``JSONValue`` holds one for what neither `Int64` nor `Double` can: an integer beyond `Int64`, a magnitude beyond
/// `Double`. No digit is lost.
public struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
    /// The number as JSON writes it (RFC 8259 §6).
    public let text: String

    /// Creates a number of its JSON text.
    ///
    /// - Parameter text: The number; `nil` results unless it has the form that RFC 8259 §6 prescribes.
    public init?(_ text: String) {
        guard Self.isNumber(text) else { return nil }
        self.text = text
    }

    /// Creates a number of a text that is known to be one.
    init(checked text: String) {
        self.text = text
    }

    /// The number as JSON writes it.
    public var description: String { text }

    private static func isNumber(_ text: String) -> Bool {
        var rest = Substring(text).utf8
        func skipDigits() -> Int {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            rest = rest.dropFirst(digits)
            return digits
        }
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let beginsWithZero = rest.first == UInt8(ascii: "0")
        let digits = skipDigits()
        guard digits > 0, !(beginsWithZero && digits > 1) else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard skipDigits() > 0 else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard skipDigits() > 0 else { return false }
        }
        return rest.isEmpty
    }
}
