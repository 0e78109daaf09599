import BluebonnetLibc
import CSystem
import FoundationEssentials

/// Wraps the system calls for paths, which all block.
// Safety: every pointer below is used only within its call; callers ensure that paths contain no NUL.
enum FileSystem {
    /// Returns the status of the file at a path; `nil` if the file does not exist or is not accessible.
    static func status(_ path: String, followingLinks: Bool) -> FileStatus? {
        var status = stat()
        let code = unsafe followingLinks ? stat(path, &status) : lstat(path, &status)
        return code == 0 ? FileStatus(status) : nil
    }

    /// Returns the status of the file at a path, and follows links.
    ///
    /// - Throws: The system's error.
    static func examine(_ path: String) throws(SystemError) -> FileStatus {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw SystemError(errno) }
        return FileStatus(status)
    }

    /// Whether this process may change the entries of a directory; `false` on a read-only file system.
    static func isWritable(_ directory: String) -> Bool {
        unsafe access(directory, W_OK | X_OK) == 0
    }

    /// Returns the absolute path without links; components that do not exist are kept.
    static func realPath(_ path: String) -> String {
        if let text = unsafe realpath(path, nil) {
            defer { unsafe free(text) }
            return unsafe String(cString: text)
        }
        let parent = parent(of: path)
        return parent == path ? path : self.path(name(of: path), in: realPath(parent))
    }

    /// Creates a directory and its missing parents.
    ///
    /// - Parameters:
    ///   - path: The path of the directory.
    ///   - mode: The permissions of the directory, without the bits of the process's umask. Its parents get the default
    ///     permissions.
    /// - Throws: The system's error.
    static func makeDirectories(_ path: String, mode: mode_t = 0o777) throws(SystemError) {
        if unsafe mkdir(path, mode) == 0 { return }
        switch errno {
        case EEXIST:
            guard status(path, followingLinks: true)?.isDirectory == true else { throw SystemError(ENOTDIR) }
        case ENOENT where parent(of: path) != path:
            try makeDirectories(parent(of: path))
            // Another process or thread may have created the directory in the meantime.
            guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else { throw SystemError(errno) }
        case let code: throw SystemError(code)
        }
    }

    /// Renames a file, and replaces a file that already has the new name.
    ///
    /// A device, a pipe or a socket, which a superuser could replace, is not replaced: the error is `EOPNOTSUPP`.
    static func rename(_ source: String, to target: String) throws(SystemError) {
        if status(target, followingLinks: true)?.isSpecial == true { throw SystemError(EOPNOTSUPP) }
        guard unsafe BluebonnetLibc.rename(source, target) == 0 else { throw SystemError(errno) }
    }

    /// Renames a file; fails with `EEXIST` if the new name is taken.
    static func renameWithoutReplacing(_ source: String, to target: String) throws(SystemError) {
        let code = unsafe bb_rename_without_replacing(source, target)
        if code == 0 { return }
        // Some file systems do not support this call. A hard link never replaces another file.
        guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(code) else { throw SystemError(code) }
        if unsafe link(source, target) == 0 { return remove(source) }
        guard [EPERM, ENOSYS, EOPNOTSUPP, EMLINK].contains(errno) else { throw SystemError(errno) }
        // Some file systems do not support hard links either. In this case, a file that another process creates at the
        // target between these two lines is lost.
        guard status(target, followingLinks: false) == nil else { throw SystemError(EEXIST) }
        try rename(source, to: target)
    }

    /// Removes a file if it exists, ignoring errors.
    static func remove(_ path: String) {
        _ = unsafe unlink(path)
    }

    /// Removes a file if it exists.
    ///
    /// - Throws: The system's error if the file still exists.
    static func removeIfPresent(_ path: String) throws(SystemError) {
        guard unsafe unlink(path) != 0, errno != ENOENT, errno != ENOTDIR else { return }
        throw SystemError(errno)
    }

    /// Returns the names in a directory; an empty array if the directory does not exist.
    ///
    /// - Throws: The system's error if the directory cannot be read.
    static func names(in directory: String) throws(SystemError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            // A second look at the directory would be a race with the task that creates it.
            let error = SystemError(((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue ?? EIO)
            guard error.isAbsence else { throw error }
            return []
        }
    }

    // MARK: Paths

    /// The directory for temporary files; `/tmp` if the environment's directory is empty.
    ///
    /// For an empty directory, FoundationEssentials returns the root directory.
    static var temporaryDirectory: String {
        let directory = withoutSlashes(FileManager.default.temporaryDirectory.path(percentEncoded: false))
        return directory == "/" ? "/tmp" : directory
    }

    /// Returns the path without its last component.
    static func parent(of path: String) -> String {
        let path = withoutSlashes(path)
        guard let slash = path.utf8.lastIndex(of: 0x2f) else { return "." }
        return withoutSlashes(String(path[...slash]))
    }

    /// Returns the last component of the path.
    static func name(of path: String) -> String {
        let path = withoutSlashes(path)
        guard let slash = path.utf8.lastIndex(of: 0x2f) else { return path }
        return String(path[path.index(after: slash)...])
    }

    /// Returns the path of a file in a directory.
    static func path(_ name: String, in directory: String) -> String {
        directory.utf8.last == 0x2f ? directory + name : "\(directory)/\(name)"
    }

    /// Returns the path without trailing slashes; the root keeps its slash.
    static func withoutSlashes(_ path: String) -> String {
        var path = path
        while path.last == "/", path != "/" { path.removeLast() }
        return path
    }
}

/// The status of a file.
struct FileStatus {
    var isRegular: Bool
    var isDirectory: Bool
    /// Whether the file is a device, a pipe or a socket.
    var isSpecial: Bool { !isRegular && !isDirectory }
    var size: Int64
    /// The permission bits of the file.
    var mode: mode_t
    var owner: uid_t
    var links: Int
    /// The time of the last change of the content, in nanoseconds since 1970.
    var modified: Int64
    /// The time of the last change of the content or the status, in nanoseconds since 1970.
    var changed: Int64
    /// The time of the last access to the content, in nanoseconds since 1970; not always kept by the file system.
    var accessed: Int64
    /// The identity of the file, which does not depend on its names.
    var identity: Identity

    struct Identity: Hashable {
        var device: dev_t
        var inode: ino_t
    }

    /// What differs when a file was replaced or written, and not when it was only read.
    struct Version: Hashable {
        var identity: Identity
        var size: Int64
        var modified: Int64
        var changed: Int64
    }

    var version: Version { Version(identity: identity, size: size, modified: modified, changed: changed) }

    init(_ status: stat) {
        isRegular = status.st_mode & S_IFMT == S_IFREG
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        size = Int64(status.st_size)
        mode = status.st_mode & 0o777
        owner = status.st_uid
        links = Int(status.st_nlink)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
        accessed = Self.nanoseconds(status.st_atim)
        identity = Identity(device: status.st_dev, inode: status.st_ino)
    }

    /// Whether only this user can have created the file.
    ///
    /// The file is regular, belongs to this user, and has only one name. In a directory to which other users can write,
    /// they could create a file or link with a predictable name.
    var isOwn: Bool { isRegular && owner == geteuid() && links == 1 }

    /// Whether only this user has write access to the file or directory.
    var isPrivate: Bool { owner == geteuid() && mode & (S_IWGRP | S_IWOTH) == 0 }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
