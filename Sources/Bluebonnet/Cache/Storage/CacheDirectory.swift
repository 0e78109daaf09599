import FoundationEssentials

/// The directory with the files of a cache.
///
/// All calls block. A file is renamed into the directory when it is complete. The directory must belong to this user,
/// and other users must not have write access, because they could replace responses. If this user has no write access,
/// the directory is not read either, because its files could not be removed.
///
/// A file that cannot be removed is truncated, so that no process can use it. If this fails too, this process records
/// the path, and does not read the file until it is removed or replaced.
struct CacheDirectory: Sendable {
    let path: String

    init(_ path: String) {
        // All caches of a directory must use the same spelling of its path.
        self.path = FileSystem.realPath(FileSystem.withoutSlashes(path))
    }

    /// The state of the path.
    enum DirectoryState: Equatable {
        case usable, missing
        /// The directory cannot or must not be used.
        case refused
    }

    /// The current state of the directory.
    var condition: DirectoryState {
        do throws(SystemError) {
            let status = try FileSystem.examine(path)
            return status.isDirectory && status.isPrivate && FileSystem.isWritable(path) ? .usable : .refused
        } catch {
            return error.isAbsence ? .missing : .refused
        }
    }

    /// Creates the directory, for this user only, if it does not exist.
    func make() throws(SystemError) { try FileSystem.makeDirectories(path, mode: 0o700) }

    /// Returns the names of all files.
    func names() throws(SystemError) -> [String] { try FileSystem.names(in: path) }

    /// Returns the status of a file; `nil` if it does not exist.
    func status(of name: String) -> FileStatus? { FileSystem.status(place(of: name), followingLinks: false) }

    // MARK: Reading and writing

    /// Reads a file up to a number of bytes, and marks it as used.
    ///
    /// - Returns: The bytes; `nil` if the file is not a cache entry, or should have been removed.
    /// - Throws: The system's error.
    func read(_ name: String, limit: Int) throws(SystemError) -> Data? {
        guard !isUnremovable(name) else { return nil }
        let file = try OpenFile.reading(place(of: name))
        let status = try file.status()
        guard status.isOwn, status.isPrivate, status.size <= Int64(limit) else { return nil }
        let bytes = try file.read(upTo: Int(status.size))
        file.touch()
        return bytes
    }

    /// Writes a file, and replaces a file with the same name.
    ///
    /// - Throws: The system's error; the old file then still exists.
    func write(_ bytes: Data, to name: String) throws(SystemError) {
        let temporary = place(of: Self.temporaryPrefix + FileName.token())
        try OpenFile.replace(place(of: name), with: bytes, by: temporary)
        Self.unremovable.withLock { _ = $0.files.remove(place(of: name)) }
    }

    /// Removes an incomplete file of a process that has ended.
    func removeLeftover(_ name: String, now: Date) {
        guard name.hasPrefix(Self.temporaryPrefix), let status = status(of: name) else { return }
        let age = now.timeIntervalSince1970 - Double(status.modified) / 1e9
        if age > Self.staleAge { FileSystem.remove(place(of: name)) }
    }

    private func place(of name: String) -> String { FileSystem.path(name, in: path) }

    private static let temporaryPrefix = "bluebonnet-cache."
    /// The age in seconds from which an incomplete file is removed.
    private static let staleAge = 3600.0

    // MARK: Forgetting

    /// Removes a file, or prevents its use.
    ///
    /// - Throws: The system's error if the file still exists.
    func remove(_ name: String) throws(SystemError) {
        let place = place(of: name)
        do throws(SystemError) {
            try FileSystem.removeIfPresent(place)
            Self.unremovable.withLock { _ = $0.files.remove(place) }
        } catch {
            if !cutOff(place) { Self.unremovable.withLock { _ = $0.files.insert(place) } }
            throw error
        }
    }

    /// Removes all files that a closure selects, or prevents their use.
    ///
    /// - Returns: The number of failures.
    func removeAll(where isRemoved: (String) -> Bool) -> Int {
        do throws(SystemError) {
            var failures = 0
            for name in try names() where isRemoved(name) {
                do throws(SystemError) { try remove(name) } catch { failures += 1 }
            }
            Self.unremovable.withLock { _ = $0.directories.remove(path) }
            return failures
        } catch {
            // The list of files is unknown, so none of them may be used.
            Self.unremovable.withLock { _ = $0.directories.insert(path) }
            return 1
        }
    }

