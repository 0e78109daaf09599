import Glibc

/// The small file beside a partial file that says what it is a part of.
///
/// All calls block.
struct ResumeSidecar {
    let path: String

    init(besides partialPath: String) {
        path = partialPath + ".resume"
    }

    /// Returns what the file says; nil when there is none, or none that this user wrote.
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

    /// Writes the file, for its owner only; whoever reads it meanwhile sees all of the old or all of the new.
    ///
    /// Called by who has the lock of the partial file, so that nobody else writes it.
    func write(_ data: ResumeData) throws(SystemError) {
        let unfinished = path + ".new"
        FileSystem.remove(unfinished)
        do {
            let file = try OpenFile.creating(unfinished, mode: 0o600)
            var position: Int64 = 0
            try file.write(data.encoded(), at: &position)
            try FileSystem.rename(unfinished, to: path)
        } catch {
            FileSystem.remove(unfinished)
            throw error
        }
    }

    func remove() {
        FileSystem.remove(path)
    }
}
