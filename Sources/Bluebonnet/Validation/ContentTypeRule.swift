/// Decides whether a response's media type is one that was asked for (RFC 9110 §12.5.1).
///
/// Runs for every response that is validated, so it compares slices of the fields and makes nothing new of them.
enum ContentTypeRule {
    /// Checks the media type of a response that has a body.
    ///
    /// Parameters, `q` among them, do not count. A response without a media type, or with one that cannot be parsed,
    /// passes only where everything does.
    static func check(_ response: HTTPResponse, acceptable: [String]) throws(RequestError) {
        let contentType = response.head.value(for: "Content-Type")
        let mediaType = contentType.flatMap { MediaRange(Substring($0)) }
        guard !acceptable.contains(where: { accepts(Substring($0), mediaType) }) else { return }
        throw refusal(response, acceptable)
    }

    /// Checks the media type of a response against an `Accept` field; no field, or an empty one, takes everything.
    static func check(_ response: HTTPResponse, accept: String?) throws(RequestError) {
        guard let accept else { return }
        let contentType = response.head.value(for: "Content-Type")
        let mediaType = contentType.flatMap { MediaRange(Substring($0)) }
        var elements = ListElements(accept)
        var acceptable: [String] = []
        while let element = elements.next() {
            if accepts(element, mediaType) { return }
            acceptable.append(String(element.prefix { $0 != ";" }.trimmed))
        }
        guard !acceptable.isEmpty else { return }
        throw refusal(response, acceptable)
    }

    private static func accepts(_ range: Substring, _ mediaType: MediaRange?) -> Bool {
        guard let range = MediaRange(range) else { return false }
        guard let mediaType else { return range.isEverything }
        return range.includes(mediaType)
    }

    private static func refusal(_ response: HTTPResponse, _ acceptable: [String]) -> RequestError {
        guard let mediaType = response.mimeType else {
            return RequestError(.validation(.missingContentType(acceptable: acceptable.sorted())))
        }
        return RequestError(.validation(.unacceptableContentType(mediaType, acceptable: acceptable.sorted())))
    }
}

/// A media type or range of them, as slices of a field.
private struct MediaRange {
    private let type: Substring
    private let subtype: Substring

    init?(_ text: Substring) {
        let essence = Substring(text.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }).trimmed
        guard let slash = essence.utf8.firstIndex(of: UInt8(ascii: "/")) else {
            // Java's clients ask for `*; q=.2`.
            guard essence == "*" else { return nil }
            type = essence
            subtype = essence
            return
        }
        type = essence[..<slash]
        subtype = essence[essence.utf8.index(after: slash)...]
        guard Self.isToken(type), Self.isToken(subtype) else { return nil }
    }

    var isEverything: Bool { type == "*" && subtype == "*" }

    func includes(_ other: MediaRange) -> Bool {
        Self.includes(type, other.type) && Self.includes(subtype, other.subtype)
    }

    private static func includes(_ range: Substring, _ value: Substring) -> Bool {
        range == "*"
            || range.utf8.elementsEqual(value.utf8) { FieldSyntax.lowercased($0) == FieldSyntax.lowercased($1) }
    }

    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { FieldSyntax.isTokenByte($0) }
    }
}

/// The elements of a list between its commas (RFC 9110 §5.6.1); commas in quotes do not separate.
private struct ListElements {
    private var rest: Substring.UTF8View

    init(_ value: String) {
        rest = value.utf8[...]
    }

    /// Returns the next element that is not empty.
    mutating func next() -> Substring? {
        while !rest.isEmpty {
            let end = endOfElement
            let element = Substring(rest[..<end]).trimmed
            rest = rest[end...].dropFirst()
            if !element.isEmpty { return element }
        }
        return nil
    }

    private var endOfElement: Substring.Index {
        var isQuoted = false
        var isEscaped = false
        for index in rest.indices {
            let byte = rest[index]
            if byte == UInt8(ascii: ","), !isQuoted { return index }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped
        }
        return rest.endIndex
    }
}
