import FoundationEssentials
import Glibc
import Testing

@testable import Bluebonnet

/// A directory for one test, which is removed after the test and can simulate faults.
struct TestDirectory: ~Copyable {
    let path: String

    init(in parent: String = FileSystem.temporaryDirectory) throws {
        path = FileSystem.path("bluebonnet-test-\(FileName.token())", in: parent)
        guard unsafe mkdir(path, 0o755) == 0 else { throw SystemError(errno) }
    }

    deinit {
        // Mounts and read-only directories are removed first.
        while unsafe umount2(path, Int32(MNT_DETACH)) == 0 {}
        _ = unsafe chmod(path, 0o755)
        try? FileManager.default.removeItem(atPath: path)
    }

    var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

    func url(_ name: String) -> URL { URL(filePath: path(name), directoryHint: .notDirectory) }

    func path(_ name: String) -> String { FileSystem.path(name, in: path) }

    /// The names of everything in it, hidden files included.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

    /// The paths of all files, also in subdirectories.
    var files: [String] {
        names.flatMap { name in
            (try? FileManager.default.contentsOfDirectory(atPath: self.path(name)).map { "\(name)/\($0)" }) ?? [name]
        }
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: url(name))
    }

    func text(_ name: String) -> String? {
        (try? Data(contentsOf: url(name))).map { String(decoding: $0, as: UTF8.self) }
    }

    func mode(_ name: String) -> mode_t? { FileSystem.status(path(name), followingLinks: false)?.mode }

    func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: false)
    }

    /// Mounts a small file system in the directory; returns `false` if the process is not permitted to mount.
    func mountSmallDisk(size: String = "256k") -> Bool {
        unsafe mount("tmpfs", path, "tmpfs", 0, "mode=0700,size=\(size)") == 0
    }

    /// Frees space on the small disk.
    func enlargeDisk() throws {
        guard unsafe mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=8m") == 0 else { throw SystemError(errno) }
    }

    /// Makes the directory unchangeable for all users, root included.
    func makeReadOnly() throws {
        guard geteuid() == 0 else {
            guard unsafe chmod(path, 0o555) == 0 else { throw SystemError(errno) }
            return
        }
        // Modes are nothing to root; a second mount of the same place that may only be read is.
        guard unsafe mount(path, path, "", UInt(MS_BIND), nil) == 0,
            unsafe mount("", path, "", UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0
        else { throw SystemError(errno) }
    }

    func makeWritable() {
        _ = unsafe umount2(path, Int32(MNT_DETACH))
        _ = unsafe chmod(path, 0o755)
    }
}

/// Returns the reason of a download's error, or what else was thrown.
func downloadReason(_ body: () throws -> Void) -> RequestError.DownloadReason? {
    do {
        try body()
        Issue.record("nothing was thrown")
    } catch {
        guard let error = error as? RequestError, case .download(let reason) = error.kind else {
            Issue.record("\(error)")
            return nil
        }
        return reason
    }
    return nil
}
