import FoundationEssentials
import Synchronization

/// Keeps responses in files of a directory, up to a number of bytes: what was not used for the longest time goes first.
///
/// All calls block: they belong on the pool. Several processes may have the same directory, and each sees what the others
/// have stored: only the sizes of the files are remembered. A failure counts as a miss, and in ``failures``; a response
/// that was to be replaced or forgotten is not used then.
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

    /// How many bytes the files have, as far as is known.
    var bytes: Int { entries.withLock { $0.cost } }

    /// How often the system has refused something, or the directory had to be refused.
    var failures: Int { failureCount.load(ordering: .relaxed) }

    /// The responses for a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - url: The URL that the responses are to have.
    /// - Returns: The responses, in no order.
    func candidates(for key: CacheKey, url: URL) -> [StoredResponse] {
        guard open() else { return [] }
        return names(for: key).compactMap { content(of: $0, key, url).entry }
    }

    /// Keeps a response, in place of the one that answers the same request.
    ///
    /// If that fails, all responses for the key are removed.
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
        // Others may write here, too.
        if writtenSinceScan.add(bytes.count, ordering: .relaxed).newValue > capacity / 4 { scan() }
        evict()
    }

    /// Forgets one response for a key, and what cannot be read.
    func remove(_ entry: StoredResponse, for key: CacheKey) {
        for name in names(for: key) {
            switch content(of: name, key, entry.response.url) {
            case .nothing: break
            case .unreadable: remove(name)
            case .entry(let other): if other.selector == entry.selector { remove(name) }
            }
        }
    }

    /// Forgets all responses for a key.
    func removeAll(for key: CacheKey) {
        for name in names(for: key) { remove(name) }
    }

    /// Forgets everything; files that are not the cache's stay.
    func removeAll() {
        countFailures(directory.removeAll { Self.isEntry($0) })
        scan()
    }

    private func countFailures(_ count: Int) { failureCount.add(count, ordering: .relaxed) }

    // MARK: Files

    /// What a file holds.
    private enum Content {
        case nothing, unreadable
        case entry(StoredResponse)

        var entry: StoredResponse? { if case .entry(let entry) = self { entry } else { nil } }
    }

    /// Reads a file; a file without a response for the key is removed.
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

    /// Returns the name for a response: that of the one it replaces, else a free one, else that of the oldest.
    private func place(of entry: StoredResponse, for key: CacheKey) -> String {
        var free: String?
        var oldest: (name: String, time: Date)?
        for name in names(for: key) {
            switch content(of: name, key, entry.response.url) {
            case .nothing: free = free ?? name
            case .unreadable:
                // It may be the one that is to be replaced.
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

    // MARK: The books

    /// Looks at the directory, the first time also at what is in it.
    ///
    /// - Parameter isForWriting: Whether the directory is made if it is missing.
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

    /// Takes note of all files, in the order of their last use.
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

    /// The names that files for a key may have: there may be several responses, of which the request's fields choose one.
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
    /// The bytes in hexadecimal digits, in lower case.
    fileprivate var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
