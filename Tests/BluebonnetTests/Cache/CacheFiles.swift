import CSystem
import Foundation
import Glibc
import Testing

@testable import Bluebonnet

/// Changes of tests to the files of a cache.
enum CacheFiles {
    /// The only file of a cache.
    static func only(in directory: borrowing TestDirectory) throws -> String {
        let names = directory.names
        try #require(names.count == 1, "\(names)")
        return names[0]
    }

    /// Writes a number over eight bytes of a file's content, and the digest that belongs to it.
    static func overwrite(_ name: String, in directory: borrowing TestDirectory, at offset: Int, with bits: UInt64)
        throws
    {
        let start = 17 + 32
        var bytes = Array(try Data(contentsOf: directory.url(name)))
        for index in 0..<8 { bytes[start + offset + index] = UInt8(truncatingIfNeeded: bits >> (8 * UInt64(index))) }
        bytes.replaceSubrange(17..<start, with: Digest.sha256(of: Data(bytes[start...])))
        try Data(bytes).write(to: directory.url(name))
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
