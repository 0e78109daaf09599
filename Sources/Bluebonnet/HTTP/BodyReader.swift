package import FoundationEssentials

/// Produces the bytes of a request's body once, from its beginning to its end, in pieces.
///
/// Belongs to the one task that feeds a transfer; that runs on the global pool, never on the loop. A body that is sent
/// again gets a new reader.
package protocol BodyReader {
    /// Returns the next bytes, none of them empty, or `nil` at the end.
    ///
    /// It is not called again after it returned `nil` or threw. Cancelling the task ends a wait.
    mutating func next() async throws -> Data?
}

/// A body that is ready to be sent: its size is known, if it ever will be, and its first bytes can be read.
package struct OpenBody: ~Copyable {
    /// How many bytes the reader will produce, if that is known.
    package let length: Int64?
    /// What reads them.
    package var reader: any BodyReader

    package init(length: Int64?, reader: sending any BodyReader) {
        self.length = length
        self.reader = reader
    }
}
