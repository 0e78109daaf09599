package import FoundationEssentials

/// A rule that accepts or refuses a response.
package enum ResponseValidator: Sendable {
    /// Checks the request as it was sent, the head of the response, and the body if it is in memory.
    package typealias Check = @Sendable (HTTPRequest?, HTTPResponse, Data?) throws -> ValidationResult

    /// Accepts these status codes.
    case statusCodes(StatusCodes)
    /// Accepts these content types, such as `application/json`, `text/*` or `*/*`.
    case contentTypes([String])
    /// Accepts the content types in the `Accept` field of the request, or all content types if the field is missing or
    /// empty.
    case accepted
    /// Accepts the responses that a closure accepts.
    case custom(Check)

    /// Accepts the status codes 200 to 299.
    package static let success = ResponseValidator.statusCodes(.range(200..<300))

    /// Checks a response; throws an error with the reason of a refusal, but without the response.
    package func check(request: HTTPRequest?, response: HTTPResponse, data: Data?) throws(RequestError) {
        switch self {
        case .statusCodes(let codes):
            guard !codes.contains(response.statusCode) else { return }
            throw RequestError(.validation(.unacceptableStatusCode(response.statusCode)))
        case .contentTypes(let types):
            // A body that is not in memory (a stream, a file) is assumed not to be empty.
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
    /// Returns the error of a request whose validator threw or returned an error of any type.
    ///
    /// An error that is already a ``RequestError`` also becomes an underlying error, because it may belong to another
    /// request.
    package static func wrappingValidator(_ error: any Error) -> RequestError {
        RequestError(.validation(.customValidationFailed), underlying: error)
    }
}

extension [ResponseValidator] {
    /// Runs the validators in order until a validator refuses the response.
    ///
    /// - Throws: The error of the validator, with the response and the first 64 KiB of the body.
    package func run(request: HTTPRequest?, response: HTTPResponse, data: Data?) throws(RequestError) {
        for validator in self {
            do {
                try validator.check(request: request, response: response, data: data)
            } catch {
                throw error.response == nil ? error.about(response, body: data) : error
            }
        }
    }
}

/// The status codes that a validator accepts.
package enum StatusCodes: Hashable, Sendable {
    case range(Range<Int>)
    case set(Set<Int>)

    /// The maximum number of elements to read from a sequence, which may be infinite.
    static let sequenceLimit = 10_000

    init(_ codes: some Sequence<Int>) {
        switch codes {
        case let range as Range<Int>: self = .range(range)
        case let range as ClosedRange<Int>:
            // Int.max is not a status code; leaving it out avoids an overflow.
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

/// Decides whether the media type of a response is acceptable (RFC 9110 §12.5.1).
///
/// The check runs for many responses, so it compares slices of the fields instead of copies.
enum ContentTypeRule {
    /// Checks the media type of a response that has a body.
    ///
    /// Parameters such as `q` are ignored. A response without a valid media type is accepted only if every type is
    /// acceptable.
    static func check(_ response: HTTPResponse, acceptable: [String]) throws(RequestError) {
        let mediaType = mediaType(of: response)
        guard !acceptable.contains(where: { accepts(Substring($0), mediaType) }) else { return }
        throw refusal(response, acceptable)
    }

    /// Checks the media type of a response against an `Accept` field; a missing or empty field accepts every type.
    static func check(_ response: HTTPResponse, accept: String?) throws(RequestError) {
        guard let accept else { return }
        let mediaType = mediaType(of: response)
        var rest = accept.utf8[...]
        var acceptable: [String] = []
        while let element = rest.takeElement() {
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

/// The result of a validator: success, or the error for a refused response.
public typealias ValidationResult = Result<Void, any Error>
