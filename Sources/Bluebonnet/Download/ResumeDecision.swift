import FoundationEssentials

/// Decides how the rest of a representation is asked for, and what the answer means for the part that is there.
///
/// A pure value: what is known of the part goes in at the beginning, responses later.
struct ResumeDecision: Hashable, Sendable {
    /// How many bytes there are.
    let size: Int64
    /// What they are bytes of.
    let validator: ResumeValidator
    /// How many bytes the whole has, if that is known.
    let total: Int64?

    /// Creates the decision; nil when there is nothing that could be gone on from.
    init?(size: Int64, validator: ResumeValidator, total: Int64?) {
        guard size > 0, size <= total ?? .max else { return nil }
        self.size = size
        self.validator = validator
        self.total = total
    }

    /// The first byte that is asked for.
    ///
    /// Where nothing is missing, the last byte is fetched again: that it is still there, and still of the same
    /// representation, makes the part the whole, and the answer is a response like any other.
    var start: Int64 { size == total ? size - 1 : size }

    /// The fields that ask for the rest, or for all of it if it has changed (RFC 9110 §13.1.5, §14.2).
    ///
    /// Ranges are counted in the coded form where there is a content coding, so none is asked for.
    var fields: HTTPHeaders {
        ["Range": "bytes=\(start)-", "If-Range": validator.fieldValue, "Accept-Encoding": "identity"]
    }

    /// What an answer means.
    enum Answer: Hashable, Sendable {
        /// The body goes on from a position in the part; what is there from that on is cut off.
        ///
        /// `end` is where it will end, `total` how many bytes the whole has, if that is known.
        case append(at: Int64, end: Int64, total: Int64?)
        /// The body is all of the representation: what is there is of another, or the server sends no ranges.
        case whole
        /// Nothing is missing: the part is the whole.
        case complete
        /// The answer is of no use: all of it must be asked for.
        case startOver
        /// Neither the rest nor the whole; the part stays.
        case refused(statusCode: Int)
    }

    /// Returns what the response to a request with these fields means.
    func answer(_ response: HTTPResponse) -> Answer {
        switch response.statusCode {
        case 200: .whole
        case 206: partialContent(response)
        case 416: rangeNotSatisfiable(response)
        case let code: .refused(statusCode: code)
        }
    }

    private func partialContent(_ response: HTTPResponse) -> Answer {
        guard !validator.isContradicted(by: response), response.isUncoded,
            let range = response.headers["Content-Range"].flatMap({ ContentRange($0) }),
            case .bytes(let first, let last, let total) = range
        else { return .startOver }
        guard first <= start, total == nil || self.total == nil || total == self.total else { return .startOver }
        let known = total ?? self.total
        // An answer that gives nothing new could be asked for again and again.
        guard last >= start, last < known ?? .max else { return .startOver }
        return .append(at: first, end: last + 1, total: known)
    }

    private func rangeNotSatisfiable(_ response: HTTPResponse) -> Answer {
        guard total == nil || total == size, !validator.isContradicted(by: response),
            response.headers["Content-Range"].flatMap({ ContentRange($0) }) == .unsatisfied(total: size)
        else { return .startOver }
        return .complete
    }
}

extension HTTPResponse {
    /// Whether the body is the representation itself, not a coded form of it.
    var isUncoded: Bool {
        guard let coding = headers["Content-Encoding"] else { return true }
        return coding.isEmpty || coding.isSameIgnoringCase(as: "identity")
    }
}
