import FoundationEssentials

@testable import Bluebonnet

/// Returns chunks, and then ends or throws.
struct Chunks<Element: DataProtocol & Sendable>: AsyncSequence, Sendable {
    struct Odd: Error {}

    let chunks: [Element]
    var fails = false

    init(_ chunks: [Element], fails: Bool = false) {
        self.chunks = chunks
        self.fails = fails
    }

    func makeAsyncIterator() -> Iterator { Iterator(rest: chunks[...], fails: fails) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<Element>
        let fails: Bool

        mutating func next() async throws -> Element? {
            if let chunk = rest.popFirst() { return chunk }
            if fails { throw Odd() }
            return nil
        }
    }
}

/// Reads an open form; a reference, so that `#expect` can read from it.
final class FormReading {
    private var reader: any BodyReader

    init(_ form: MultipartFormData) throws(RequestError) {
        reader = try form.open().makeReader()
    }

    func next() async throws -> Data? { try await reader.next() }
}

/// Cancels the task that calls.
func cancelCurrentTask() {
    unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
}

/// So many bytes, of which no two neighbouring pieces of a round size are the same.
func patterned(_ count: Int) -> Data {
    let block = Data((0..<251).map { UInt8($0) })
    var data = Data(capacity: count + block.count)
    while data.count < count { data += block }
    return data.prefix(count)
}

/// Text as bytes, for short tests.
func bytes(_ text: String) -> Data { Data(text.utf8) }
