import Foundation
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct MultipartFormDataTests {
    private let folder: FormFolder

    init() throws {
        folder = try FormFolder()
    }

    /// Reads a form to its end and checks the conditions that every form fulfills.
    private func pieces(of form: MultipartFormData) async throws -> [Data] {
        let body = try form.open()
        var reader = body.makeReader()
        var pieces: [Data] = []
        while let piece = try await reader.next() { pieces.append(piece) }
        let count = Int64(pieces.reduce(0) { $0 + $1.count })
        #expect(pieces.allSatisfy { !$0.isEmpty })
        #expect(body.length == nil || body.length == count)
        return pieces
    }

    private func text(_ form: MultipartFormData) async throws -> String {
        String(decoding: try await pieces(of: form).reduce(Data(), +), as: UTF8.self)
    }

    @Test func `a form without parts is its closing delimiter`() async throws {
        let form = MultipartFormData(boundary: "b")
        #expect(try await text(form) == "--b--\r\n")
        #expect(form.contentLength == 7)
        #expect(form.isReplayable)
    }

    @Test func `parts of every kind are in order, byte for byte`() async throws {
        let file = try folder.file("größe.json", bytes("{}"))
        var form = MultipartFormData(boundary: "b")
        form.append("naïve", withName: "text")
        form.append(bytes(""), withName: "empty")
        form.append(bytes("\0\r\n"), withName: "data", fileName: "d\"", mimeType: "x/y", headers: ["X-A": "b"])
        form.append(file, withName: "file")
        form.append(file, withName: "renamed", fileName: "f", mimeType: "text/x-odd")
        form.append(
            Chunks([bytes("on"), bytes(""), bytes("ce")]), length: 4, withName: "once", fileName: "o", mimeType: "p/q")
        form.append(length: 4, withName: "again") { Chunks([[UInt8]("aga".utf8), [UInt8]("i".utf8)]) }
        let expected = """
            --b
            Content-Disposition: form-data; name="text"

            naïve
            --b
            Content-Disposition: form-data; name="empty"


            --b
            Content-Disposition: form-data; name="data"; filename="d%22"
            Content-Type: x/y
            X-A: b

            \0

            --b
            Content-Disposition: form-data; name="file"; filename="größe.json"
            Content-Type: application/json

            {}
            --b
            Content-Disposition: form-data; name="renamed"; filename="f"
            Content-Type: text/x-odd

            {}
            --b
            Content-Disposition: form-data; name="once"; filename="o"
            Content-Type: p/q

            once
            --b
            Content-Disposition: form-data; name="again"

            agai
            --b--

            """.replacingOccurrences(of: "\n", with: "\r\n")
        #expect(form.contentLength == Int64(expected.utf8.count))
        #expect(try form.length() == form.contentLength)
        #expect(!form.isReplayable)
        #expect(try await text(form) == expected)
    }

    @Test func `a form without a length is otherwise the same`() async throws {
        var form = MultipartFormData(boundary: "b")
        form.append(withName: "a") { Chunks([bytes("x")]) }
        #expect(form.contentLength == nil)
        #expect(try form.length() == nil)
        let expected = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--\r\n"
        #expect(try await text(form) == expected)
        form.append("y", withName: "b")
        #expect(try form.length() == nil)
    }

    @Test func `a form with a part of unknown length has no length`() throws {
        var form = MultipartFormData()
        form.append(length: .max, withName: "a") { Chunks<Data>([]) }
        #expect(try form.length() == nil)
        form.append(length: .max, withName: "b") { Chunks<Data>([]) }
        #expect(try form.length() == nil)
    }

    @Test func `the length is the current length of the files`() throws {
        let file = try folder.file("a.txt", bytes("12345"))
        var form = MultipartFormData()
        form.append(file, withName: "a")
        let before = try #require(form.contentLength)
        try bytes("1234567").write(to: file)
        #expect(form.contentLength == before + 2)
        try FileManager.default.removeItem(at: file)
        #expect(form.contentLength == nil)
        #expect(throws: RequestError.self) { try form.length() }
    }

    @Test func `a copy is a separate form`() async throws {
        var form = MultipartFormData(boundary: "b")
        let empty = form
        form.append("x", withName: "a")
        #expect(try await text(empty) == "--b--\r\n")
        #expect(try await text(form).contains("name=\"a\""))
    }

    @Test func `a form with replayable parts can be read again`() async throws {
        let file = try folder.file("a.bin", Data(repeating: 7, count: 100_000))
        var form = MultipartFormData()
        form.append("x", withName: "a")
        form.append(Data(count: 100_000), withName: "b")
        form.append(file, withName: "c")
        form.append(withName: "d") { Chunks([Data(count: 5)]) }
        #expect(form.isReplayable)
        let first = try await form.encode()
        #expect(try await form.encode() == first)
        let one = try FormReading(form)
        let other = try FormReading(form)
        var (left, right) = (Data(), Data())
        while true {
            let (a, b) = (try await one.next(), try await other.next())
            guard let a, let b else {
                #expect(a == nil && b == nil)
                break
            }
            left += a
            right += b
        }
        #expect(left == first)
        #expect(right == first)
    }

    @Test func `small parts are joined into few pieces`() async throws {
        var form = MultipartFormData()
        let file = try folder.file("a.txt", bytes("a"))
        for index in 0..<1000 {
            form.append("\(index)", withName: "field")
            form.append(file, withName: "file")
        }
        let pieces = try await pieces(of: form)
        let total = pieces.reduce(0) { $0 + $1.count }
        #expect(pieces.count <= total / PieceBuffer.fullPiece + 1)
    }

    @Test func `large files come in pieces of a bounded size`() async throws {
        let file = try folder.sparseFile("large", size: 64 << 20)
        var form = MultipartFormData()
        form.append(file, withName: "a")
        let pieces = try await pieces(of: form)
        #expect(pieces.allSatisfy { $0.count <= FileReader.pieceSize })
        #expect(pieces.count == 64 * 4 + 2)
    }

    @Test func `bytes in memory are returned without a copy`() async throws {
        let data = patterned(1_000_000)
        var form = MultipartFormData()
        form.append(data, withName: "a")
        form.append(data[500_000...], withName: "slice")
        let pieces = try await pieces(of: form)
        #expect(pieces.count == 5)
        #expect(pieces[1] == data)
        #expect(pieces[3] == data[500_000...])
    }

    @Test func `bytes that are ready do not wait for a sequence`() async throws {
        let (stream, source) = AsyncStream<Data>.makeStream()
        var form = MultipartFormData(boundary: "b")
        form.append("x", withName: "a")
        form.append(stream, withName: "b")
        let reader = try FormReading(form)
        let first = try #require(try await reader.next())
        #expect(String(decoding: first, as: UTF8.self).hasSuffix("name=\"b\"\r\n\r\n"))
        source.yield(bytes("1"))
        #expect(try await reader.next() == bytes("1"))
        source.yield(bytes("2"))
        source.finish()
        #expect(try await reader.next() == bytes("2"))
        #expect(try await reader.next() == bytes("\r\n--b--\r\n"))
        #expect(try await reader.next() == nil)
    }

    @Test func `at most one of ten thousand files is open at a time, and no file afterwards`() async throws {
        let file = try folder.file("a.bin", Data(count: 20_000))
        var form = MultipartFormData()
        for _ in 0..<10_000 { form.append(file, withName: "a") }
        let reader = try FormReading(form)
        #expect(try folder.openDescriptors == 0)
        var (count, most) = (0, 0)
        while let piece = try await reader.next() {
            if count % 1000 == 0 { most = max(most, try folder.openDescriptors) }
            count += 1
            #expect(piece.count <= PieceBuffer.fullPiece + FileReader.pieceSize)
        }
        #expect(most == 1)
        #expect(try folder.openDescriptors == 0)
    }

    @Test func `a form that is left unread leaves no file open`() async throws {
        let file = try folder.file("a.bin", Data(count: 1_000_000))
        var form = MultipartFormData()
        form.append(file, withName: "a")
        do {
            let reader = try FormReading(form)
            for _ in 0..<3 { _ = try await reader.next() }
            #expect(try folder.openDescriptors == 1)
        }
        #expect(try folder.openDescriptors == 0)
    }
}
