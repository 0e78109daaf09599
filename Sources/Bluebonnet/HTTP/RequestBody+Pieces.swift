public import FoundationEssentials

extension RequestBody {
    /// The bytes of the body in pieces, as they would be sent.
    ///
    /// Every `for await` opens the body anew; one that is not replayable can be opened once, by whoever comes first:
    /// reading it here leaves nothing to send.
    public var pieces: Pieces { Pieces(body: self) }

    /// The bytes of a body in pieces, none of them empty.
    public struct Pieces: AsyncSequence, Sendable {
        fileprivate let body: RequestBody

        /// Creates a reader of the body.
        ///
        /// - Returns: The iterator; it opens the body with the first piece.
        public func makeAsyncIterator() -> Iterator { Iterator(body: body) }

        /// Reads a body.
        public struct Iterator: AsyncIteratorProtocol {
            private enum State {
                case unopened(RequestBody)
                case reading(any BodyReader)
                case ended
            }

            private var state: State

            fileprivate init(body: RequestBody) { state = .unopened(body) }

            /// Returns the next bytes.
            ///
            /// May wait for a disk.
            ///
            /// - Returns: The bytes, or `nil` at the end of the body and after an error.
            /// - Throws: `.requestBody(…)` or `.multipartEncoding(…)` for a body that cannot be read, or what the sequence
            ///   throws that it is made of.
            public mutating func next() async throws -> Data? {
                let state = state
                self.state = .ended
                switch state {
                case .unopened(let body):
                    if let data = body.data { return data.isEmpty ? nil : data }
                    guard let opened = try body.open() else { return nil }
                    return try await next(from: opened.makeReader())
                case .reading(let reader): return try await next(from: reader)
                case .ended: return nil
                }
            }

            private mutating func next(from reader: any BodyReader) async throws -> Data? {
                var reader = reader
                let piece: Data?
                do {
                    piece = try await reader.next()
                } catch let error as RequestError where error.kind == .requestBody(.sequenceFailed) {
                    throw error.underlying ?? error
                }
                if piece != nil { state = .reading(reader) }
                return piece
            }
        }
    }
}

extension RequestBody {
    /// Whether the bytes come from somewhere that is said to have none.
    var isStatedEmpty: Bool { data == nil && length == 0 }

    /// Reads a body that is said to be empty to its end; throws if it is not, or cannot be read.
    func confirmEmpty() async throws(RequestError) {
        guard var reader = try open()?.makeReader() else { return }
        do {
            while let piece = try await reader.next() {
                guard piece.isEmpty else {
                    throw RequestError(.requestBody(.lengthMismatch(expected: 0, actual: Int64(piece.count))))
                }
            }
        } catch {
            throw error as? RequestError ?? RequestError(.requestBody(.sequenceFailed), underlying: error)
        }
    }
}
