/// The data that tracing systems add to a trace in the `tracestate` field (W3C Trace Context §3.3).
///
/// The state consists of members, which have a key and a value. The most recent member comes first. There are at
/// most 32 members.
public struct TraceState: Hashable, Sendable, Described {
    /// The members in the form `key=value`.
    private var members: [String] = []

    /// The maximum number of members.
    private static let most = 32

    /// Creates a state from the `tracestate` fields of a message.
    ///
    /// If the same key occurs several times, its first member is used. If a member is invalid, or if there are more
    /// than 32 members, the state is empty.
    ///
    /// - Parameter fields: The values of all `tracestate` fields, in order; none by default.
    public init(_ fields: [String] = []) {
        let texts = fields.joined(separator: ",").split(separator: ",").map(\.trimmed).filter { !$0.isEmpty }
        guard texts.count <= Self.most, texts.allSatisfy(Self.isMember) else { return }
        for text in texts where self[String(text.prefix { $0 != "=" })] == nil { members.append(String(text)) }
    }

    /// Whether there are no members.
    public var isEmpty: Bool { members.isEmpty }

    /// The value of a member; `nil` if there is no such member.
    ///
    /// A new value makes its member the first member. If there are then more than 32 members, the last one is removed.
    /// An invalid key or value changes nothing. A key has 1 to 256 characters: `a` to `z`, digits and `_-*/@`. It
    /// begins with a letter or a digit. A value has 1 to 256 printable ASCII characters except `,` and `=`, and does
    /// not end with a space.
    ///
    /// - Parameter key: The key of the member.
    public subscript(key: String) -> String? {
        get { members.first { $0.hasPrefix("\(key)=") }.map { String($0.dropFirst(key.count + 1)) } }
        set {
            let member = newValue.map { "\(key)=\($0)" }
            if let member, !Self.isMember(member[...]) { return }
            members.removeAll { $0.hasPrefix("\(key)=") }
            if let member { members = Array(([member] + members).prefix(Self.most)) }
        }
    }

    /// The value of the `tracestate` field, with at most 512 characters (§3.3.1.5).
    ///
    /// To shorten the value, members with more than 128 characters are removed first, and the last members before
    /// others.
    package var text: String {
        var kept = members
        while kept.reduce(-1, { $0 + $1.utf8.count + 1 }) > 512 {
            kept.remove(at: kept.lastIndex { $0.utf8.count > 128 } ?? kept.count - 1)
        }
        return kept.joined(separator: ",")
    }

    private static func isMember(_ text: Substring) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].first, let last = parts[1].last else { return false }
        func isLetterOrDigit(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 || byte &- 0x30 < 10 }
        return parts.allSatisfy { $0.count <= 256 } && isLetterOrDigit(first) && last != 0x20
            && parts[0].allSatisfy { isLetterOrDigit($0) || "_-*/@".utf8.contains($0) }
            && parts[1].allSatisfy { 0x20...0x7e ~= $0 && $0 != 0x2c }
    }
}
