import BluebonnetLibc
import FoundationEssentials
import Synchronization

/// Stores responses in files of a directory up to a number of bytes, and removes the least recently used files first.
///
/// All calls block, so they must run on the global executor. Several processes may share a directory. Only the sizes of
/// the files are kept in memory, so each process finds the responses of the other processes. The sizes of the files of
/// earlier processes are read after the first store. What processes left behind is removed at the first use. A failure
/// counts as a miss, and increases ``failures``. After a failure to replace or remove a response, the response is no
/// longer used.
final class DiskStore: Sendable {
    private let directory: CacheDirectory
    private let capacity: Int
    /// The sizes of the files.
    private let entries = Locked(LeastRecentlyUsed<String, Int>())
    private let hasCleared = Atomic(false)
    private let hasScanned = Atomic(false)
    private let isScanningNow = Atomic(false)
    private let writtenSinceScan = Atomic(0)
    /// The bytes in incomplete files.
    private let bytesInFlight = Atomic(0)
    private let failureCount = Atomic(0)
    private let evictionCount = Atomic(0)

    init(directory: String, capacity: Int) {
        self.directory = CacheDirectory(directory)
        self.capacity = capacity
    }

    /// The number of bytes in the files, as far as this process knows.
    var bytes: Int { entries.withLock { $0.cost } }

    /// The number of failed system calls and of refused directories.
    var failures: Int { failureCount.load(ordering: .relaxed) }

    /// The number of files that were removed to make room.
    var evictions: Int { evictionCount.load(ordering: .relaxed) }

    /// Whether a task is reading the sizes of all files.
    var isScanning: Bool { isScanningNow.load(ordering: .acquiring) }

    // MARK: Reading

    /// Returns the responses for a key.
    ///
    /// The first file of a key contains the newest response. If this response matches the request, no other file is
    /// opened.
    ///
    /// - Parameters:
    ///   - key: The key of the responses.
    ///   - url: The URL for the responses.
    ///   - request: The request that the responses must match; `nil` for all responses.
    ///   - inPieces: Whether a large body remains in its file.
    /// - Returns: The responses in no particular order.
    func candidates(
        for key: CacheKey, url: URL, matching request: CacheRequest? = nil, inPieces: Bool = false
    ) -> [StoredResponse] {
        guard open() else { return [] }
        var found: [StoredResponse] = []
        for (index, name) in names(for: key).enumerated() {
            guard case .file(let file) = content(of: name, key, readingUpTo: StoredBody.pieceSize),
                let response = response(in: file, name, url, matching: request, inPieces: inPieces)
            else { continue }
            found.append(response)
            if index == 0, request != nil { break }
        }
        return found
    }

    private func response(
        in file: EntryFile, _ name: String, _ url: URL, matching request: CacheRequest?, inPieces: Bool
    ) -> StoredResponse? {
        // Another process may store larger bodies.
        guard inPieces || file.bodyCount <= share, let response = file.response(url: url) else { return nil }
        if let request, !response.matches(request) { return nil }
        return counted { () throws(SystemError) -> StoredResponse? in
            guard let checked = try file.checked(response, inPieces: inPieces) else {
                remove(name)
                return nil
            }
            _ = checked.file.storeIfNil(directory.stored(name, file.status))
            return checked
        } ?? nil  // A response that is not usable, or a failure.
    }

    /// Returns the digests of all keys with responses.
    func allDigests() -> [String] {
        guard open() else { return [] }
        let names = counted { () throws(SystemError) in try directory.names() } ?? []
        return Array(Set(names.filter(Self.isEntry).map { String($0.prefix(64)) }))
    }

    /// Returns the key and the response in a file, whose body is not checked; `nil` if there is none.
    func inspect(_ name: String) -> (key: CacheKey, response: StoredResponse)? {
        guard let file = try? directory.open(name, readingUpTo: 0, marksUse: false), let url = URL(string: file.key),
            case let key = CacheKey(url), names(for: key).contains(name), let response = file.response(url: url)
        else { return nil }
        return (key, response)
    }

    // MARK: Writing

    /// Stores a response, and replaces the response to the same request.
    ///
    /// Returns whether the response is stored, or `nil` if the response to a later request is stored.
    ///
    /// If the response is too large, or too many bytes are being written, the earlier response is only removed. If
    /// storing fails, all responses for the key are removed.
    @discardableResult
    func store(_ entry: StoredResponse, for key: CacheKey) -> Bool? {
        guard entry.body.count <= share, hasRoom(for: entry.body.count) else {
            remove(entry.selector, for: key)
            return false
        }
        guard var partial = begin() else {
            removeAll(for: key)
            return false
        }
        do throws(SystemError) {
            guard try entry.body.forEachPiece({ append($0, to: &partial) }) else { throw SystemError(EFBIG) }
            return finish(&partial, entry, for: key)
        } catch {
            abandon(partial)
            removeAll(for: key)
            return false
        }
    }

