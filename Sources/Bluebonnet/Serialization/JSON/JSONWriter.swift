/// Writes JSON text.
struct JSONWriter {
    /// The text so far, in UTF-8.
    private(set) var bytes: [UInt8] = []

    private let isPretty: Bool
    private var depth = 0

    init(isPretty: Bool) {
        self.isPretty = isPretty
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: write("null")
        case .bool(let value): write(value ? "true" : "false")
        case .integer(let value): write("\(value)")
        case .double(let value): write(value.isFinite ? "\(value)" : "null")
        case .number(let number): write(number.text)
        case .string(let text): writeString(text)
        case .array(let elements): writeArray(elements)
        case .object(let members): writeObject(members)
        }
    }

    private mutating func write(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func writeArray(_ elements: [JSONValue]) {
        bytes.append(UInt8(ascii: "["))
        depth += 1
        var isFirst = true
        for element in elements {
            separate(isFirst: &isFirst)
            write(element)
        }
        depth -= 1
        if !elements.isEmpty { breakLine() }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func writeObject(_ members: [String: JSONValue]) {
        bytes.append(UInt8(ascii: "{"))
        depth += 1
        var isFirst = true
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            separate(isFirst: &isFirst)
            writeString(name)
            write(isPretty ? ": " : ":")
            write(value)
        }
        depth -= 1
        if !members.isEmpty { breakLine() }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func separate(isFirst: inout Bool) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        breakLine()
    }

    private mutating func breakLine() {
        guard isPretty else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
    }

    private mutating func writeString(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): write("\\\"")
            case UInt8(ascii: "\\"): write("\\\\")
            case UInt8(ascii: "\n"): write("\\n")
            case UInt8(ascii: "\r"): write("\\r")
            case UInt8(ascii: "\t"): write("\\t")
            case 0..<0x20, 0x7F:
                let digits = String(byte, radix: 16)
                write("\\u00" + (digits.utf8.count == 1 ? "0" : "") + digits)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
