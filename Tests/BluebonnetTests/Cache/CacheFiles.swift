import CSystem
import Foundation
import Glibc
import Testing

@testable import Bluebonnet

/// What tests do to the files of a cache.
enum CacheFiles {
    /// The only file of a cache.
    static func only(in directory: borrowing TestDirectory) throws -> String {
        let names = directory.names
        try #require(names.count == 1, "\(names)")
        return names[0]
    }

    /// Sets a time in a file's content, and the digest that belongs to it.
    static func set(_ member: String, to seconds: Double, in name: String, of directory: borrowing TestDirectory) throws
    {
        let start = 17 + 32
        let bytes = try Data(contentsOf: directory.url(name))
        let list = try unsafe PropertyListSerialization.propertyList(from: bytes.dropFirst(start), format: nil)
        var content = try #require(list as? [String: Any])
        try #require(content[member] != nil)
        content[member] = seconds
        let changed = try PropertyListSerialization.data(fromPropertyList: content, format: .binary, options: 0)
        try (bytes.prefix(17) + Digest.sha256(of: changed) + changed).write(to: directory.url(name))
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
