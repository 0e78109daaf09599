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
