import CSystem
import Glibc

/// What the system says of a file.
struct FileStatus: Hashable {
    var isRegular: Bool
    var isDirectory: Bool
    var size: Int64
    /// The permission bits.
    var mode: mode_t
    var owner: uid_t
    var links: Int
    /// When the content was changed last, in nanoseconds since 1970.
    var modified: Int64
    /// When the content, or what is said of it here, was changed last, in nanoseconds since 1970.
    var changed: Int64
    /// What tells one file from another, whatever their names.
    var identity: Identity

    struct Identity: Hashable {
        var device: dev_t
        var inode: ino_t
    }

    init(_ status: stat) {
        isRegular = status.st_mode & S_IFMT == S_IFREG
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        size = Int64(status.st_size)
        mode = status.st_mode & 0o777
        owner = status.st_uid
        links = Int(status.st_nlink)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
        identity = Identity(device: status.st_dev, inode: status.st_ino)
    }

    /// Whether this is a file that nobody else has put there: of this user, with one name only.
    ///
    /// In a directory that others may write to, a file or a link of theirs could wait under a name that is easily guessed.
    var isOwn: Bool { isRegular && owner == geteuid() && links == 1 }

    /// Whether only this user can have written to it, or to what is in it.
    var isPrivate: Bool { owner == geteuid() && mode & (S_IWGRP | S_IWOTH) == 0 }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
