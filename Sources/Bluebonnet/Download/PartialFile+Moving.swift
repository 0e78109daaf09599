import Glibc

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
    /// What those are (the umask, or the directory's own rules) is the system's to say, by making a file.
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