    /// Creates the file of a response; returns `nil` if this fails.
    func begin() -> PartialEntry? {
        guard open(forWriting: true) else { return nil }
        return counted { () throws(SystemError) in
            try makingRoom(for: 4096) { () throws(SystemError) in try directory.create() }
        }
    }

    /// Writes the next bytes of the body; returns `false` if the response is too large or cannot be written, or if too
    /// many bytes are in incomplete files.
    func append(_ bytes: Data, to partial: inout PartialEntry) -> Bool {
        guard hasRoom(for: bytes.count) else { return false }
        partial.sum.update(bytes)
        return write(bytes, to: &partial)
    }

    private func write(_ bytes: Data, to partial: inout PartialEntry) -> Bool {
        guard Int(partial.count) + bytes.count <= share else { return false }
        let start = partial.count
        return counted { () throws(SystemError) -> Void in
            defer { bytesInFlight.add(Int(partial.count - start), ordering: .relaxed) }
            try makingRoom(for: bytes.count) { () throws(SystemError) in
                try partial.file.write(bytes.dropFirst(Int(partial.count - start)), at: &partial.count)
            }
        } != nil
    }

    /// Whether bytes may be added to the incomplete files, which occupy at most half of the capacity.
    private func hasRoom(for count: Int) -> Bool {
        bytesInFlight.load(ordering: .relaxed) + count <= capacity / 2
    }

    /// Completes the file of a response, and replaces the response to the same request.
    ///
    /// Returns whether the response is stored, or `nil` if the response to a later request is stored. If storing fails,
    /// all responses for the key are removed.
    func finish(_ partial: inout PartialEntry, _ entry: StoredResponse, for key: CacheKey) -> Bool? {
        guard let place = place(of: entry, for: key) else {
            abandon(partial)
            return nil
        }
        let end = EntryFile.end(for: entry, key, bodySum: partial.sum.value)
        guard entry.body.count == partial.count, write(end, to: &partial), put(partial, entry, at: place, for: key)
        else {
            abandon(partial)
            removeAll(for: key)
            return false
        }
        // Other processes may write to the directory, too.
        let written = writtenSinceScan.add(Self.cost(ofBytes: partial.count), ordering: .relaxed).newValue
        if !hasScanned.load(ordering: .relaxed) || written > capacity / 4 { scanLater() } else { evict() }
        return true
    }

    /// Renames a complete file to the first name of the key; the file with this name gets another name.
    private func put(
        _ partial: PartialEntry, _ entry: StoredResponse, at place: String, for key: CacheKey
    ) -> Bool {
        let first = firstName(for: key)
        return counted { () throws(SystemError) -> Void in
            if place != first {
                do throws(SystemError) {
                    try directory.rename(first, to: place)
                    entries.withLock { entries in
                        if let size = entries.remove(first) { entries.set(size, cost: size, for: place) }
                    }
                } catch {
                    guard error.isAbsence else { throw error }
                    remove(place)
                }
            }
            let file = try directory.complete(partial, as: first)
            bytesInFlight.subtract(Int(partial.count), ordering: .relaxed)
            let size = Self.cost(ofBytes: partial.count)
            entries.withLock { $0.set(size, cost: size, for: first) }
            _ = entry.file.storeIfNil(file)
        } != nil
    }

    /// Removes the file of a response that was not completed.
    func abandon(_ partial: PartialEntry) {
        directory.abandon(partial)
        bytesInFlight.subtract(Int(partial.count), ordering: .relaxed)
    }

    /// The maximum number of bytes in a file.
    private var share: Int { capacity / ResponseCache.shareOfEntry }

    // MARK: Removing

