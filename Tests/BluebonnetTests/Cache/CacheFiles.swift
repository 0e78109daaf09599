import CSystem
import Foundation
import Glibc
import Testing

@testable import Bluebonnet

/// Changes of tests to the files of a cache.
enum CacheFiles {
    /// The only file of a cache.
    static func only(in directory: borrowing TestDirectory) throws -> String {
        let names = directory.files
        try #require(names.count == 1, "\(names)")
        return names[0]
    }

    /// Writes a number over eight bytes after the key in a file's metadata, and the checksum that belongs to it.
    static func overwrite(_ name: String, in directory: borrowing TestDirectory, at offset: Int, with number: UInt64)
        throws
    {
        let bytes = try Data(contentsOf: directory.url(name))
        let bodyCount = Int(Self.number(bytes, at: bytes.count - 40))
        let body = bytes.prefix(bodyCount)
        var metadata = Data(bytes.dropFirst(bodyCount).dropLast(16))
        metadata.replaceSubrange(range(8 + Int(Self.number(metadata, at: 0)) + offset), with: Self.bytes(number))
        try (body + metadata + Self.bytes(Checksum.of(metadata)) + bytes.suffix(8)).write(to: directory.url(name))
    }

    private static func range(_ start: Int) -> Range<Int> { start..<start + 8 }

    private static func number(_ bytes: Data, at offset: Int) -> UInt64 {
        bytes[range(offset)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(_ number: UInt64) -> Data {
        Data((0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) })
    }

    /// Mounts a file over itself, so that it can be neither removed nor replaced; false where nothing may be mounted.
    static func pin(_ path: String, readOnly: Bool) -> Bool {
        guard unsafe mount(path, path, "", UInt(MS_BIND), nil) == 0 else { return false }
        guard readOnly else { return true }
        return unsafe mount("", path, "", UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0
    }

    static func unpin(_ path: String) { _ = unsafe umount2(path, Int32(MNT_DETACH)) }

    /// Fills a small disk with a file.
    static func fill(_ directory: borrowing TestDirectory) throws {
        let descriptor = unsafe open(directory.path("filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 0, count: 4096)
        while unsafe write(descriptor, page, page.count) > 0 {}
        try #require(errno == ENOSPC)
    }
}