    /// Whether all files should have been removed, but could not be listed.
    var isUnremovable: Bool { Self.unremovable.withLock { $0.directories.contains(path) } }

    /// Whether a file should have been removed, but still exists.
    private func isUnremovable(_ name: String) -> Bool {
        Self.unremovable.withLock { $0.files.contains(place(of: name)) }
    }

    /// Truncates a file that cannot be removed; returns whether it is now empty or does not exist.
    private func cutOff(_ place: String) -> Bool {
        do throws(SystemError) {
            let file = try OpenFile.writing(place)
            // A file of another user, or a file with several hard links, may belong to another program.
            guard try file.status().isOwn else { return false }
            try file.truncate(to: 0)
            try file.close()
            return true
        } catch {
            return error.isAbsence
        }
    }

    /// The paths of files that must not be read, and of directories whose files must not be read.
    private struct UnremovableFiles {
        var files: Set<String> = []
        var directories: Set<String> = []
    }

    /// Shared by all caches of the process.
    private static let unremovable = Locked(UnremovableFiles())
}

/// The file format of a stored response: a checksum, followed by the protected data.
///
/// The checksum detects files that are truncated, modified or from another program. A file also contains the digest of
/// its key, so a response to another request is detected as well.
enum EntryFile {
    /// Returns the bytes of the file.
    static func encoded(_ entry: StoredResponse, for key: CacheKey) -> Data {
        var content = Writer()
        content.write(key.digest)
        content.write(entry.requestTime.timeIntervalSince1970.bitPattern)
        content.write(entry.responseTime.timeIntervalSince1970.bitPattern)
        content.write(entry.selector)
        content.write(Data(entry.response.head.composed))
        content.write(entry.body.data)
        return Data(magic) + Digest.sha256(of: content.bytes) + content.bytes
    }

    /// Decodes a file; returns `nil` if it is incomplete or invalid.
    ///
    /// - Parameters:
    ///   - bytes: All bytes of the file.
    ///   - key: The key of the response.
    ///   - url: The URL of the response.
    /// - Returns: The stored response.
    static func decoded(_ bytes: Data, for key: CacheKey, url: URL) -> StoredResponse? {
        let start = magic.count + 32
        guard bytes.count > start, bytes.prefix(magic.count) == Data(magic) else { return nil }
        let content = bytes.dropFirst(start)
        guard Digest.sha256(of: content) == bytes.dropFirst(magic.count).prefix(32) else { return nil }
        var reader = Reader(content)
        guard reader.data() == key.digest, let requestTime = reader.time(), let responseTime = reader.time(),
            let selector = reader.data(),
            let bytes = reader.data(), let head = ReceivedHead(bytes: Array(bytes)), let body = reader.data()
        else { return nil }
        return StoredResponse(
            HTTPResponse(url: url, head: head), body: body, selector: selector, requestTime: requestTime,
            responseTime: responseTime)
    }

    /// The last byte is the version of the format.
    private static let magic = Array("bluebonnet-cache".utf8) + [0x02]

    private struct Writer {
        private(set) var bytes = Data()

        mutating func write(_ number: UInt64) {
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }

        mutating func write(_ data: Data) {
            write(UInt64(data.count))
            bytes.append(data)
        }
    }

    private struct Reader {
        private var rest: Data

        init(_ bytes: Data) { rest = bytes }

        mutating func number() -> UInt64? {
            guard rest.count >= 8 else { return nil }
            defer { rest = rest.dropFirst(8) }
            return rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }

        /// Reads a time at which a response may have been received.
        mutating func time() -> Date? {
            guard let bits = number(), HTTPDate.range.contains(Double(bitPattern: bits)) else { return nil }
            return Date(timeIntervalSince1970: Double(bitPattern: bits))
        }

        mutating func data() -> Data? {
            guard let count = number(), count <= UInt64(rest.count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return Data(rest.prefix(Int(count)))
        }
    }
}
