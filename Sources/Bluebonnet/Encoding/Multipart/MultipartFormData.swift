import FoundationEssentials

/// Holds a form whose fields and files are sent as `multipart/form-data` (RFC 7578).
///
/// A value: a copy that is appended to leaves the original as it is. Parts are sent in the order in which they were
/// appended. They are read when they are sent, piece by piece, from where they are; neither the form nor a file of it has
/// to fit into memory. What is wrong with a part (a file that is missing, a name that cannot be sent) is reported when
/// the form is opened, encoded or written, the first one of all.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Texas", withName: "state")
/// form.append(photo, withName: "photo")
/// ```
///
/// ### How names are written
///
/// Names of fields and files are written as browsers do, by the HTML standard's "multipart/form-data encoding algorithm":
/// UTF-8, with `"` as `%22`, CR as `%0D` and LF as `%0A`, and nothing else changed. In the name of a field, a CR or LF
/// that stands alone becomes CR LF first; in the name of a file it does not. There is never a `filename*`, which RFC 7578
/// §4.2 forbids.
///
/// The rule loses something: percent signs and backslashes are not escaped. But it is what servers are tried with, and
/// they disagree about any other. Of the parsers that Bluebonnet is tested with, all of them Python's, `multipart` undoes
/// the three escapes, `werkzeug` only `%22`, `python-multipart` and the standard library's `email` none; those that undo
/// `%22` do so also where it was in the name. All but `multipart` take a backslash before a quote, or before any
/// character, for an escape: do not let a name end with one.
public struct MultipartFormData: Sendable {
    /// What separates the parts.
    public let boundary: String

    /// Whether the boundary is the user's own, and might be in a part.
    private let isBoundaryChosen: Bool
    private var parts: [MultipartPart] = []

    /// Creates an empty form with a boundary of 128 random bits.
    public init() {
        boundary = Self.randomBoundary()
        isBoundaryChosen = false
    }

    /// Creates an empty form with a boundary of one's own.
    ///
    /// The boundary is checked when the form is opened: 1 to 70 ASCII letters, digits, spaces and `'()+_,-./:=?`, no space
    /// at the end (RFC 2046 §5.1.1). That no part holds it is checked while the parts are read, which a form with a random
    /// boundary need not do.
    ///
    /// - Parameter boundary: The boundary, without the hyphens before and after it.
    public init(boundary: String) {
        self.boundary = boundary
        isBoundaryChosen = true
    }

    /// Returns a boundary that no part holds, as far as chance can tell.
    ///
    /// - Returns: A boundary with 128 random bits; a token, so that it needs no quotes.
    public static func randomBoundary() -> String { MultipartBoundary.random().text }

    /// The value of the `Content-Type` field: `multipart/form-data` with the boundary.
    public var contentType: String {
        "multipart/form-data; boundary=\(MultipartBoundary(text: boundary).parameterValue)"
    }

    /// Whether the form can be sent a second time, as after a redirect.
    ///
    /// It cannot when a part is a sequence that was appended itself, instead of by a closure that makes it.
    public var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    /// How many bytes the form has, delimiters and fields included.
    ///
    /// Looks up the files' sizes, each time and where it is called. `nil` when a sequence without a stated length is among
    /// the parts, or the form cannot be sent as it is; ``length()`` says why.
    public var contentLength: Int64? {
        guard let length = try? length() else { return nil }
        return length
    }

    /// Returns how many bytes the form has, delimiters and fields included.
    ///
    /// Looks up the files' sizes, each time and where it is called.
    ///
    /// - Returns: The number; `nil` when a sequence without a stated length is among the parts.
    /// - Throws: `.multipartEncoding` for the first part that cannot be sent, or for the boundary.
    public func length() throws(RequestError) -> Int64? {
        length(of: try preparedParts())
    }

    /// Checks all parts and makes the form ready to be read.
    ///
    /// Every file is opened once to see that it can be, and closed again; its size counts from now on. A sequence that can
    /// be read once is used up by the first reader that is asked for a piece. Off the loop.
    ///
    /// - Throws: `.multipartEncoding` for the first part that cannot be sent, or for the boundary.
    package func open() throws(RequestError) -> OpenBody {
        let prepared = try preparedParts()
        for part in prepared { try part.checkIsLeft() }
        return OpenBody(
            length: length(of: prepared),
            reader: MultipartReader(
                boundary: MultipartBoundary(text: boundary), parts: prepared, searchesBoundary: isBoundaryChosen))
    }

    /// Appends a part.
    mutating func append(_ part: MultipartPart) {
        parts.append(part)
    }

    private func preparedParts() throws(RequestError) -> [PreparedMultipartPart] {
        guard MultipartBoundary(text: boundary).isValid else {
            throw RequestError(.multipartEncoding(.boundaryInvalid(boundary)))
        }
        var prepared: [PreparedMultipartPart] = []
        prepared.reserveCapacity(parts.count)
        for part in parts { prepared.append(try part.prepared()) }
        return prepared
    }

    private func length(of parts: [PreparedMultipartPart]) -> Int64? {
        let boundary = MultipartBoundary(text: boundary)
        var total = Int64(boundary.closing(hasParts: !parts.isEmpty).utf8.count)
        for (index, part) in parts.enumerated() {
            guard let length = part.length else { return nil }
            let delimiter = index == 0 ? boundary.opening : boundary.delimiter
            let (sum, isTooLarge) = length.addingReportingOverflow(
                total + Int64(delimiter.utf8.count + part.head.count))
            // More than can be counted: what somebody stated.
            guard !isTooLarge else { return nil }
            total = sum
        }
        return total
    }
}
