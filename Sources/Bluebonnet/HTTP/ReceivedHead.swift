import Synchronization

/// Keeps the head of a response as it was received, and reads from it what is asked for.
///
/// A response's fields are rarely all looked at: the bytes stay one buffer, a single value is found by scanning it, and
/// the fields are parsed as a whole at the first use of ``headers``. Lines may end in CRLF or a bare LF; a folded line
/// (RFC 9112 §5.2) continues the value of the one before it.
package final class ReceivedHead: Sendable {
    /// The status code, of three digits.
    package let statusCode: Int

    /// The version in the status line.
    package let httpVersion: HTTPVersion

    private let bytes: [UInt8]
    private let parsed = LazyReference<ParsedFields>()

    /// Parses the status line; nil when it is malformed.
    ///
    /// - Parameter bytes: The status line and the field lines, with or without the empty line at the end.
    package init?(bytes: [UInt8]) {
        guard let (httpVersion, statusCode) = StatusLine.parse(bytes.span) else { return nil }
        self.httpVersion = httpVersion
        self.statusCode = statusCode
        self.bytes = bytes
    }

    /// Creates a head that was not received but made.
    package init(statusCode: Int, httpVersion: HTTPVersion, headers: HTTPHeaders) {
        self.statusCode = statusCode
        self.httpVersion = httpVersion
        bytes = []
        _ = parsed.storeIfNil(ParsedFields(headers))
    }

    /// The text after the status code, if there is any; HTTP/2 has none.
    package var reasonPhrase: String? {
        let line = bytes.prefix { $0 != 0x0a }
        guard let phrase = line.split(separator: 0x20, maxSplits: 2).dropFirst(2).first else { return nil }
        let text = FieldLine.text(phrase)
        return text.isEmpty ? nil : text
    }

    /// The fields in the order received, parsed at the first use.
    package var headers: HTTPHeaders {
        if let parsed = parsed.load() {
            return parsed.headers
        }
        return parsed.storeIfNil(ParsedFields(parse())).headers
    }

    /// Returns the values of all fields of the name, joined with `, `.
    package func value(for name: String) -> String? {
        if let parsed = parsed.load() {
            return parsed.headers.value(for: name)
        }
        let bytes = self.bytes
        let span = bytes.span
        let name = name.utf8.span
        var value: String?
        var scanner = FieldScanner(span)
        while let line = scanner.next(in: span) {
            guard line.isNamed(name, in: span) else { continue }
            let text = line.value(in: bytes)
            value = value.map { "\($0), \(text)" } ?? text
        }
        return value
    }

    private func parse() -> HTTPHeaders {
        let bytes = self.bytes
        let span = bytes.span
        var fields: [HTTPHeader] = []
        fields.reserveCapacity(16)
        var scanner = FieldScanner(span)
        while let line = scanner.next(in: span) {
            fields.append(HTTPHeader(name: FieldLine.text(bytes[line.name]), value: line.value(in: bytes)))
        }
        return HTTPHeaders(fields)
    }
}

/// Keeps parsed fields where an atomic reference can point to them.
private final class ParsedFields: Sendable {
    let headers: HTTPHeaders

    init(_ headers: HTTPHeaders) {
        self.headers = headers
    }
}
