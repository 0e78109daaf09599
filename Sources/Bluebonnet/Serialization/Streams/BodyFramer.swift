import FoundationEssentials

/// Makes elements of the pieces in which a body comes, whatever their borders are.
///
/// ``next()`` is called until it returns `nil` after each piece, and again after ``finish()``.
protocol BodyFramer: SendableMetatype {
    /// What it makes.
    associatedtype Element: Sendable

    /// Takes the next piece of the body.
    mutating func append(_ piece: Data) throws(RequestError)

    /// Takes note that the body is complete.
    mutating func finish() throws(RequestError)

    /// Returns the next element, if it is complete.
    mutating func next() throws(RequestError) -> Element?
}

extension TextLineFramer: BodyFramer {}

extension NewlineDelimitedJSON: BodyFramer {}

extension ServerSentEventParser: BodyFramer {
    /// Drops an event that is not complete, as the standard asks.
    mutating func finish() {}
}

/// Passes the pieces on as they are.
struct PieceFramer: BodyFramer {
    private var piece: Data?

    mutating func append(_ piece: Data) { self.piece = piece }

    mutating func finish() {}

    mutating func next() -> Data? { piece.take() }
}

/// Makes text of the pieces: UTF-8, with U+FFFD for what is malformed.
struct TextPieceFramer: BodyFramer {
    private var decoder = TextFramer(encoding: .utf8)
    private var text = ""

    mutating func append(_ piece: Data) throws(RequestError) { text += try decoder.decode(piece) }

    mutating func finish() throws(RequestError) { text += try decoder.finish() }

    mutating func next() -> String? {
        guard !text.isEmpty else { return nil }
        defer { text = "" }
        return text
    }
}
