/// Replaces the values of members with secret names in JSON text, and leaves the rest of the text as it is.
///
/// It scans for strings and colons only, so that text that is cut off, or several texts in a row, are redacted too.
struct JSONRedactor {
    private let bytes: [UInt8]
    private var output: [UInt8] = []
    private var index = 0

    private init(_ text: String) {
        bytes = Array(text.utf8)
    }

    static func redact(_ text: String) -> String {
        var redactor = JSONRedactor(text)
        redactor.run()
        return String(decoding: redactor.output, as: UTF8.self)
    }

    private mutating func run() {
        output.reserveCapacity(bytes.count)
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\"") else {
                output.append(bytes[index])
                index += 1
                continue
            }
            let name = bytes[index..<endOfString(from: index)]
            output += name
            index = name.endIndex
            guard let valueStart = startOfValue() else {
                redactIfToken(name)
                continue
            }
            guard isSecret(name, valueAt: valueStart) else { continue }
            output += bytes[index..<valueStart]
            output += Array("\"\(Redaction.placeholder)\"".utf8)
            index = endOfValue(from: valueStart)
        }
    }

    private func isSecret(_ name: ArraySlice<UInt8>, valueAt start: Int) -> Bool {
        // Truth values and null are no secrets.
        guard start < bytes.count, !"tfn".utf8.contains(bytes[start]) else { return false }
        let isNumber = bytes[start] == UInt8(ascii: "-") || bytes[start] &- UInt8(ascii: "0") < 10
        return SecretNames.isSecretMember(String(decoding: name, as: UTF8.self), isNumber: isNumber)
    }

    /// Replaces the string that was just copied if it is a secret by the look of it.
    private mutating func redactIfToken(_ string: ArraySlice<UInt8>) {
        guard SecretNames.isSecretValue(String(decoding: string.dropFirst(), as: UTF8.self)) else { return }
        output.removeLast(string.count)
        output += Array("\"\(Redaction.placeholder)\"".utf8)
    }

    /// Returns where the value begins if what comes next is a colon.
    private func startOfValue() -> Int? {
        let colon = skipSpace(from: index)
        guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { return nil }
        return skipSpace(from: colon + 1)
    }

    private func skipSpace(from start: Int) -> Int {
        bytes[start...].firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.endIndex
    }

    /// Returns the position after the closing quotation mark, or the end.
    private func endOfString(from start: Int) -> Int {
        var position = start + 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return bytes.endIndex
    }

    /// Returns the position after a value: a string, an array or object up to its end, or a word.
    private func endOfValue(from start: Int) -> Int {
        var depth = 0
        var position = start
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position = endOfString(from: position)
                if depth == 0 { return position }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return position }
                depth -= 1
                position += 1
                if depth == 0 { return position }
            case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
                if depth == 0 { return position }
                position += 1
            default: position += 1
            }
        }
        return bytes.endIndex
    }
}
