import CSystem
import FoundationEssentials
import Synchronization

/// Keeps responses in files of a directory, up to a number of bytes: what was not used for the longest time goes first.
///
/// All calls block: they belong on the pool. Several processes may have the same directory, and each sees what the others
/// have stored: nothing is remembered but how large the files are. A file comes to be under its name when it is complete;
/// what a process leaves that ends before that is removed by a later one. What goes wrong is a miss, and is counted.
final class DiskStore: Sendable {
    private let directory: String
    private let capacity: Int
    private let ledger = Locked(LeastRecentlyUsed<String, Void>())
    private let isOpened = Atomic(false)
    private let writtenSinceScan = Atomic(0)
    private let failureCount = Atomic(0)

    init(directory: String, capacity: Int) {
        self.directory = FileSystem.withoutSlashes(directory)
        self.capacity = capacity
    }

    /// How many bytes the files have, as far as is known.
    var bytes: Int { ledger.withLock { $0.cost } }

    /// How often the system has refused something.
    var failures: Int { failureCount.load(ordering: .relaxed) }

    /// The responses for a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - url: The URL that the responses are to have.
    /// - Returns: The responses, in no order.
    func candidates(for key: CacheKey, url: URL) -> [StoredResponse] {
        open()
        return names(for: key).compactMap { entry(in: $0, url: url) }
    }

    /// Keeps a response, in place of the one that answers the same request.
    func store(_ entry: StoredResponse, for key: CacheKey) {
        open()
        let bytes = EntryFile.encoded(entry)
        guard bytes.count <= capacity / ResponseCache.shareOfEntry else { return remove(entry, for: key) }
        let name = place(of: entry, for: key)
        let number = Self.lastTemporary.add(1, ordering: .relaxed).newValue
        let temporary = path("\(Self.temporaryPrefix)\(FileSystem.processID).\(number)")
        do throws(SystemError) {
            try write(bytes, to: temporary)
            try FileSystem.rename(temporary, to: path(name))
        } catch {
            failureCount.add(1, ordering: .relaxed)
            FileSystem.remove(temporary)
            return
        }
        ledger.withLock { $0.set((), cost: bytes.count, for: name) }
        // Others may write here, too.
        if writtenSinceScan.add(bytes.count, ordering: .relaxed).newValue > capacity / 4 { scan() }
        evict()
    }

    /// Forgets one response for a key.
    func remove(_ entry: StoredResponse, for key: CacheKey) {
        for name in names(for: key) where self.entry(in: name, url: entry.response.url)?.selector == entry.selector {
            remove(name)
        }
    }

    /// Forgets all responses for a key.
    func removeAll(for key: CacheKey) {
        open()
        for name in names(for: key) { remove(name) }
    }

    /// Forgets everything; files that are not the cache's stay.
    func removeAll() {
        open()
        for name in FileSystem.names(in: directory) where Self.isEntry(name) { remove(name) }
    }

    // MARK: Files

    private func write(_ bytes: Data, to path: String) throws(SystemError) {
        let file: OpenFile
        do throws(SystemError) {
            file = try OpenFile.creating(path, mode: 0o600)
        } catch {
            // Somebody has removed the directory.
            guard error.code == ENOENT else { throw error }
            try FileSystem.makeDirectories(directory, mode: 0o700)
            file = try OpenFile.creating(path, mode: 0o600)
        }
        var position: Int64 = 0
        try file.write(bytes, at: &position)
    }

    /// Reads a file; one that is no response is removed.
    private func entry(in name: String, url: URL) -> StoredResponse? {
        let path = path(name)
        do throws(SystemError) {
            let file = try OpenFile.reading(path)
            let status = try file.status()
            guard status.isRegular, status.size <= Int64(capacity) else {
                remove(name)
                return nil
            }
            guard let entry = EntryFile.decoded(try file.read(upTo: Int(status.size)), url: url) else {
                remove(name)
                return nil
            }
            file.touch()
            ledger.withLock { $0.set((), cost: Int(status.size), for: name) }
            return entry
        } catch {
            if error.code != ENOENT { failureCount.add(1, ordering: .relaxed) }
            ledger.withLock { _ = $0.remove(name) }
            return nil
        }
    }

    /// Where a response goes: where that is which it replaces, else where nothing is, else where the oldest is.
    private func place(of entry: StoredResponse, for key: CacheKey) -> String {
        var free: String?
        var oldest: (name: String, time: Date)?
        for name in names(for: key) {
            guard let other = self.entry(in: name, url: entry.response.url) else {
                free = free ?? name
                continue
            }
            if other.selector == entry.selector { return name }
            if oldest.map({ other.responseTime < $0.time }) ?? true { oldest = (name, other.responseTime) }
        }
        return free ?? oldest?.name ?? names(for: key)[0]
    }

    private func remove(_ name: String) {
        FileSystem.remove(path(name))
        ledger.withLock { _ = $0.remove(name) }
    }

    private func path(_ name: String) -> String { FileSystem.path(name, in: directory) }

    // MARK: The books

    /// Makes the directory and looks at what is in it, once.
    private func open() {
        guard !isOpened.exchange(true, ordering: .acquiringAndReleasing) else { return }
        do throws(SystemError) {
            try FileSystem.makeDirectories(directory, mode: 0o700)
        } catch {
            failureCount.add(1, ordering: .relaxed)
        }
        scan()
        evict()
    }

    /// Takes note of all files, in the order of their last use.
    private func scan() {
        writtenSinceScan.store(0, ordering: .relaxed)
        let now = Int64(Date().timeIntervalSince1970) &* 1_000_000_000
        var found: [(name: String, status: FileStatus)] = []
        for name in FileSystem.names(in: directory) {
            guard let status = FileSystem.status(path(name), followingLinks: false) else { continue }
            if Self.isEntry(name) {
                found.append((name, status))
            } else if name.hasPrefix(Self.temporaryPrefix), now - status.modified > Self.patience {
                FileSystem.remove(path(name))
            }
        }
        found.sort { $0.status.modified < $1.status.modified }
        let inOrder = found.map { (name: $0.name, size: Int($0.status.size)) }
        ledger.withLock { ledger in
            ledger = LeastRecentlyUsed()
            for file in inOrder { ledger.set((), cost: file.size, for: file.name) }
        }
    }

    private func evict() {
        while let name = ledger.withLock({ $0.cost > capacity ? $0.removeOldest()?.key : nil }) {
            FileSystem.remove(path(name))
        }
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

    private static let lastTemporary = Atomic(0)
    private static let variantLimit = 4
    private static let temporaryPrefix = "bluebonnet-cache."
    /// For how many nanoseconds a file may be under way: an hour.
    private static let patience: Int64 = 3_600_000_000_000
}

extension Data {
    /// The bytes in hexadecimal digits, in lower case.
    fileprivate var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
