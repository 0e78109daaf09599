/// Parses JSON text by RFC 8259's grammar, from bytes straight to values.
///
/// It recurses once for each level of nesting, ``JSONValue/maximumDepth`` levels at most.
struct JSONParser {
    var index = 0
    var depth = 0

    /// Returns the value of a whole text.
    mutating func parse(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { index = 3 }
        skipSpace(bytes)
        let value = try parseValue(bytes)
        skipSpace(bytes)
        guard index == bytes.count else { throw error(.trailingBytes) }
        return value
    }

    func error(_ reason: JSONParsingError.Reason) -> JSONParsingError {
        JSONParsingError(reason: reason, offset: index)
    }

    func unexpected(_ bytes: Span<UInt8>) -> JSONParsingError {
        index < bytes.count ? error(.unexpectedByte(bytes[index])) : error(.unexpectedEnd)
    }

    private mutating func skipSpace(_ bytes: Span<UInt8>) {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    /// Moves past the byte if it is the next one, and says whether it was.
    mutating func skip(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func parseValue(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        guard index < bytes.count else { throw error(.unexpectedEnd) }
        switch bytes[index] {
        case UInt8(ascii: "\""): return .string(try parseString(bytes))
        case UInt8(ascii: "{"): return try parseObject(bytes)
        case UInt8(ascii: "["): return try parseArray(bytes)
        case UInt8(ascii: "t"):
            try parseWord("true", bytes)
            return .bool(true)
        case UInt8(ascii: "f"):
            try parseWord("false", bytes)
            return .bool(false)
        case UInt8(ascii: "n"):
            try parseWord("null", bytes)
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try parseNumber(bytes)
        default: throw unexpected(bytes)
        }
    }

    private mutating func parseWord(_ word: StaticString, _ bytes: Span<UInt8>) throws(JSONParsingError) {
        for byte in word.description.utf8 {
            guard skip(byte, bytes) else { throw unexpected(bytes) }
        }
    }

    private mutating func enter() throws(JSONParsingError) {
        guard depth < JSONValue.maximumDepth else { throw error(.tooDeep) }
        depth += 1
        index += 1
    }

    private mutating func parseArray(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        skipSpace(bytes)
        if skip(UInt8(ascii: "]"), bytes) { return .array(elements) }
        while true {
            skipSpace(bytes)
            elements.append(try parseValue(bytes))
            skipSpace(bytes)
            if skip(UInt8(ascii: ","), bytes) { continue }
            guard skip(UInt8(ascii: "]"), bytes) else { throw unexpected(bytes) }
            return .array(elements)
        }
    }

    private mutating func parseObject(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var members: [String: JSONValue] = [:]
        skipSpace(bytes)
        if skip(UInt8(ascii: "}"), bytes) { return .object(members) }
        while true {
            skipSpace(bytes)
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { throw unexpected(bytes) }
            let name = try parseString(bytes)
            skipSpace(bytes)
            guard skip(UInt8(ascii: ":"), bytes) else { throw unexpected(bytes) }
            skipSpace(bytes)
            members[name] = try parseValue(bytes)
            skipSpace(bytes)
            if skip(UInt8(ascii: ","), bytes) { continue }
            guard skip(UInt8(ascii: "}"), bytes) else { throw unexpected(bytes) }
            return .object(members)
        }
    }
}
