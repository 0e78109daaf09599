import Bluebonnet

/// The unique token of an exchange, as every piece of its answer carries it.
///
/// Written with four letters whose codes of HPACK (RFC 7541, appendix B) have eight bits, so that HTTP/2 clients
/// send it as it is, and the peer finds it in a block of fields without decoding that.
struct ExchangeMark: Hashable, Sendable {
    let value: UInt64

    private static let letters = Array("XZ&*".utf8)
    static let length = 32

    /// The 32 letters.
    var bytes: [UInt8] { (0..<Self.length).map { Self.letters[Int(value >> UInt64(2 * $0) & 3)] } }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// All marks that occur in bytes: runs of exactly as many letters as a mark has.
    static func all(in bytes: some Sequence<UInt8>) -> [ExchangeMark] {
        var found: [ExchangeMark] = []
        var value: UInt64 = 0
        var length = 0
        func finish() {
            if length == Self.length { found.append(ExchangeMark(value: value)) }
        }
        for byte in bytes {
            let digit: UInt64
            switch byte {
            case 0x58: digit = 0
            case 0x5A: digit = 1
            case 0x26: digit = 2
            case 0x2A: digit = 3
            default:
                finish()
                length = 0
                value = 0
                continue
            }
            if length < Self.length { value |= digit << UInt64(2 * length) }
            length += 1
        }
        finish()
        return found
    }
}

/// Knows to which resource every mark belongs that was given out, and to which host every secret.
final class ExchangeMarkRegistry: Sendable {
    private struct State {
        var resources: [ExchangeMark: UInt64] = [:]
        var secrets: [ExchangeMark: String] = [:]
        /// When unsolicited bytes of an exchange went out.
        var unasked: [ExchangeMark: Int] = [:]
    }

    private let state = Locked(State())

    func note(_ mark: ExchangeMark, resource: UInt64) {
        state.withLock { $0.resources[mark] = resource }
    }

    func forget(_ mark: ExchangeMark) {
        state.withLock { _ = $0.resources.removeValue(forKey: mark) }
    }

    func noteUnasked(_ mark: ExchangeMark, at time: Int) {
        state.withLock { $0.unasked[mark] = time }
    }

    /// Whether unsolicited bytes of an exchange went out after a time.
    func wasUnasked(_ mark: ExchangeMark, since time: Int) -> Bool {
        state.withLock { ($0.unasked[mark] ?? 0) > time }
    }

    func note(secret: ExchangeMark, for scope: String) {
        state.withLock { $0.secrets[secret] = scope }
    }

    /// A mark in the bytes that another resource's exchange owns.
    func foreignMark(in bytes: some Sequence<UInt8>, resource: UInt64) -> ExchangeMark? {
        let found = Set(ExchangeMark.all(in: bytes))
        guard !found.isEmpty else { return nil }
        return state.withLock { state in
            found.first { mark in state.resources[mark].map { $0 != resource } ?? false }
        }
    }

    /// A secret in the head of a request that is not for the place that received it: the scopes that it may go to.
    func misplacedSecret(in marks: [ExchangeMark], scopes: Set<String>) -> String? {
        state.withLock { state in
            marks.compactMap { state.secrets[$0] }.first { !scopes.contains($0) }
        }
    }

    /// Forgets everything; only when no exchange is under way.
    func reset() {
        state.withLock { $0 = State() }
    }
}
