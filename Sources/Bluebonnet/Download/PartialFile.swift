import FoundationEssentials
import Glibc

/// Owns a file that a body is being written to, and the sidecar with the data to resume it.
///
/// Belongs to one task; its calls block, so they never run on the event loop. While it lives it holds the lock of the
/// file: no other download, in this process or another, writes to it. The body is not flushed to the disk: the written
/// bytes survive a crash of the process, but not a power failure.
final class PartialFile {
    /// Where the file is.
    let path: String
    /// How many bytes there are.
    private(set) var size: Int64
    /// The data to resume with, if the download can be resumed.
    private(set) var resumeData: ResumeData?

    private let file: OpenFile
    private let sidecar: ResumeSidecar

    private init(_ path: String, _ file: OpenFile, size: Int64) {
        self.path = path
        self.file = file
        self.size = size
        sidecar = ResumeSidecar(besides: path)
        resumeData = sidecar.read()
        resumeData?.path = path
    }

    // MARK: Opening

    /// Opens the partial file of a name, with the bytes that an earlier process left in it, or makes it.
    ///
    /// Returns nil if another download is writing to it, or the file belongs to another user.
    static func named(_ name: String, in directory: String) throws(RequestError) -> PartialFile? {
        let path = FileSystem.path(name, in: directory)
        // The file may come and go while it is being opened: its owner moves it away when it is complete.
        for _ in 0..<16 {
            do {
                let file = try OpenFile.creating(path, mode: 0o666)
                // It was not there before, so that without locks it is this one's all the same.
                guard file.lock() != .busy else { return nil }
                guard isStill(file, at: path) else { continue }
                return PartialFile(path, file, size: 0)
            } catch {
                guard error.fileExists else { throw error.during(.cannotCreateFile(path: path)) }
            }
            guard let file = try? OpenFile.writing(path) else {
                // Gone again, or not to be opened: a directory, a link, another user's.
                guard FileSystem.status(path, followingLinks: false) == nil else { return nil }
                continue
            }
            guard file.lock() == .taken, let status = try? file.status() else { return nil }
            guard isStill(file, at: path) else { continue }
            return status.isOwn ? PartialFile(path, file, size: status.size) : nil
        }
        return nil
    }

    /// Makes a partial file with a unique name.
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

    /// Opens the partial file that resume data is about.
    ///
    /// Returns nil when it is gone, in use, not this user's, or was begun again since.
    static func left(by data: ResumeData) -> PartialFile? {
        guard let file = try? OpenFile.writing(data.path), file.lock() != .busy, isStill(file, at: data.path),
            let status = try? file.status(), status.isOwn
        else { return nil }
        let partial = PartialFile(data.path, file, size: status.size)
        return partial.resumeData?.id == data.id ? partial : nil
    }

    /// Whether the path leads to this very file.
    private static func isStill(_ file: OpenFile, at path: String) -> Bool {
        guard let own = try? file.status(), let named = FileSystem.status(path, followingLinks: false) else {
            return false
        }
        return own.identity == named.identity
    }

    /// Whether the path leads to this very file, so that moving it moves what was written.
    var isInPlace: Bool { Self.isStill(file, at: path) }

    // MARK: Writing

    /// Empties the file for another body, and writes the sidecar for it before any of the body.
    func restart(_ data: ResumeData?) throws(RequestError) {
        // In this order, the sidecar never describes other bytes than those in the file.
        try truncate(to: 0)
        sidecar.remove()
        resumeData = nil
        guard let data else { return }
        // If there is no room for the sidecar, writing the body fails, too, and reports the error.
        if (try? sidecar.write(data)) != nil { resumeData = data }
    }

    /// Appends to the file; when it throws, the bytes that could be written stay.
    func write(_ data: Data) throws(RequestError) {
        do {
            try file.write(data, at: &size)
        } catch {
            throw error.during(.cannotWriteFile(path: path))
        }
    }

    /// Cuts the file.
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

    /// Returns the data to resume with later; nil if there is nothing to resume.
    func keep() -> Data? {
        guard var data = resumeData, data.decision(size: size) != nil else { return nil }
        data.bytes = size
        return data.encoded()
    }

    /// Lets others write to the file; it is not written to afterwards.
    func release() {
        file.unlock()
    }

    /// Removes the file.
    func discard() {
        if isInPlace { FileSystem.remove(path) }
        sidecar.remove()
        resumeData = nil
    }
}

extension ResumeData {
    /// Finds the resume data that an earlier process left beside a destination, as after a crash.
    ///
    /// Blocks. It also finds the data of a process that is still running, which has the lock of the file.
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
    /// Gives the complete file its name.
    ///
    /// At no moment is there less than all of the file under that name. When it fails, the file is still where it was.
    ///
    /// - Parameters:
    ///   - target: The path of the file.
    ///   - replacing: Whether a file that is there is replaced.
    ///   - isPrivate: Whether the file stays for its owner only.
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

    /// Gives a file that is its owner's only the permissions of a new file in the target's directory.
    ///
    /// The system shows them (the umask, or the directory's own rules) when a file is made there.
    private func setMode(for target: String, isPrivate: Bool) throws(SystemError) {
        let mode = try file.status().mode
        if isPrivate { return mode == 0o600 ? () : try file.setMode(0o600) }
        guard mode & 0o077 == 0 else { return }
        let sample = Self.staging(for: target)
        let made = try OpenFile.creating(sample, mode: 0o666)
        FileSystem.remove(sample)
        try file.setMode(made.status().mode)
    }

    /// Copies the file to another file system, under a hidden name first.
    private func copy(to target: String, replacing: Bool, mode: mode_t) throws(SystemError) {
        let staging = Self.staging(for: target)
        let copy = try OpenFile.creating(staging, mode: mode)
        do {
            try file.copy(to: copy)
            // Some file systems tell only now that something could not be written.
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

/// The sidecar: a small file beside a partial file, which holds its resume data.
///
/// All calls block.
struct ResumeSidecar {
    let path: String

    init(besides partialPath: String) {
        path = partialPath + ".resume"
    }

    /// Reads the file; `nil` if it is missing or belongs to another user.
    func read() -> ResumeData? {
        do {
            let file = try OpenFile.reading(path)
            let status = try file.status()
            guard status.isOwn, status.size <= ResumeData.limit else { return nil }
            return try ResumeData(decoding: try file.read(upTo: Int(status.size)))
        } catch {
            return nil
        }
    }

    /// Writes the file, for its owner only; a reader sees either all of the old or all of the new one.
    ///
    /// Writes the file. The caller holds the lock of the partial file, so there is no other writer.
    func write(_ data: ResumeData) throws(SystemError) {
        let unfinished = path + ".new"
        FileSystem.remove(unfinished)
        try OpenFile.replace(path, with: data.encoded(), by: unfinished)
    }

    func remove() {
        FileSystem.remove(path)
    }
}
