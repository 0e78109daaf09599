package import FoundationEssentials

/// Accepts or refuses a response.
package struct ResponseValidator: Sendable {
    /// Looks at the request as it was sent, the head of the response, and the body where it is at hand.
    package typealias Check = @Sendable (HTTPRequest?, HTTPResponse, Data?) throws -> ValidationResult

    private enum Rule {
        case statusCodes(StatusCodes)
        case contentTypes([String])
        case accepted
        case custom(Check)
    }

    private let rule: Rule

    /// Accepts these status codes.
    package static func statusCodes(_ codes: some Sequence<Int>) -> ResponseValidator {
        ResponseValidator(rule: .statusCodes(StatusCodes(codes)))
    }

    /// Accepts 200 to 299.
    package static let success = ResponseValidator(rule: .statusCodes(.range(200..<300)))

    /// Accepts these content types, such as `application/json`, `text/*` or `*/*`.
    package static func contentTypes(_ types: some Sequence<String>) -> ResponseValidator {
        ResponseValidator(rule: .contentTypes(Array(types)))
    }

    /// Accepts the content types that the request's `Accept` names; all of them when it names none.
    package static let accepted = ResponseValidator(rule: .accepted)

    /// Accepts what a closure accepts.
    package static func custom(_ check: @escaping Check) -> ResponseValidator {
        ResponseValidator(rule: .custom(check))
    }

    /// Checks a response; the error says what is wrong, not yet about which response.
    package func check(request: HTTPRequest?, response: HTTPResponse, data: Data?) throws(RequestError) {
        switch rule {
        case .statusCodes(let codes):
            guard !codes.contains(response.statusCode) else { return }
            throw RequestError(.validation(.unacceptableStatusCode(response.statusCode)))
        case .contentTypes(let types):
            // A body that is not at hand (a stream, a file) counts as there.
            if data?.isEmpty != true { try ContentTypeRule.check(response, acceptable: types) }
        case .accepted:
            if data?.isEmpty != true { try ContentTypeRule.check(response, accept: request?.headers["Accept"]) }
        case .custom(let check):
            do {
                try check(request, response, data).get()
            } catch {
                throw RequestError.wrappingValidator(error)
            }
        }
    }
}

extension RequestError {
    /// Returns what a validator threw or returned, of whatever type, as the cause of a request's error.
    ///
    /// A ``RequestError`` may be that of another request, whose kind, URL and status say nothing about this one.
    package static func wrappingValidator(_ error: any Error) -> RequestError {
        RequestError(.validation(.customValidationFailed), underlying: error)
    }
}

/// The validators of a request, in the order in which they were added.
package struct ValidatorList: Sendable {
    private var validators: [ResponseValidator] = []

    /// Creates an empty list, which accepts everything.
    package init() {}

    /// Whether there is nothing to run.
    package var isEmpty: Bool { validators.isEmpty }

    /// Adds a validator.
    package mutating func append(_ validator: ResponseValidator) {
        validators.append(validator)
    }

    /// Adds what `validate()` stands for: a status code of 200 to 299, then a content type that was asked for.
    package mutating func appendDefaults() {
        validators.append(.success)
        validators.append(.accepted)
    }

    /// Runs the validators up to the first that refuses the response.
    ///
    /// - Throws: That one's error, with the response and the first 64 KiB of the body in it.
    package func run(request: HTTPRequest?, response: HTTPResponse, data: Data?) throws(RequestError) {
        for validator in validators {
            do {
                try validator.check(request: request, response: response, data: data)
            } catch {
                throw error.response == nil ? error.about(response, body: data) : error
            }
        }
    }
}

/// The status codes that a validator accepts.
enum StatusCodes: Hashable, Sendable {
    case range(Range<Int>)
    case set(Set<Int>)

    /// How many elements of a sequence are looked at: more than there are status codes, and an end to endless ones.
    static let sequenceLimit = 10_000

    init(_ codes: some Sequence<Int>) {
        switch codes {
        case let range as Range<Int>: self = .range(range)
        case let range as ClosedRange<Int>:
            // Int.max is no status code; leaving it out keeps the conversion from overflowing.
            self = .range(range.lowerBound..<(range.upperBound == .max ? .max : range.upperBound + 1))
        case let range as PartialRangeFrom<Int>: self = .range(range.lowerBound..<Int.max)
        default: self = .set(Set(codes.prefix(Self.sequenceLimit)))
        }
    }

    func contains(_ code: Int) -> Bool {
        switch self {
        case .range(let range): range.contains(code)
        case .set(let set): set.contains(code)
        }
    }
}

/// Decides whether a response's media type is one that was asked for (RFC 9110 §12.5.1).
///
/// Runs for every response that is validated, so it compares slices of the fields and makes nothing new of them.
enum ContentTypeRule {
    /// Checks the media type of a response that has a body.
    ///
    /// Parameters, `q` among them, do not count. A response without a media type, or with one that cannot be parsed,
    /// passes only where everything does.
    static func check(_ response: HTTPResponse, acceptable: [String]) throws(RequestError) {
        let mediaType = mediaType(of: response)
        guard !acceptable.contains(where: { accepts(Substring($0), mediaType) }) else { return }
        throw refusal(response, acceptable)
    }

    /// Checks the media type of a response against an `Accept` field; no field, or an empty one, takes everything.
    static func check(_ response: HTTPResponse, accept: String?) throws(RequestError) {
        guard let accept else { return }
        let mediaType = mediaType(of: response)
        var elements = ListElements(accept)
        var acceptable: [String] = []
        while let element = elements.next() {
            if accepts(element, mediaType) { return }
            acceptable.append(String(element.prefix { $0 != ";" }.trimmed))
        }
        guard !acceptable.isEmpty else { return }
        throw refusal(response, acceptable)
    }

    private static func mediaType(of response: HTTPResponse) -> MediaRange? {
        response.head.value(for: "Content-Type").flatMap { MediaRange($0[...], orAsterisk: true) }
    }

    private static func accepts(_ range: Substring, _ mediaType: MediaRange?) -> Bool {
        guard let range = MediaRange(range, orAsterisk: true) else { return false }
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

/// What a validator thinks of a response: success, or the error that refuses it.
public typealias ValidationResult = Result<Void, any Error>
