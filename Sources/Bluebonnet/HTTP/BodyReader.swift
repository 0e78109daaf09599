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
package struct OpenBody: Sendable {
    /// How many bytes the reader will produce, if that is known.
    package let length: Int64?
    /// Makes what reads them; called once, by the task that reads.
    package let makeReader: @Sendable () -> any BodyReader
    /// The body as a file, if it is one: what the system has of it in memory can be read without waiting.
    let file: FileBody?

    package init(length: Int64?, reader: @escaping @autoclosure @Sendable () -> any BodyReader) {
        self.length = length
        makeReader = reader
        file = nil
    }

    init(file: FileBody) {
        length = file.length
        makeReader = { file }
        self.file = file
    }
}
