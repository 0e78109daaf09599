import FoundationEssentials

/// Decides how to request the rest of a representation, and how to handle the response.
///
/// The value is created with the properties of the partial file, and later receives responses.
struct ResumeDecision: Hashable, Sendable {
    /// The number of bytes in the partial file.
    let size: Int64
    /// The validator of the representation in the partial file.
    let validator: ResumeValidator
    /// The size of the whole representation in bytes, or `nil` if it is unknown.
    let total: Int64?

    /// Creates the decision, or returns `nil` if the partial file cannot be resumed.
    init?(size: Int64, validator: ResumeValidator, total: Int64?) {
        guard size > 0, size <= total ?? .max else { return nil }
        self.size = size
        self.validator = validator
        self.total = total
    }

    /// The position of the first requested byte.
    ///
    /// If no bytes are missing, the last byte is requested again. The response shows whether the server still has the
    /// same representation.
    var start: Int64 { size == total ? size - 1 : size }

    /// The fields that request the rest of the representation, or the whole representation if it has changed (RFC 9110
    /// §13.1.5, §14.2).
    ///
    /// The request refuses content codings, because ranges would otherwise refer to encoded bytes.
    var fields: HTTPHeaders {
        ["Range": "bytes=\(start)-", "If-Range": validator.fieldValue, "Accept-Encoding": "identity"]
    }

    /// The meaning of a response.
    enum ResponseMeaning: Hashable, Sendable {
        /// The body continues at a position in the partial file.
        ///
        /// The partial file is truncated at this position. `end` is the position at which the body ends. `total` is the
        /// size of the whole representation, or `nil` if it is unknown.
        case append(at: Int64, end: Int64, total: Int64?)
        /// The body is the whole representation, because the resource has changed or the server does not support
        /// ranges.
        case whole
        /// The partial file is complete.
        case complete
        /// The response cannot be used, so the whole representation must be requested.
        case startOver
        /// The response contains neither the rest nor the whole representation.
        ///
        /// The partial file is kept.
        case refused(statusCode: Int)
    }

    /// Returns the meaning of a response to a request with these fields.
    func answer(_ response: HTTPResponse) -> ResponseMeaning {
        switch response.statusCode {
        case 200: response.isPartSentAsWhole(of: validator, total: total) ? .startOver : .whole
        case 206: partialContent(response)
        case 416: rangeNotSatisfiable(response)
        case let code: .refused(statusCode: code)
        }
    }

    private func partialContent(_ response: HTTPResponse) -> ResponseMeaning {
        guard !validator.isContradicted(by: response), response.head.isUncoded,
            let range = response.headers["Content-Range"].flatMap({ ContentRange($0) }),
            case .bytes(let first, let last, let total) = range
        else { return .startOver }
        guard first <= start, total == nil || self.total == nil || total == self.total else { return .startOver }
        let known = total ?? self.total
        // A response without new bytes could cause an endless loop of the same request.
        guard last >= start, last < known ?? .max else { return .startOver }
        return .append(at: first, end: last + 1, total: known)
    }

    private func rangeNotSatisfiable(_ response: HTTPResponse) -> ResponseMeaning {
        guard total == nil || total == size, !validator.isContradicted(by: response),
            response.headers["Content-Range"].flatMap({ ContentRange($0) }) == .unsatisfied(total: size)
        else { return .startOver }
        return .complete
    }
}

/// Decides whether an interrupted download resumes automatically, and when.
///
/// The value receives each interruption. The number of attempts with progress is unlimited. The number of attempts
/// without progress is limited, and the delay before each of them increases.
struct AutomaticResumption: Hashable, Sendable {
    /// The number of bytes that an attempt must receive to count as progress.
    static let minimumProgress: Int64 = 1024

    /// The number of attempts in a row without progress at which automatic resuming ends.
    static let limit = 5

    /// The delay before the next attempt if the last attempt made progress.
    static let shortestDelay: Duration = .milliseconds(500)

    /// The number of attempts in a row without progress.
    private(set) var attemptsWithoutProgress = 0

    /// Records an interruption, and returns the delay before the next attempt.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure that ended the attempt.
    ///   - gained: The number of bytes that the attempt added to what was received before.
    ///   - canResume: Whether the download can be resumed.
    ///   - spread: A random number from 0 to 1. It extends the delay by up to half, so that clients that were
    ///     interrupted at the same time do not all reconnect at the same time.
    /// - Returns: The delay, or `nil` if the download is not resumed automatically.
    mutating func interrupted(
        by kind: RequestError.Kind, gained: Int64, canResume: Bool, spread: Double
    ) -> Duration? {
        guard canResume, Self.isInterruption(kind) else { return nil }
        attemptsWithoutProgress = gained >= Self.minimumProgress ? 0 : attemptsWithoutProgress + 1
        guard attemptsWithoutProgress < Self.limit else { return nil }
        let delay = Self.shortestDelay * (1 << attemptsWithoutProgress)
        return delay + delay / 2 * min(max(spread, 0), 1)
    }

    /// Returns whether the failure is an interruption, so that the next attempt may succeed.
    ///
    /// The timeout of the whole exchange is not an interruption, because the user has chosen it.
    static func isInterruption(_ kind: RequestError.Kind) -> Bool {
        switch kind {
        case .connection(.nameNotResolved), .connection(.refused), .connection(.lost), .connection(.http2),
            .connection(.http3):
            true
        case .timedOut(.connect), .timedOut(.idle): true
        case .invalidResponse(.truncated), .invalidResponse(.http2Stream), .invalidResponse(.http3Stream): true
        default: false
        }
    }
}
