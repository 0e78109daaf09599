import FoundationEssentials

/// Reads the content of a part and sees to it that it has as many bytes as was announced.
struct MultipartContentReader {
    let part: PreparedMultipartPart
    private var reader: any BodyReader
    private var count: Int64 = 0

    init(_ part: PreparedMultipartPart) throws(RequestError) {
        self.part = part
        reader = try part.makeReader()
        // The file may be another than when its length was looked up.
        if let file = reader as? FileReader, let expected = part.length, file.length != expected {
            throw part.lengthMismatch(expected: expected, actual: file.length)
        }
    }

    /// Returns the next bytes, or `nil` at the end; never more than were announced.
    mutating func next() async throws(RequestError) -> Data? {
        let piece: Data?
        do {
            piece = try await reader.next()
        } catch {
            throw part.error(for: error)
        }
        count += Int64(piece?.count ?? 0)
        if let expected = part.length, piece == nil ? count != expected : count > expected {
            throw part.lengthMismatch(expected: expected, actual: count)
        }
        return piece
    }
}