    /// Removes one response for a key, and all files for the key that cannot be read.
    func remove(_ selector: Data, for key: CacheKey) {
        for name in names(for: key) {
            switch content(of: name, key, readingUpTo: 0) {
            case .nothing: break
            case .unreadable: remove(name)
            case .file(let other): if other.selector == selector { remove(name) }
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

    /// Returns the result of an operation; counts its failure and returns `nil` if it fails.
    private func counted<Value>(_ body: () throws(SystemError) -> Value) -> Value? {
        do throws(SystemError) {
            return try body()
        } catch {
            countFailures(1)
            return nil
        }
    }

    // MARK: Files

    /// The content of a file.
    private enum Content {
        case nothing, unreadable
        case file(EntryFile)
    }

    /// Reads the metadata of a file, and removes the file if it does not contain a response for the key.
    private func content(of name: String, _ key: CacheKey, readingUpTo limit: Int) -> Content {
        do throws(SystemError) {
            guard let file = try directory.open(name, readingUpTo: limit), file.key == key.text else {
                remove(name)
                return .nothing
            }
            let size = Self.cost(of: file.status)
            entries.withLock { $0.set(size, cost: size, for: name) }
            return .file(file)
        } catch {
            entries.withLock { _ = $0.remove(name) }
            if error.isAbsence { return .nothing }
            countFailures(1)
            return .unreadable
        }
    }

    /// Returns the file name that becomes free for a response; `nil` if the response to a later request is stored.
    ///
    /// This is the name of the response that it replaces, or a free name, or the name of the oldest response.
    private func place(of entry: StoredResponse, for key: CacheKey) -> String? {
        var replaced: String?
        var free: String?
        var oldest: (name: String, time: Date)?
        for name in names(for: key) {
            switch content(of: name, key, readingUpTo: 0) {
            case .nothing: free = free ?? name
            case .unreadable:
                // The unreadable file may contain the response that is replaced.
                remove(name)
                free = free ?? name
            case .file(let other):
                if other.selector == entry.selector {
                    if entry.isOutdated(byRequestAt: other.requestTime, isForPart: other.isPart) { return nil }
                    if replaced == nil { replaced = name } else { remove(name) }
                } else if oldest.map({ other.responseTime < $0.time }) ?? true {
                    oldest = (name, other.responseTime)
                }
            }
        }
        return replaced ?? free ?? oldest?.name ?? firstName(for: key)
    }

    private func remove(_ name: String) {
        entries.withLock { _ = $0.remove(name) }
        do throws(SystemError) { try directory.remove(name) } catch { countFailures(1) }
    }

    // MARK: Bookkeeping

    /// Checks the directory.
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
        if !hasCleared.exchange(true, ordering: .relaxed) {
            Task { do throws(SystemError) { try directory.removeLeftovers() } catch { countFailures(1) } }
        }
        return true
    }

    /// Records all files in a task, and removes files if there are too many.
    private func scanLater() {
        guard !isScanningNow.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task {
            scan()
            evict()
            isScanningNow.store(false, ordering: .releasing)
        }
    }

    /// Records all files in the order of their last use.
    private func scan() {
        writtenSinceScan.store(0, ordering: .relaxed)
        let begin = entries.withLock { $0.time }
        var found: [(name: String, status: FileStatus)] = []
        do throws(SystemError) {
            for name in try directory.names() {
                if Self.isEntry(name), let status = directory.status(of: name) { found.append((name, status)) }
            }
        } catch {
            return countFailures(1)
        }
        found.sort { max($0.status.modified, $0.status.accessed) < max($1.status.modified, $1.status.accessed) }
        let inOrder = found.map { (key: $0.name, value: Self.cost(of: $0.status)) }
        entries.withLock { entries in
            let recent = entries.used(after: begin)
            entries = LeastRecentlyUsed()
            for (name, size) in inOrder + recent { entries.set(size, cost: size, for: name) }
        }
        hasScanned.store(true, ordering: .relaxed)
    }

    /// The size of a file; at most 1 TiB, because the sum of all sizes must not overflow.
    private static func cost(of status: FileStatus) -> Int { cost(ofBytes: status.size) }

    /// The bytes that a file occupies: whole blocks, as most file systems have them.
    private static func cost(ofBytes count: Int64) -> Int { (Int(min(count, 1 << 40)) + blockSize - 1) & -blockSize }

    private static let blockSize = 4096

    private func evict() {
        while evictOldest(where: { $0 > capacity }) != nil {}
    }

    /// Removes the least recently used file if the size of all files meets a condition; returns the file's size.
    private func evictOldest(where isNeeded: (Int) -> Bool = { _ in true }) -> Int? {
        guard let oldest = entries.withLock({ isNeeded($0.cost) ? $0.removeOldest() : nil }) else { return nil }
        remove(oldest.key)
        evictionCount.add(1, ordering: .relaxed)
        return oldest.value
    }

    /// Repeats a call that fails because the disk is full, after removing files of twice the needed size.
    private func makingRoom<Result>(
        for size: Int, _ body: () throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        while true {
            do throws(SystemError) {
                return try body()
            } catch {
                guard error.isFullDisk else { throw error }
                if !hasScanned.load(ordering: .relaxed) { scan() }
                var freed = 0
                while freed < 2 * size, let size = evictOldest() { freed += size }
                guard freed > 0 else { throw error }
            }
        }
    }

    // MARK: Names

    /// Returns the possible file names for a key.
    ///
    /// A key may have several responses that differ in the values of the selecting fields.
    private func names(for key: CacheKey) -> some RandomAccessCollection<String> { names(key.digest.hexadecimal) }

    /// Returns the possible file names for the digest of a key.
    ///
    /// A new response has the first name. Its file moves to a later name when a newer response is stored.
    func names(_ digest: String) -> some RandomAccessCollection<String> {
        (0..<Self.variantLimit).lazy.map { "\(digest).\($0)" }
    }

    private func firstName(for key: CacheKey) -> String { "\(key.digest.hexadecimal).0" }

    private static func isEntry(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: 0x2e, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 64, parts[1].count == 1 else { return false }
        return parts[0].allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x61 < 6 } && parts[1].allSatisfy { $0 &- 0x30 < 4 }
    }

    private static let variantLimit = 4
}
