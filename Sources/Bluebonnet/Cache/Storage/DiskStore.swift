import FoundationEssentials
import Synchronization

/// Stores responses in files of a directory up to a number of bytes, and removes the least recently used files first.
///
/// All calls block, so they must run on the global executor. Several processes may share a directory. Only the sizes of
/// the files are kept in memory, so each process finds the responses of the other processes. A failure counts as a
/// miss, and increases ``failures``. After a failure to replace or remove a response, the response is no longer used.
final class DiskStore: Sendable {
    private let directory: CacheDirectory
    private let capacity: Int
    private let entries = Locked(LeastRecentlyUsed<String, Void>())
    private let isOpened = Atomic(false)
    private let writtenSinceScan = Atomic(0)
    private let failureCount = Atomic(0)

    init(directory: String, capacity: Int) {
        self.directory = CacheDirectory(directory)
        self.capacity = capacity
    }

    /// The number of bytes in the files, as far as this process knows.
    var bytes: Int { entries.withLock { $0.cost } }

    /// The number of failed system calls and of refused directories.
    var failures: Int { failureCount.load(ordering: .relaxed) }

    /// Returns the responses for a key.
    ///
    /// - Parameters:
    ///   - key: The key of the responses.
    ///   - url: The URL for the responses.
    /// - Returns: The responses in no particular order.
    func candidates(for key: CacheKey, url: URL) -> [StoredResponse] {
        guard open() else { return [] }
        return names(for: key).compactMap { content(of: $0, key, url).entry }
    }

    /// Stores a response, and replaces the response to the same request.
    ///
    /// If storing fails, all responses for the key are removed.
    func store(_ entry: StoredResponse, for key: CacheKey) {
        guard open(forWriting: true) else { return removeAll(for: key) }
        let bytes = EntryFile.encoded(entry, for: key)
        guard bytes.count <= capacity / ResponseCache.shareOfEntry else { return remove(entry, for: key) }
        let name = place(of: entry, for: key)
        do throws(SystemError) {
            try directory.write(bytes, to: name)
        } catch {
            countFailures(1)
            return removeAll(for: key)
        }
        entries.withLock { $0.set((), cost: bytes.count, for: name) }
        // Other processes may write to the directory, too.
        if writtenSinceScan.add(bytes.count, ordering: .relaxed).newValue > capacity / 4 { scan() }
        evict()
    }

    /// Removes one response for a key, and all files for the key that cannot be read.
    func remove(_ entry: StoredResponse, for key: CacheKey) {
        for name in names(for: key) {
            switch content(of: name, key, entry.response.url) {
            case .nothing: break
            case .unreadable: remove(name)
            case .entry(let other): if other.selector == entry.selector { remove(name) }
            }
        }
    }

    /// Removes all responses for a key.
    func removeAll(for key: CacheKey) {
        for name in names(for: key) { remove(name) }
    }

    /// Removes all responses; other files in the directory are kept.
    func removeAll() {
        countFailures(directory.removeAll { Self.isEntry($0) })
        scan()
    }

    private func countFailures(_ count: Int) { failureCount.add(count, ordering: .relaxed) }

    // MARK: Files

    /// The content of a file.
    private enum Content {
        case nothing, unreadable
        case entry(StoredResponse)

        var entry: StoredResponse? { if case .entry(let entry) = self { entry } else { nil } }
    }

    /// Reads a file, and removes it if it does not contain a response for the key.
    private func content(of name: String, _ key: CacheKey, _ url: URL) -> Content {
        do throws(SystemError) {
            guard let bytes = try directory.read(name, limit: capacity),
                let entry = EntryFile.decoded(bytes, for: key, url: url)
            else {
                remove(name)
                return .nothing
            }
            entries.withLock { $0.set((), cost: bytes.count, for: name) }
            return .entry(entry)
        } catch {
            entries.withLock { _ = $0.remove(name) }
            if error.isAbsence { return .nothing }
            countFailures(1)
            return .unreadable
        }
    }

    /// Returns the file name for a response.
    ///
    /// This is the name of the response that it replaces, or a free name, or the name of the oldest response.
    private func place(of entry: StoredResponse, for key: CacheKey) -> String {
        var free: String?
        var oldest: (name: String, time: Date)?
        for name in names(for: key) {
            switch content(of: name, key, entry.response.url) {
            case .nothing: free = free ?? name
            case .unreadable:
                // The unreadable file may contain the response that is replaced.
                remove(name)
                free = free ?? name
            case .entry(let other):
                if other.selector == entry.selector { return name }
                if oldest.map({ other.responseTime < $0.time }) ?? true { oldest = (name, other.responseTime) }
            }
        }
        return free ?? oldest?.name ?? names(for: key)[0]
    }

    private func remove(_ name: String) {
        entries.withLock { _ = $0.remove(name) }
        do throws(SystemError) { try directory.remove(name) } catch { countFailures(1) }
    }

    // MARK: Bookkeeping

    /// Checks the directory; the first call also scans its files.
    ///
    /// - Parameter isForWriting: Whether to create the directory if it is missing.
    /// - Returns: Whether the directory can be used.
    private func open(forWriting isForWriting: Bool = false) -> Bool {
        var condition = directory.condition
        if condition == .missing, isForWriting {
            try? directory.make()
            condition = directory.condition
        }
        guard condition == .usable else {
            if condition == .refused || isForWriting { countFailures(1) }
            return false
        }
        if directory.isUnremovable {
            removeAll()
            guard !directory.isUnremovable else { return false }
        }
        if !isOpened.exchange(true, ordering: .acquiringAndReleasing) {
            scan()
            evict()
        }
        return true
    }

    /// Records all files in the order of their last use.
    private func scan() {
        writtenSinceScan.store(0, ordering: .relaxed)
        let now = Date()
        var found: [(name: String, status: FileStatus)] = []
        do throws(SystemError) {
            for name in try directory.names() {
                if Self.isEntry(name) {
                    if let status = directory.status(of: name) { found.append((name, status)) }
                } else {
                    directory.removeLeftover(name, now: now)
                }
            }
        } catch {
            return countFailures(1)
        }
        found.sort { $0.status.modified < $1.status.modified }
        let inOrder = found.map { (name: $0.name, size: Int($0.status.size)) }
        entries.withLock { entries in
            entries = LeastRecentlyUsed()
            for file in inOrder { entries.set((), cost: file.size, for: file.name) }
        }
    }

    private func evict() {
        while let name = entries.withLock({ $0.cost > capacity ? $0.removeOldest()?.key : nil }) { remove(name) }
    }

    // MARK: Names

    /// Returns the possible file names for a key.
    ///
    /// A key may have several responses that differ in the values of the selecting fields.
    private func names(for key: CacheKey) -> [String] {
        let digest = key.digest.hexadecimal
        return (0..<Self.variantLimit).map { "\(digest).\($0)" }
    }

    private static func isEntry(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: 0x2e, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 64, parts[1].count == 1 else { return false }
        return parts[0].allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x61 < 6 } && parts[1].allSatisfy { $0 &- 0x30 < 4 }
    }

    private static let variantLimit = 4
}

extension Data {
    /// The bytes in lower-case hexadecimal.
    fileprivate var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
