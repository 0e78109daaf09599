import Foundation
import Glibc
import Testing

@testable import Bluebonnet

/// The loop reads the resident pages of a file, and a task reads the rest.
@Suite(.timeLimit(.minutes(10))) struct ResidentFileTests {
    private static let size = 1_000_000
    private let folder: FormFolder
    private let contents = patterned(size)

    init() throws {
        folder = try FormFolder()
    }

    /// A copy of the contents on a file system that cannot report resident pages.
    private func fileThatCannotTell() throws -> URL {
        let url = URL(filePath: "/dev/shm/bluebonnet-\(UUID().uuidString)")
        try contents.write(to: url)
        return url
    }

    /// Evicts a file's bytes after an offset from memory, so that they must be read from the disk.
    private func evict(_ url: URL, from offset: Int = 0) throws {
        let handle = try FileHandle(forUpdating: url)
        defer { try? handle.close() }
        try #require(fsync(handle.fileDescriptor) == 0)
        try #require(posix_fadvise(handle.fileDescriptor, off_t(offset), 0, POSIX_FADV_DONTNEED) == 0)
    }

    private func channel(of url: URL, wakeLoop: @escaping @Sendable () -> Void = {}) throws -> UploadChannel {
        let body = try #require(try RequestBody.file(url).open())
        return UploadChannel(body, isReplayable: true, wakeLoop: wakeLoop)
    }

    /// Reads from a channel like libcurl; returns the bytes of a call, or `nil` with the reason.
    private func take(_ count: Int, from channel: UploadChannel) -> (Data?, UploadChannelState.TakeAction) {
        var buffer = [UInt8](repeating: 0, count: count)
        let action = unsafe buffer.withUnsafeMutableBytes { unsafe channel.take(into: $0) }
        guard case .took(let taken, _) = action else { return (nil, action) }
        return (Data(buffer[..<taken]), action)
    }

    /// Reads all bytes; returns them, the number of bytes before the first wait, and the end.
    private func takeAll(
        from channel: UploadChannel, _ wakeups: AsyncStream<Void>, count: Int = 65_536
    ) async -> (Data, direct: Int, UploadChannelState.TakeAction) {
        var received = Data()
        var direct: Int?
        var wakeup = wakeups.makeAsyncIterator()
        while true {
            let (bytes, action) = take(count, from: channel)
            if let bytes { received += bytes }
            switch action {
            case .took: continue
            case .wait:
                if direct == nil { direct = received.count }
                await wakeup.next()
            case .end, .fail: return (received, direct ?? received.count, action)
            }
        }
    }

    private func scene(_ url: URL) throws -> (UploadChannel, AsyncStream<Void>) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        return (try channel(of: url) { continuation.yield() }, stream)
    }

    // MARK: The file

    private static func readResident(_ reader: inout FileReader, into buffer: inout [UInt8]) -> Int {
        unsafe buffer.withUnsafeMutableBytes { buffer in
            var bytes = unsafe buffer.mutableBytes
            return reader.readResident(into: &bytes)
        }
    }

    @Test(arguments: [1, 1000, 65_536, 2_000_000])
    func `a reader continues where the immediate read has ended`(count: Int) throws {
        var reader = try FileReader(path: folder.file("a", contents).path)
        var received = Data()
        while received.count < 300_000 {
            var buffer = [UInt8](repeating: 0, count: count)
            let taken = Self.readResident(&reader, into: &buffer)
            try #require(taken > 0 && taken <= count)
            received += buffer[..<taken]
            if count == 1, received.count == 1000 { break }
        }
        while let piece = try reader.next() { received += piece }
        #expect(received == contents)
    }

    @Test(arguments: [0, 1, FileReader.pieceSize - 1, FileReader.pieceSize])
    func `no part of the last piece is read immediately`(size: Int) throws {
        var reader = try FileReader(path: folder.file("a", patterned(size)).path)
        var buffer = [UInt8](repeating: 0, count: 1000)
        #expect(Self.readResident(&reader, into: &buffer) == 0)
    }

    @Test func `nothing is read immediately if the system cannot report resident pages`() async throws {
        let file = try fileThatCannotTell()
        defer { try? FileManager.default.removeItem(at: file) }
        let (channel, wakeups) = try scene(file)
        let (received, direct, action) = await takeAll(from: channel, wakeups)
        // Newer systems can tell for this file system, too.
        #expect([0, Self.size - FileReader.pieceSize].contains(direct))
        #expect(received == contents)
        #expect(action == .end)
    }

    // MARK: The channel

    @Test(arguments: [1000, 65_536, 1_000_000])
    func `resident bytes are read immediately and the remaining bytes afterwards`(count: Int) async throws {
        let (channel, wakeups) = try scene(try folder.file("a", contents))
        let (received, direct, action) = await takeAll(from: channel, wakeups, count: count)
        #expect(direct == Self.size - FileReader.pieceSize)
        #expect(received == contents)
        #expect(action == .end)
    }

    @Test(arguments: [0, 8192, 400_000])
    func `bytes that are not in memory are read by the task`(offset: Int) async throws {
        let file = try folder.file("a", contents)
        let (channel, wakeups) = try scene(file)
        try evict(file, from: offset)
        // The number of bytes before the first wait depends on the disk: the system may read a page before it answers.
        let (received, _, action) = await takeAll(from: channel, wakeups)
        #expect(received == contents)
        #expect(action == .end)
    }

    @Test func `the task continues to read a file whose pages leave memory`() async throws {
        let file = try folder.file("a", contents)
        let (channel, wakeups) = try scene(file)
        let first = try #require(take(100_000, from: channel).0)
        try evict(file)
        let (rest, _, action) = await takeAll(from: channel, wakeups)
        #expect(first + rest == contents)
        #expect(action == .end)
    }

    @Test(arguments: [Self.size / 2, 200_000, 100_000, 0])
    func `a file that shrinks while it is read is an error`(size: Int) async throws {
        let file = try folder.file("a", contents)
        let (channel, wakeups) = try scene(file)
        let first = try #require(take(100_000, from: channel).0)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(size))
        try handle.close()
        let (rest, _, action) = await takeAll(from: channel, wakeups)
        #expect(contents.starts(with: first + rest))
        #expect(action == .fail)
        let kind = try #require(channel.failure?.kind)
        #expect(
            kind
                == .requestBody(
                    .lengthMismatch(expected: Int64(Self.size), actual: Int64(max(size, first.count + rest.count)))))
        #expect(channel.failure?.detail == "the file \(file.path) changed while it was sent")
    }

    @Test func `a file that grows while it is read is an error and its last announced byte is not sent`() async throws {
        let file = try folder.file("a", contents)
        let (channel, wakeups) = try scene(file)
        let first = try #require(take(100_000, from: channel).0)
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([1]))
        try handle.close()
        let (rest, _, action) = await takeAll(from: channel, wakeups)
        #expect(first.count + rest.count < Self.size)
        #expect(action == .fail)
        #expect(
            channel.failure?.kind
                == .requestBody(.lengthMismatch(expected: Int64(Self.size), actual: Int64(Self.size) + 1)))
    }

    @Test func `a body that is sent again begins with its first byte after a partial read`() async throws {
        let file = try folder.file("a", contents)
        let (channel, wakeups) = try scene(file)
        #expect(!channel.hasBegun)
        #expect(take(300_000, from: channel).0?.count == 300_000)
        #expect(channel.hasBegun)
        let replayed = try #require(channel.replayed())
        channel.abandon()
        let (received, _, action) = await takeAll(from: replayed, wakeups)
        #expect(received == contents)
        #expect(action == .end)
    }

    @Test func `an abandoned channel closes the file at once`() throws {
        let file = try folder.file("a", contents)
        do {
            let body = try #require(try RequestBody.file(file).open())
            let channel = UploadChannel(body) {}
            #expect(take(100_000, from: channel).0?.count == 100_000)
            #expect(try folder.openDescriptors == 1)
            channel.abandon()
        }
        #expect(try folder.openDescriptors == 0)
    }
}
