package import FoundationEssentials

/// Reads an asynchronous sequence of chunks as a body.
///
/// What the sequence throws is passed on as it is. A sequence that ends because the task was cancelled, as `AsyncStream`
/// does, throws `CancellationError`, so that a body that was cut off does not look complete.
package struct SequenceReader<Base: AsyncSequence>: BodyReader where Base.Element: DataProtocol {
    private var iterator: Base.AsyncIterator

    /// Begins a sequence.
    package init(_ sequence: Base) {
        iterator = sequence.makeAsyncIterator()
    }

    package mutating func next() async throws -> Data? {
        while let chunk = try await iterator.next(isolation: #isolation) {
            guard !chunk.isEmpty else { continue }
            return chunk as? Data ?? Self.copy(of: chunk)
        }
        try Task.checkCancellation()
        return nil
    }

    /// Copies region by region, as the regions lie in one piece each.
    private static func copy(of chunk: Base.Element) -> Data {
        var data = Data(capacity: chunk.count)
        for region in chunk.regions { data.append(contentsOf: region) }
        return data
    }
}
