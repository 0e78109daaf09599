import FoundationEssentials

/// The hosts that require TLS (HTTP Strict Transport Security, RFC 6797).
///
/// This is a value type without I/O and without a clock.
struct HSTSHosts: Equatable {
    private struct Entry: Equatable {
        /// The end of the requirement; `nil` if it never ends.
        let expires: Date?
        let includesSubdomains: Bool

        func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }
    }

    private var entries: [String: Entry] = [:]
    /// The hosts whose entries were changed by responses.
    private var changed: Set<String> = []

    /// The maximum number of hosts that servers can add, as in libcurl.
    static let limit = 1000

    /// Returns whether requests to a host must use TLS (§8.2, §8.3).
    func requireTLS(for host: String, now: Date) -> Bool {
        guard !entries.isEmpty, !IPAddress.isAddress(host), !HostName.hasNoDomains(host) else { return false }
        let host = HostName.canonical(host)
        var rest = Substring(host)
        while !rest.isEmpty {
            if let entry = entries[String(rest)], !entry.isExpired(at: now),
                entry.includesSubdomains || rest.utf8.count == host.utf8.count
            {
                return true
            }
            guard let dot = rest.firstIndex(of: ".") else { break }
            rest = rest[rest.index(after: dot)...]
        }
        return false
    }

    /// Stores or removes a host because of the `Strict-Transport-Security` field of a response over TLS (§6.1, §8.1).
    ///
    /// A field with a mistake is ignored.
    mutating func received(_ field: String, from host: String, now: Date) {
        guard !IPAddress.isAddress(host), !HostName.hasNoDomains(host) else { return }
        guard let directives = Self.directives(field), let maximumAge = directives["max-age"]?.flatMap(Self.seconds)
        else {
            return
        }
        let includesSubdomains = directives.keys.contains("includesubdomains")
        guard !includesSubdomains || directives["includesubdomains"] == .some(nil) else { return }
        let host = HostName.canonical(host)
        changed.insert(host)
        guard maximumAge > 0 else {
            entries[host] = nil
            return
        }
        if entries[host] == nil, entries.count >= Self.limit { removeOne(now) }
        // The file has four digits for the year.
        let expires = Date(
            timeIntervalSince1970: min(now.timeIntervalSince1970 + maximumAge, HTTPDate.range.upperBound))
        entries[host] = Entry(expires: expires, includesSubdomains: includesSubdomains)
    }

    /// Removes the expired hosts, or the host that expires first.
    private mutating func removeOne(_ now: Date) {
        let count = entries.count
        entries = entries.filter { !$0.value.isExpired(at: now) }
        guard entries.count == count else { return }
        let first = entries.min { ($0.value.expires ?? .distantFuture) < ($1.value.expires ?? .distantFuture) }
        if let first { entries[first.key] = nil }
    }

    /// Returns the directives of a field by their names in lower case; `nil` if the field has a mistake.
    private static func directives(_ field: String) -> [String: String?]? {
        var result: [String: String?] = [:]
        var rest = field.utf8[...]
        while true {
            rest.skipWhitespace()
            let name = rest.takeToken()
            if !name.isEmpty {
                var value: String?
                rest.skipWhitespace()
                if rest.first == UInt8(ascii: "=") {
                    rest.removeFirst()
                    rest.skipWhitespace()
                    if rest.first == UInt8(ascii: "\"") {
                        guard let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\"")) else { return nil }
                        value = String(Substring(rest[..<end].dropFirst()))
                        rest = rest[end...].dropFirst()
                    } else {
                        value = rest.takeToken()
                        if value == "" { return nil }
                    }
                }
                guard result.updateValue(value, forKey: name) == nil else { return nil }
                rest.skipWhitespace()
            }
            guard let separator = rest.popFirst() else { return result }
            guard separator == UInt8(ascii: ";") else { return nil }
        }
    }

    private static func seconds(_ digits: String) -> Double? {
        !digits.isEmpty && digits.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Double(digits) : nil
    }

    // MARK: The file

    /// Reads the lines of a file in the format of `curl --hsts`; a line with a mistake is ignored.
    ///
    /// A line contains a host, after a dot if subdomains are included, and the end in quotes: `20261231 23:59:59`, or
    /// `unlimited`.
    mutating func read(_ text: String, now: Date) {
        for line in text.split(whereSeparator: \.isNewline) {
            let fields = line.split(separator: " ", maxSplits: 1)
            guard fields.count == 2, line.first != "#" else { continue }
            let end = fields[1].trimmed.filter { $0 != "\"" }
            let expires = end == "unlimited" ? nil : Self.date(end)
            guard end == "unlimited" || expires != nil else { continue }
            let includesSubdomains = fields[0].hasPrefix(".")
            let host = HostName.canonical(String(includesSubdomains ? fields[0].dropFirst() : fields[0]))
            let entry = Entry(expires: expires, includesSubdomains: includesSubdomains)
            if !host.isEmpty, !entry.isExpired(at: now) { entries[host] = entry }
        }
    }

    /// Returns the hosts of a file with the changes of these hosts; another session may have written the file.
    func merged(into file: Self) -> Self {
        var result = file
        for host in changed { result.entries[host] = entries[host] }
        return result
    }

    /// The text of a file with the hosts, sorted by name.
    func fileText(now: Date) -> String {
        let lines = entries.filter { !$0.value.isExpired(at: now) }.sorted { $0.key < $1.key }.map { host, entry in
            let end = entry.expires.map { Self.text($0) } ?? "unlimited"
            return "\(entry.includesSubdomains ? "." : "")\(host) \"\(end)\"\n"
        }
        return "# Hosts that require TLS (RFC 6797), in the format of curl --hsts. Written by Bluebonnet.\n"
            + lines.joined()
    }

    private static func date(_ text: String) -> Date? {
        let digits = text.utf8.filter { $0 &- 0x30 < 10 }.map { Int($0 - 0x30) }
        guard digits.count == 14 else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        guard (1...12).contains(number(4..<6)) else { return nil }
        let second = number(8..<10) * 3600 + number(10..<12) * 60 + number(12..<14)
        return HTTPDate.date(number(0..<4), number(4..<6), number(6..<8), second)
    }

    private static func text(_ date: Date) -> String {
        date.formatted(.iso8601).replacing("-", with: "").replacing("T", with: " ").replacing("Z", with: "")
    }
}

