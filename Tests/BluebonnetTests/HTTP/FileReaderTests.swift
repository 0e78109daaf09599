import Foundation
import Testing

@testable import Bluebonnet

struct FileReaderTests {
    private let folder: FormFolder

    init() throws {
        folder = try FormFolder()
    }

    @Test(arguments: [0, 1, 262_143, 262_144, 262_145, 1_000_000])
    func `a file is read in full pieces, except the last piece`(size: Int) throws {
        let contents = patterned(size)
        var reader = try FileReader(path: folder.file("a", contents).path)
        #expect(reader.length == size)
        var (received, counts) = (Data(), [Int]())
        while let piece = try reader.next() {
            received += piece
            counts.append(piece.count)
        }
        #expect(received == contents)
        #expect(counts.dropLast().allSatisfy { $0 == FileReader.pieceSize })
        #expect(!counts.contains(0))
    }

    @Test func `a copy of a reader reads on independently`() throws {
        var reader = try FileReader(path: folder.sparseFile("a", size: 600_000).path)
        #expect(try reader.next()?.count == 262_144)
        var copy = reader
        #expect(try reader.next()?.count == 262_144)
        #expect(try reader.next()?.count == 75_712)
        #expect(try copy.next()?.count == 262_144)
    }

    @Test func `a file that cannot be opened is an error with the reason`() throws {
        let folder = folder.url.path
        let cases: [(String, FileError)] = [
            (folder, .isDirectory), ("/dev/null", .isNotRegular), ("\(folder)/none", .system(SystemError(ENOENT))),
            ("", .system(SystemError(ENOENT))), ("\(folder)/a\0b", .system(SystemError(EINVAL))),
        ]
        for (path, expected) in cases {
            #expect(throws: expected) { try FileReader(path: path) }
            #expect(!expected.message.isEmpty)
        }
    }

    @Test func `a file in procfs is not treated as empty`() throws {
        var reader = try FileReader(path: "/proc/self/status")
        #expect(reader.length == 0)
        #expect(throws: FileError.lengthChanged(expected: 0, actual: 1)) { try reader.next() }
    }

    @Test func `a chunk of any type is converted to bytes, and an empty chunk to nothing`() async throws {
        var arrays = SequenceReader(Chunks([[], [1, 2], [], [], [3]] as [[UInt8]]))
        #expect(try await arrays.next() == Data([1, 2]))
        #expect(try await arrays.next() == Data([3]))
        #expect(try await arrays.next() == nil)
        var slices = SequenceReader(Chunks([[9, 1, 2][1...]] as [ArraySlice<UInt8>]))
        #expect(try await slices.next() == Data([1, 2]))
        var datas = SequenceReader(Chunks([Data([9, 1, 2])[1...]], fails: true))
        #expect(try await datas.next() == Data([1, 2]))
        await #expect(throws: Chunks<Data>.Odd.self) { try await datas.next() }
    }
}
