import Bluebonnet

/// Reads the lines of a request's head.
enum HeadParser {
    typealias Failure = RequestParser.Failure

    static func head(_ lines: [Range<Int>], of buffer: [UInt8]) throws(Failure) -> RequestHead {
        guard let first = lines.first else { throw .malformed("the request line is empty") }
        let (method, target, version) = try requestLine(buffer[first])
        let fields = try fieldList(lines[1...], of: buffer)
        var head = RequestHead(
            method: method, target: target, version: version, headers: HTTPHeaders(fields),
            keepsAlive: version != .http1_0)
        try applyFraming(fields, to: &head)
        return head
    }

    /// Reads the fields of a trailer section.
    static func fields(_ lines: [Range<Int>], of buffer: [UInt8]) throws(Failure) -> HTTPHeaders {
        HTTPHeaders(try fieldList(lines[...], of: buffer))
    }

    private static func requestLine(_ line: ArraySlice<UInt8>) throws(Failure) -> (HTTPMethod, String, HTTPVersion) {
        guard let first = line.firstIndex(of: .space), let last = line.lastIndex(of: .space), first < last else {
            throw .malformed("the request line has not three parts")
        }
        let method = line[..<first]
        let target = line[(first + 1)..<last]
        guard !method.isEmpty, method.allSatisfy(\.isTokenCharacter) else {
            throw .malformed("the method is not a token")
        }
        guard !target.isEmpty, target.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .malformed("the target has characters that are not allowed")
        }
        let version: HTTPVersion
        switch String(decoding: line[(last + 1)...], as: UTF8.self) {
        case "HTTP/1.1": version = .http1_1
        case "HTTP/1.0": version = .http1_0
        case let text where text.hasPrefix("HTTP/"): throw Failure(status: 505, reason: "\(text) is not spoken here")
        default: throw .malformed("the request line does not end with a version")
        }
        return (
            HTTPMethod(rawValue: String(decoding: method, as: UTF8.self)), String(decoding: target, as: UTF8.self),
            version
        )
    }

    private static func fieldList(
        _ lines: ArraySlice<Range<Int>>, of buffer: [UInt8]
    ) throws(Failure) -> [HTTPHeader] {
        var fields: [HTTPHeader] = []
        fields.reserveCapacity(lines.count)
        for range in lines {
            let line = buffer[range]
            guard let colon = line.firstIndex(of: .colon) else { throw .malformed("a field has no colon") }
            let name = line[..<colon]
            guard !name.isEmpty, name.allSatisfy(\.isTokenCharacter) else {
                throw .malformed("a field's name is not a token")
            }
            var value = line[(colon + 1)...]
            while let byte = value.first, byte.isWhitespace { value.removeFirst() }
            while let byte = value.last, byte.isWhitespace { value.removeLast() }
            guard value.allSatisfy(\.isFieldCharacter) else {
                throw .malformed("a field's value has characters that are not allowed")
            }
            fields.append(HTTPHeader(name: String(decoding: name, as: UTF8.self), value: String(fieldBytes: value)))
        }
        return fields
    }

    // MARK: What the fields say about the message

    private static func applyFraming(_ fields: [HTTPHeader], to head: inout RequestHead) throws(Failure) {
        var hosts = 0
        var length: Int?
        var codings: [String] = []
        for field in fields {
            switch field.name.utf8.count {
            case 4 where field.name.isEqualIgnoringCase(to: "host"):
                hosts += 1
            case 6 where field.name.isEqualIgnoringCase(to: "expect"):
                guard field.value.isEqualIgnoringCase(to: "100-continue") else {
                    throw Failure(status: 417, reason: "only 100-continue can be expected")
                }
                head.expectsContinue = head.version != .http1_0
            case 10 where field.name.isEqualIgnoringCase(to: "connection"):
                let options = list(field.value)
                if options.contains("close") {
                    head.keepsAlive = false
                } else if options.contains("keep-alive") {
                    head.keepsAlive = true
                }
            case 14 where field.name.isEqualIgnoringCase(to: "content-length"):
                let value = try contentLength(field.value)
                guard length == nil || length == value else { throw .malformed("there are two content lengths") }
                length = value
            case 17 where field.name.isEqualIgnoringCase(to: "transfer-encoding"):
                codings += list(field.value)
            default: break
            }
        }
        guard hosts == 1 || hosts == 0 && head.version == .http1_0 else {
            throw .malformed(hosts == 0 ? "the Host field is missing" : "there is more than one Host field")
        }
        head.framing = try framing(length: length, codings: codings, version: head.version)
    }

    private static func framing(
        length: Int?, codings: [String], version: HTTPVersion
    ) throws(Failure) -> RequestHead.Framing {
        guard !codings.isEmpty else {
            guard let length, length > 0 else { return .none }
            return .length(length)
        }
        guard version != .http1_0 else { throw .malformed("HTTP/1.0 has no transfer codings") }
        guard length == nil else { throw .malformed("there are both a content length and a transfer coding") }
        guard codings == ["chunked"] else {
            throw Failure(status: 501, reason: "no other transfer coding than chunked is known here")
        }
        return .chunked
    }

    private static func contentLength(_ text: String) throws(Failure) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let length = Int(text) else {
            throw .malformed("the content length is not a number")
        }
        return length
    }

    /// The members of a list (RFC 9110 §5.6.1), in lower case.
    private static func list(_ value: String) -> [String] {
        value.lowercased().split(separator: ",").compactMap { member in
            member.split(whereSeparator: { $0 == " " || $0 == "\t" }).first.map(String.init)
        }
    }
}
