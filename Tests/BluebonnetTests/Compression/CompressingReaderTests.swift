import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// What compresses bodies, against zlib's own inflation.
@Suite(.timeLimit(.minutes(10))) struct CompressingReaderTests {
    typealias Format = DeflateRequestCompressor.Format

    private func compressed(_ body: RequestBody, _ format: Format) async throws -> (data: Data, longest: Int) {
        var reader = try CompressedBodySource(base: body, format: format).open().makeReader()
        var data = Data()
        var longest = 0
        while let piece = try await reader.next() {
            #expect(!piece.isEmpty)
            longest = max(longest, piece.count)
            data += piece
        }
        #expect(try await reader.next() == nil)
        return (data, longest)
    }

    @Test(arguments: [Format.deflate, .gzip], Sample.allCases)
    func `the output decompresses to the input`(_ format: Format, sample: Sample) async throws {
        let data = sample.data
        let (result, _) = try await compressed(.data(data), format)
        #expect(try Inflation.inflate(result, format) == data)
        // Never much longer, and with the format's own beginning.
        #expect(result.count < data.count + data.count / 1000 + 32)
        #expect(Array(result.prefix(2)) == (format == .gzip ? [0x1f, 0x8b] : [0x78, 0x9c]))
        if sample == .zeros || sample == .text { #expect(result.count < data.count / 50) }
    }

    @Test(arguments: [Format.deflate, .gzip], [1, 2, 1000, 131_072, 131_073, 600_000])
    func `pieces of any size form one body`(_ format: Format, size: Int) async throws {
        let count = max(1, 700_000 / size / (size < 10 ? 100 : 1))
        let (result, _) = try await compressed(.stream(Pieces(count, of: size)), format)
        let expected = Data((0..<count * size).map { UInt8($0 % 251) })
        #expect(try Inflation.inflate(result, format) == expected)
    }

    @Test func `an empty sequence is an empty body`() async throws {
        let (result, _) = try await compressed(.stream(Pieces(0, of: 1)), .gzip)
        #expect(try Inflation.inflate(result, .gzip).isEmpty)
    }

    @Test func `pieces stay small for any amount of input`() async throws {
        // One piece of 30 MB that cannot be compressed, and a hundred pieces that can be compressed.
        let noise = Sample.noise(3_000_000)
        let (result, longest) = try await compressed(.data(noise), .deflate)
        #expect(result.count >= noise.count)
        #expect(longest <= 2 * Deflater.inputSize)
        let zeros = RequestBody.stream { Pieces(100, of: 300_000) }
        #expect(try await compressed(zeros, .deflate).longest <= 2 * Deflater.inputSize)
    }

    @Test func `a slice of data is compressed correctly`() async throws {
        let data = Sample.text.data.dropFirst(1000).prefix(300_000)
        #expect(try Inflation.inflate(try await compressed(.data(data), .gzip).data, .gzip) == data)
    }

    @Test func `a compressed body is replayable if the original body is replayable`() throws {
        let anew = RequestBody.stream { Pieces(1, of: 1) }
        for (body, isReplayable) in [
            (RequestBody.data(Data([1])), true), (anew, true), (.stream(Pieces(1, of: 1)), false),
            (.file(URL(filePath: "/dev/null")), true),
        ] {
            let source = CompressedBodySource(base: body, format: .gzip)
            #expect(source.isReplayable == isReplayable)
            #expect(source.length == nil)
        }
    }

    @Test func `a body that cannot be read cannot be compressed`() async throws {
        let missing = CompressedBodySource(base: .file(URL(filePath: "/no/such/file")), format: .gzip)
        #expect(throws: RequestError.self) { try missing.open() }
        await #expect(throws: (any Error).self) {
            _ = try await compressed(.stream(Pieces(2, of: 10, then: .fail)), .gzip)
        }
    }
}
