import FoundationEssentials

/// Has the files of a cache in a directory, and knows those that it could not remove.
///
/// All calls block. A file gets its name when it is complete. The directory must belong to this user, and only this user may
/// write to it: another could replace responses. A directory that is not writable is not read either, since nothing could be
/// removed from it.
///
/// A file that cannot be removed is cut off, which makes it useless to every process. Where that fails, too, its path is
/// noted for this process: nothing is read from it until it is removed or replaced.
struct CacheDirectory: Sendable {
    let path: String

    init(_ path: String) {
        // Caches of one directory know it by one path.
        self.path = FileSystem.realPath(FileSystem.withoutSlashes(path))
    }

    /// What is at the path.
    enum DirectoryState: Equatable {
        case usable, missing
        /// The directory cannot be used, or must not be.
        case refused
    }

    /// Looks at the directory as it is now.
    var condition: DirectoryState {
        do throws(SystemError) {
            let status = try FileSystem.examine(path)
            return status.isDirectory && status.isPrivate && FileSystem.isWritable(path) ? .usable : .refused
        } catch {
            return error.isAbsence ? .missing : .refused
        }
    }

    /// Makes the directory, for this user only, unless it is there.
    func make() throws(SystemError) { try FileSystem.makeDirectories(path, mode: 0o700) }

    /// The names of all files.
    func names() throws(SystemError) -> [String] { try FileSystem.names(in: path) }

    /// The status of a file; `nil` when there is no such file.
    func status(of name: String) -> FileStatus? { FileSystem.status(place(of: name), followingLinks: false) }

    // MARK: Reading and writing

    /// Reads a file of at most so many bytes, and notes that it was used.
    ///
    /// - Returns: The bytes; nil if the file is not an entry of a cache, or had to be forgotten.
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

    /// Writes a file, in place of one that has the name.
    ///
    /// - Throws: The system's error. What had the name is still there.
    func write(_ bytes: Data, to name: String) throws(SystemError) {
        let temporary = place(of: Self.temporaryPrefix + FileName.token())
        try OpenFile.replace(place(of: name), with: bytes, by: temporary)
        Self.unremovable.withLock { _ = $0.files.remove(place(of: name)) }
    }

    /// Removes what a process has left that ended while it wrote.
    func removeLeftover(_ name: String, now: Date) {
        guard name.hasPrefix(Self.temporaryPrefix), let status = status(of: name) else { return }
        let age = now.timeIntervalSince1970 - Double(status.modified) / 1e9
        if age > Self.staleAge { FileSystem.remove(place(of: name)) }
    }

    private func place(of name: String) -> String { FileSystem.path(name, in: path) }

    private static let temporaryPrefix = "bluebonnet-cache."
    /// For how many seconds a file may be under way.
    private static let staleAge = 3600.0

    // MARK: Forgetting

    /// Removes a file, or ensures that it is not used any more.
    ///
    /// - Throws: The system's error: the file is still there.
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

    /// Removes all files that a closure selects, or ensures that they are not used any more.
    ///
    /// - Returns: How often the system refused something.
    func removeAll(where isRemoved: (String) -> Bool) -> Int {
        do throws(SystemError) {
            var failures = 0
            for name in try names() where isRemoved(name) {
                do throws(SystemError) { try remove(name) } catch { failures += 1 }
            }
            Self.unremovable.withLock { _ = $0.directories.remove(path) }
            return failures
        } catch {
            // Which files there are is not known: none may be used.
            Self.unremovable.withLock { _ = $0.directories.insert(path) }
            return 1
        }
    }

    /// Whether all files had to be removed, and could not be.
    var isUnremovable: Bool { Self.unremovable.withLock { $0.directories.contains(path) } }

    /// Whether a file had to be removed, and could not be.
    private func isUnremovable(_ name: String) -> Bool {
        Self.unremovable.withLock { $0.files.contains(place(of: name)) }
    }

    /// Empties a file whose name cannot be removed; returns whether that is done, or there is no such file.
    private func cutOff(_ place: String) -> Bool {
        do throws(SystemError) {
            let file = try OpenFile.writing(place)
            // The other names of a file belong to another program.
            guard try file.status().isOwn else { return false }
            try file.truncate(to: 0)
            try file.close()
            return true
        } catch {
            return error.isAbsence
        }
    }

    /// What must not be read, by paths: of files, and of directories all of whose files are meant.
    private struct UnremovableFiles {
        var files: Set<String> = []
        var directories: Set<String> = []
    }

    /// The same for all caches of the process.
    private static let unremovable = Locked(UnremovableFiles())
}

/// The form in which a stored response is a file: a checksum, then everything that it is the checksum of.
///
/// A file that is cut off, changed or another program's is not mistaken for a response, nor is the response to another
/// request: a file records the digest of its key.
enum EntryFile {
    /// Returns the bytes of the file.
    static func encoded(_ entry: StoredResponse, for key: CacheKey) -> Data {
        var content = Writer()
        content.write(key.digest)
        content.write(entry.requestTime.timeIntervalSince1970.bitPattern)
        content.write(entry.responseTime.timeIntervalSince1970.bitPattern)
        content.write(entry.selector)
        content.write(Data(entry.response.head.composed))
        content.write(entry.body)
        return Data(magic) + Digest.sha256(of: content.bytes) + content.bytes
    }

    /// Reads a file; `nil` when it is not whole.
    ///
    /// - Parameters:
    ///   - bytes: All of the file.
    ///   - key: The key that the response must be stored under.
    ///   - url: The URL that the response is for.
    /// - Returns: The response.
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

    /// The last character is the version of the form.
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

        /// A time that a response can have been received at.
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
