import FoundationEssentials

/// Produces the bytes of a form, part after part; of what the parts come from, one is open at a time.
///
/// Runs where it is called: on the global pool. When a part is not what it was announced to be, the reader throws before
/// the delimiter after that part, so that no server takes what it got for the whole form.
struct MultipartReader: BodyReader {
    private let boundary: MultipartBoundary
    private let parts: [PreparedMultipartPart]
    private var position = 0
    private var content: MultipartContentReader?
    private var search: BoundarySearch?
    private var output = PieceBuffer()
    private var hasBegun = false
    private var isClosed = false

    /// Begins a form; the boundary is looked for in the parts when it could be there.
    init(boundary: MultipartBoundary, parts: [PreparedMultipartPart], searchesBoundary: Bool) {
        self.boundary = boundary
        self.parts = parts
        search = searchesBoundary ? BoundarySearch(boundary: boundary.text) : nil
    }

    mutating func next() async throws(RequestError) -> Data? {
        if !hasBegun { try begin() }
        while true {
            if let piece = output.takeReady() { return piece }
            if content != nil {
                // What is there already must not wait for what comes who knows when.
                if content?.part.mayWait == true, let piece = output.takeRest() { return piece }
                try await readContent()
            } else if position < parts.count {
                try beginPart()
            } else if !isClosed {
                output.append(Data(boundary.closing(hasParts: !parts.isEmpty).utf8))
                isClosed = true
            } else {
                return output.takeRest()
            }
        }
    }

    /// Takes all that can be read once, so that no form is sent up to a part that somebody else has read.
    private mutating func begin() throws(RequestError) {
        hasBegun = true
        for part in parts { try part.take() }
    }

    private mutating func beginPart() throws(RequestError) {
        let part = parts[position]
        output.append(Data((position == 0 ? boundary.opening : boundary.delimiter).utf8) + part.head)
        content = try MultipartContentReader(part)
        search?.restart()
        position += 1
    }

    private mutating func readContent() async throws(RequestError) {
        // Dropped while it is asked: when it fails, its file is closed at once, whoever keeps the reader.
        guard var content = content.take() else { return }
        guard let piece = try await content.next() else { return }
        guard search?.finds(in: piece) != true else {
            throw RequestError(
                .multipartEncoding(.boundaryInvalid(boundary.text)),
                detail: "it is in the part \(content.part.name.debugDescription)")
        }
        output.append(piece)
        self.content = content
    }
}
