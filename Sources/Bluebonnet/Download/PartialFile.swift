import BluebonnetLibc
import FoundationEssentials

/// A file that a body is written to, with a sidecar file that contains the resume data.
///
/// The object belongs to one task. Its calls block, so they never run on the event loop. The object holds a lock on the
/// file, so that no other download of this or another process writes to the file. The body is not flushed to the disk.
/// The written bytes survive a crash of the process, but not a power failure.
final class PartialFile {
    /// The path of the file.
    let path: String
    /// The size of the file in bytes.
    private(set) var size: Int64
    /// The data for resuming, if the download can be resumed.
    private(set) var resumeData: ResumeData?

    let file: OpenFile
    let sidecar: ResumeSidecar

    private init(_ path: String, _ file: OpenFile, size: Int64) {
        self.path = path
        self.file = file
        self.size = size
        sidecar = ResumeSidecar(besides: path)
        resumeData = sidecar.read()
        resumeData?.path = path
    }

    // MARK: Opening

    /// Opens an existing partial file by name, or creates it.
    ///
    /// The result is `nil` if another download is writing to the file, or the file belongs to another user.
    static func named(_ name: String, in directory: String) throws(RequestError) -> PartialFile? {
        let path = FileSystem.path(name, in: directory)
        // Another download may create or remove the file at the same time, so several tries may be necessary.
        for _ in 0..<16 {
            do {
                let file = try OpenFile.creating(path, mode: 0o666)
                // The file is new, so this process may use it even on a file system without locks.
                guard file.lock() != .busy else { return nil }
                guard isStill(file, at: path) else { continue }
                return PartialFile(path, file, size: 0)
            } catch {
                guard error.fileExists else { throw error.during(.cannotCreateFile(path: path)) }
            }
            guard let file = try? OpenFile.writing(path) else {
                // The file was removed in the meantime, or it cannot be opened. A directory, a link or another user's
                // file cannot be opened.
                guard FileSystem.status(path, followingLinks: false) == nil else { return nil }
                continue
            }
            guard file.lock() == .taken, let status = try? file.status() else { return nil }
            guard isStill(file, at: path) else { continue }
            return status.isOwn ? PartialFile(path, file, size: status.size) : nil
        }
        return nil
    }

    /// Creates a partial file with a unique name.
    static func unique(in directory: String, mode: mode_t) throws(RequestError) -> PartialFile {
        let path = FileSystem.path(".\(FileName.unique()).part", in: directory)
        do {
            let file = try OpenFile.creating(path, mode: mode)
            _ = file.lock()
            return PartialFile(path, file, size: 0)
        } catch {
            throw error.during(.cannotCreateFile(path: path))
        }
    }

    /// Opens the partial file that resume data describes.
    ///
    /// The result is `nil` if the file does not exist, is in use, belongs to another user, or has been restarted since.
    static func left(by data: ResumeData) -> PartialFile? {
        guard let file = try? OpenFile.writing(data.path), file.lock() != .busy, isStill(file, at: data.path),
            let status = try? file.status(), status.isOwn
        else { return nil }
        let partial = PartialFile(data.path, file, size: status.size)
        return partial.resumeData?.id == data.id ? partial : nil
    }

    /// Whether the path still refers to this file.
    private static func isStill(_ file: OpenFile, at path: String) -> Bool {
        guard let own = try? file.status(), let named = FileSystem.status(path, followingLinks: false) else {
            return false
        }
        return own.identity == named.identity
    }

    /// Whether the path still refers to this file, so that moving the path moves the written bytes.
    var isInPlace: Bool { Self.isStill(file, at: path) }

    // MARK: Writing

    /// Empties the file for another body, and writes the sidecar.
    func restart(_ data: ResumeData?) throws(RequestError) {
        // With this order, the sidecar never describes bytes that are not in the file.
        try truncate(to: 0)
        sidecar.remove()
        resumeData = nil
        guard let data else { return }
        // If there is no space for the sidecar, writing the body fails as well and reports the error.
        if (try? sidecar.write(data)) != nil { resumeData = data }
    }

    /// Appends bytes to the file.
    ///
    /// If the method throws, the bytes that were written before the error stay in the file.
    func write(_ data: Data) throws(RequestError) {
        do {
            try file.write(data, at: &size)
        } catch {
            throw error.during(.cannotWriteFile(path: path))
        }
    }

    /// Changes the size of the file.
    func truncate(to size: Int64) throws(RequestError) {
        guard size != self.size else { return }
        do {
            try file.truncate(to: size)
            self.size = size
        } catch {
            throw error.during(.cannotWriteFile(path: path))
        }
    }

    // MARK: Ending

    /// Returns the data for resuming later, or `nil` if the file cannot be resumed.
    func keep() -> Data? {
        guard var data = resumeData, data.decision(size: size) != nil else { return nil }
        data.bytes = size
        return data.encoded()
    }

    /// Releases the lock, so that another download can write to the file.
    ///
    /// This object must not write to the file afterwards.
    func release() {
        file.unlock()
    }