/// Guards the hosts of a session that require TLS, for its event loops, and keeps their file.
final class SessionHSTS: Sendable {
    private enum State {
        /// The file has not been read yet.
        case unread
        /// The file is written only if its content is known.
        case open(HSTSHosts, mayWrite: Bool)
        case closed
    }

    private let file: String?
    private let state: Locked<State>

    /// Creates the storage of a session; `nil` if the session does not store the hosts.
    init?(_ configuration: Session.Configuration.HSTS) {
        switch configuration {
        case .off: return nil
        case .memory: (file, state) = (nil, Locked(.open(HSTSHosts(), mayWrite: false)))
        case .file(let path): (file, state) = (path, Locked(.unread))
        }
    }

    /// Returns the URL with which a request is sent: with `https` if its host requires TLS (RFC 6797 §8.3).
    func secured(_ url: URL) -> URL {
        guard !url.isSecure, let host = url.host(percentEncoded: false) else { return url }
        let now = Date()
        guard change({ $0.requireTLS(for: host, now: now) }) == true else { return url }
        guard url.port == 80 else { return URL(string: "https" + url.absoluteString.dropFirst(4)) ?? url }
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.scheme = "https"
        components?.port = nil
        return components?.url ?? url
    }

    /// Stores or removes a host because of the field of a response.
    func received(_ field: String, from url: URL) {
        guard url.isSecure, let host = url.host(percentEncoded: false) else { return }
        let now = Date()
        change { $0.received(field, from: host, now: now) }
    }

    @discardableResult
    private func change<Result>(_ body: (inout HSTSHosts) -> Result) -> Result? {
        state.withLock { state in
            if case .unread = state {
                // The file is small, and is read once.
                let (hosts, isKnown) = readFile()
                state = .open(hosts, mayWrite: isKnown)
            }
            guard case .open(var hosts, let mayWrite) = state else { return nil }
            state = .closed
            defer { state = .open(hosts, mayWrite: mayWrite) }
            return body(&hosts)
        }
    }

    /// Returns the hosts of the file, and whether the file is missing or could be read.
    private func readFile() -> (hosts: HSTSHosts, isKnown: Bool) {
        var hosts = HSTSHosts()
        guard let file else { return (hosts, false) }
        do throws(FileError) {
            guard let data = try FileReader.contents(of: file, limit: Self.fileLimit) else { return (hosts, false) }
            hosts.read(String(decoding: data, as: UTF8.self), now: Date())
            return (hosts, true)
        } catch {
            return (hosts, FileSystem.status(file, followingLinks: true) == nil)
        }
    }

    /// Adds the changes to the file if it was read, and forgets the hosts, because the session has ended.
    ///
    /// The file becomes private to its owner, and replaces a symbolic link. An error is not reported, because no
    /// request could report it.
    func close() {
        state.withLock { state in
            defer { state = .closed }
            guard let file, case .open(let hosts, mayWrite: true) = state else { return }
            let current = readFile()
            guard current.isKnown else { return }
            let text = hosts.merged(into: current.hosts).fileText(now: Date())
            // A symbolic link is replaced; the file behind it may be another program's.
            let unfinished = "\(file).\(String(UInt64.random(in: 0 ... .max), radix: 16)).new"
            try? OpenFile.replace(file, with: Data(text.utf8), by: unfinished)
        }
    }

    private static let fileLimit: Int64 = 16 * 1024 * 1024
}
