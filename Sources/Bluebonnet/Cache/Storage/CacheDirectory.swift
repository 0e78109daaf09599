import BluebonnetLibc
import FoundationEssentials

/// The directory with the files of a cache.
///
/// All calls block. A file is written in a subdirectory, and moves when it is complete; the process that writes it
/// holds its lock until then. The directory must belong to this user, and other users must not have write access,
/// because they could replace responses. If this user has no write access, the directory is not read either, because
/// its files could not be removed.
///
/// A file that cannot be removed is truncated, so that no process can use it. If this fails too, this process records
/// the path, and does not read the file until it is removed or replaced.
struct CacheDirectory: Sendable {
    let path: String
    /// The identity of the directory when it was writable.
    private let isWritable = Locked<FileStatus.Identity?>(nil)

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
            guard status.isDirectory, status.isPrivate else { return .refused }
            // Only the first use asks whether the directory is writable, because each lookup asks for the condition.
            guard isWritable.withLock({ $0 != status.identity }) else { return .usable }
            guard FileSystem.isWritable(path) else { return .refused }
            isWritable.withLock { $0 = status.identity }
            return .usable
        } catch {
            return error.isAbsence ? .missing : .refused
        }
    }

    /// Creates the directory, for this user only, if it does not exist.
    func make() throws(SystemError) {
        try FileSystem.makeDirectories(path, mode: 0o700)
        try FileSystem.makeDirectories(place(of: Self.incomplete), mode: 0o700)
    }

    /// Returns the names of all files.
    func names() throws(SystemError) -> [String] { try FileSystem.names(in: path) }

    /// Returns the status of a file; `nil` if it does not exist.
    func status(of name: String) -> FileStatus? { FileSystem.status(place(of: name), followingLinks: false) }

    // MARK: Reading and writing

    /// Opens the file of a response, and checks its metadata.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - limit: The size up to which the whole file is read immediately.
    ///   - marksUse: Whether the file becomes the most recently used.
    /// - Returns: The file; `nil` if the file is not a cache entry, or should have been removed.
    /// - Throws: The system's error.
    func open(_ name: String, readingUpTo limit: Int, marksUse: Bool = true) throws(SystemError) -> EntryFile? {
        guard !isUnremovable(name) else { return nil }
        let file = try OpenFile.reading(place(of: name))
        let status = try file.status()
        guard status.isOwn, status.isPrivate else { return nil }
        if marksUse { file.touch() }
        return try EntryFile(file, status, readingUpTo: limit)
    }

    /// Creates a file with a temporary name, and locks it.
    ///
    /// - Throws: The system's error.
    func create() throws(SystemError) -> PartialEntry {
        for _ in 0..<Self.creationLimit {
            let name = FileSystem.path(FileName.token() + Self.suffix, in: Self.incomplete)
            let file = try creating(name)
            // Another process may already have removed the file, because it was not locked.
            if file.lock() != .busy, try file.status().links > 0 { return PartialEntry(file: file, name: name) }
            FileSystem.remove(place(of: name))
        }
        throw SystemError(EAGAIN)
    }

    /// The number of files to create until one is not taken or removed by another process, or by the file system.
    private static let creationLimit = 16

    private func creating(_ name: String) throws(SystemError) -> OpenFile {
        do throws(SystemError) {
            return try OpenFile.creating(place(of: name), mode: 0o600)
        } catch {
            guard error.isAbsence else { throw error }
            try make()
            return try OpenFile.creating(place(of: name), mode: 0o600)
        }
    }

    /// Renames a complete file, and replaces a file with the new name.
    ///
    /// - Throws: The system's error. The new name may then belong to a file that was not completely written.
    func complete(_ partial: PartialEntry, as name: String) throws(SystemError) -> StoredFile {
        let status = try partial.file.status()
        try rename(partial.name, to: name)
        // The lock ends here, so another process cannot remove the file before.
        try partial.file.close()
        return stored(name, status)
    }

    /// Returns the identity of a file with this status.
    func stored(_ name: String, _ status: FileStatus) -> StoredFile { StoredFile(place(of: name), status) }

    /// Renames a file, and replaces a file with the new name.
    func rename(_ name: String, to newName: String) throws(SystemError) {
        try FileSystem.rename(place(of: name), to: place(of: newName))
        Self.unremovable.withLock { _ = $0.files.remove(place(of: newName)) }
    }

    /// Removes an incomplete file.
    func abandon(_ partial: PartialEntry) { FileSystem.remove(place(of: partial.name)) }

    /// Removes the incomplete files of processes that have ended.
    ///
    /// - Throws: The system's error if the files cannot be listed.
    func removeLeftovers() throws(SystemError) {
        for name in try FileSystem.names(in: place(of: Self.incomplete)) where Self.isIncomplete(name) {
            removeLeftover(FileSystem.path(name, in: Self.incomplete))
        }
    }

    private func removeLeftover(_ name: String) {
        guard let file = try? OpenFile.writing(place(of: name)), (try? file.status().isOwn) == true else { return }
        switch file.lock() {
        case .taken: FileSystem.remove(place(of: name))
        case .busy: break
        case .unsupported:
            guard let modified = try? file.status().modified,
                Date().timeIntervalSince1970 - Double(modified) / 1e9 > Self.staleAge
            else { return }
            FileSystem.remove(place(of: name))
        }
    }

    private func place(of name: String) -> String { FileSystem.path(name, in: path) }

    /// The subdirectory of the files that are being written.
    private static let incomplete = "incomplete"
    /// The end of the names of such files; files of others are never removed.
    private static let suffix = ".bluebonnet"

    private static func isIncomplete(_ name: String) -> Bool {
        let token = name.utf8.dropLast(suffix.utf8.count)
        return name.hasSuffix(suffix) && token.count == FileName.token().utf8.count
            && token.allSatisfy { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 26 }
    }

    /// The age in seconds from which an incomplete file is removed if the file system has no locks.
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
        Self.unremovable.withLock { !$0.files.isEmpty && $0.files.contains(place(of: name)) }
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