    /// Deletes the file and its sidecar.
    func discard() {
        if isInPlace { FileSystem.remove(path) }
        sidecar.remove()
        resumeData = nil
    }
}

extension ResumeData {
    /// Finds the resume data of an earlier process next to a destination, for example after a crash.
    ///
    /// The call blocks. It also finds the data of a running process that holds the lock on the file.
    static func left(beside destination: URL) -> ResumeData? {
        guard let path = try? DownloadTarget.path(of: destination) else { return nil }
        let partial = FileSystem.path(
            FileName.partial(of: FileSystem.name(of: path)), in: FileSystem.parent(of: path))
        guard var data = ResumeSidecar(besides: partial).read(),
            let status = FileSystem.status(partial, followingLinks: false), status.isOwn,
            data.decision(size: status.size) != nil
        else { return nil }
        data.path = partial
        data.bytes = status.size
        return data
    }
}

extension PartialFile {
    /// Moves the complete file to its destination.
    ///
    /// The destination never contains an incomplete file. If the move fails, the partial file is kept.
    ///
    /// - Parameters:
    ///   - target: The path of the destination.
    ///   - replacing: Whether to replace an existing file.
    ///   - isPrivate: Whether the file stays readable only by its owner.
    /// - Throws: `.download` with `.destinationExists`, `.destinationIsDirectory` or `.cannotMoveFile`.
    func move(to target: String, replacing: Bool, isPrivate: Bool = false) throws(RequestError) {
        try DownloadTarget.checkFree(target, replacing: replacing)
        do throws(SystemError) {
            guard isInPlace else { throw SystemError(ENOENT) }
            try setMode(for: target, isPrivate: isPrivate)
            do throws(SystemError) {
                try Self.rename(path, to: target, replacing: replacing)
            } catch {
                guard error.code == EXDEV else { throw error }
                try copy(to: target, replacing: replacing, mode: isPrivate ? 0o600 : 0o666)
            }
        } catch {
            switch error.code {
            case EEXIST: throw error.during(.destinationExists(path: target))
            case EISDIR: throw error.during(.destinationIsDirectory(path: target))
            default: throw error.during(.cannotMoveFile(from: path, to: target))
            }
        }
        sidecar.remove()
    }

    private static func rename(_ source: String, to target: String, replacing: Bool) throws(SystemError) {
        if replacing {
            try FileSystem.rename(source, to: target)
        } else {
            try FileSystem.renameWithoutReplacing(source, to: target)
        }
    }

    /// Gives a private file the permissions of a new file in the directory of the target.
    ///
    /// These permissions depend on the umask or on rules of the directory, so they are read from a temporary sample
    /// file.
    private func setMode(for target: String, isPrivate: Bool) throws(SystemError) {
        let mode = try file.status().mode
        if isPrivate { return mode == 0o600 ? () : try file.setMode(0o600) }
        guard mode & 0o077 == 0 else { return }
        let sample = Self.staging(for: target)
        let made = try OpenFile.creating(sample, mode: 0o666)
        FileSystem.remove(sample)
        try file.setMode(made.status().mode)
    }

    /// Copies the file to a hidden name on another file system, and then moves the copy to the target.
    private func copy(to target: String, replacing: Bool, mode: mode_t) throws(SystemError) {
        let staging = Self.staging(for: target)
        let copy = try OpenFile.creating(staging, mode: mode)
        do {
            try file.copy(to: copy)
            // Some file systems report write errors only when the file is closed.
            try copy.close()
            try Self.rename(staging, to: target, replacing: replacing)
        } catch {
            FileSystem.remove(staging)
            throw error
        }
        FileSystem.remove(path)
    }

    private static func staging(for target: String) -> String {
        FileSystem.path(".\(FileName.unique()).part", in: FileSystem.parent(of: target))
    }
}

/// The file next to a partial file that contains the resume data.
///
/// All calls block.
struct ResumeSidecar {
    let path: String

    init(besides partialPath: String) {
        path = partialPath + ".resume"
    }

    /// Reads the resume data, or returns `nil` if the file is missing, is invalid or belongs to another user.
    func read() -> ResumeData? { contents().flatMap { try? ResumeData(decoding: $0) } }

    /// Reads the file, or returns `nil` if it is missing, is too large or belongs to another user.
    func contents() -> Data? {
        guard let file = try? OpenFile.reading(path), let status = try? file.status(), status.isOwn,
            status.size <= ResumeData.limit
        else { return nil }
        return try? file.read(upTo: Int(status.size))
    }

    /// Writes the file, which is readable only by its owner.
    ///
    /// A reader sees either the old file or the new file. The caller holds the lock on the partial file, so there is no
    /// other writer.
    func write(_ data: ResumeData) throws(SystemError) { try write(data.encoded()) }

    /// Writes the file with any content.
    func write(_ data: Data) throws(SystemError) {
        FileSystem.remove(unfinished)
        try OpenFile.replace(path, with: data, by: unfinished)
    }

    func remove() {
        FileSystem.remove(path)
        // A process may have been killed while it wrote the file.
        FileSystem.remove(unfinished)
    }

    private var unfinished: String { path + ".new" }
}
