import FoundationEssentials

/// The hosts that are reached without a proxy: those of `no_proxy`, or those that a configuration excludes.
///
/// Libcurl never sees them. Its versions read a list differently, and each ignores entries that it does not understand.
struct ProxyExclusions: Sendable {
    private var entries: [Entry] = []
    /// The entries that are not understood, without secrets.
    private(set) var misunderstood: [String] = []

    init(_ entries: [String]) {
        for text in entries {
            if let entry = Entry(text) { self.entries.append(entry) } else { misunderstood.append(redactedURL(text)) }
        }
    }

    /// Reads the value of `no_proxy`, whose entries are separated by commas, white space, or both.
    init(list: String) {
        self.init(list.split { $0 == "," || $0.isWhitespace }.map(String.init))
    }

    /// Whether a URL's host is reached without the proxy.
    func contains(_ url: URL) -> Bool {
        guard !entries.isEmpty else { return false }
        let origin = Origin(of: url)
        let host = HostName.canonical(origin.host)
        let address = IPAddress.bytes(of: host)
        return entries.contains { entry in
            (entry.port ?? origin.port) == origin.port && (entry.isSecure ?? !origin.isInsecure) == !origin.isInsecure
                && entry.hosts.contains(host, address)
        }
    }
}

extension ProxyExclusions {
    /// What an entry excludes: hosts, and perhaps only one of their ports, or only URLs with or without TLS.
    fileprivate struct Entry {
        let hosts: Hosts
        var port: Int?
        var isSecure: Bool?
    }

    fileprivate enum Hosts {
        case all
        /// The subdomains of a domain, and perhaps the domain itself.
        case domain(String, isIncluded: Bool)
        /// The addresses that begin with the bits of an address.
        case network([UInt8], bits: Int)
    }
}

extension ProxyExclusions.Entry {
    /// Parses an entry; `nil` if it is not understood.
    init?(_ text: String) {
        var text = text[...]
        if let scheme = text.firstRange(of: "://") {
            switch text[..<scheme.lowerBound].lowercased() {
            case "http", "ws": isSecure = false
            case "https", "wss": isSecure = true
            default: return nil
            }
            text = text[scheme.upperBound...]
            if text.hasSuffix("/") { text = text.dropLast() }
        }
        if let (host, digits) = Self.hostAndPort(text) {
            guard let port = Int(digits: digits), (1...65535).contains(port) else { return nil }
            self.port = port
            text = host
        }
        guard let hosts = ProxyExclusions.Hosts(text) else { return nil }
        self.hosts = hosts
    }

    /// Splits `host:port` and `[address]:port`; `nil` if there is no port.
    private static func hostAndPort(_ text: Substring) -> (host: Substring, port: Substring)? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let (host, port) = (text[..<colon], text[text.index(after: colon)...])
        // The colons of an address without brackets precede no port.
        return host.contains(":") && !host.hasSuffix("]") || port.hasSuffix("]") ? nil : (host, port)
    }
}

extension ProxyExclusions.Hosts {
    init?(_ text: Substring) {
        // The zone of an address is a link of this machine, which another address of the network may not have.
        guard !text.contains("%") else { return nil }
        if text == "*" {
            self = .all
        } else if let slash = text.firstIndex(of: "/") {
            guard let bytes = Self.address(text[..<slash]),
                let bits = Int(digits: text[text.index(after: slash)...]), bits <= bytes.count * 8
            else { return nil }
            self.init(bytes, bits: bits)
        } else if text.hasSuffix(".*") {
            // `10.*` and `192.168.*.*` are networks, too.
            var numbers = text
            while numbers.hasSuffix(".*") { numbers = numbers.dropLast(2) }
            let count = numbers.split(separator: ".").count
            guard count < 4, let bytes = Self.address(numbers), bytes.count == 4 else { return nil }
            self = .network(bytes, bits: count * 8)
        } else {
            let isWildcard = text.hasPrefix("*.")
            let name = isWildcard ? text.dropFirst(2) : text.hasPrefix(".") ? text.dropFirst() : text
            guard let host = HostName.pattern(String(name)), !host.hasPrefix("*"), !host.hasPrefix("."),
                !host.contains(".."), !host.contains(",")
            else { return nil }
            if let bytes = IPAddress.bytes(of: host) {
                guard name == text else { return nil }
                self.init(bytes, bits: bytes.count * 8)
            } else {
                self = .domain(host, isIncluded: !isWildcard)
            }
        }
    }

    /// A network of IPv4-mapped IPv6 addresses is the IPv4 network (RFC 4291 §2.5.5.2).
    private init(_ bytes: [UInt8], bits: Int) {
        let mapped = IPAddress(bytes: bytes).bytes
        self =
            mapped.count < bytes.count && bits >= 96 ? .network(mapped, bits: bits - 96) : .network(bytes, bits: bits)
    }

    /// Parses the address of a network, whose last zeros an IPv4 address may omit: `169.254/16`.
    private static func address(_ text: Substring) -> [UInt8]? {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        if let bytes = IPAddress.bytes(of: String(isBracketed ? text.dropFirst().dropLast() : text)) { return bytes }
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map(Self.part)
        guard numbers.count < 4, !numbers.contains(nil) else { return nil }
        return numbers.compactMap(\.self) + [UInt8](repeating: 0, count: 4 - numbers.count)
    }

    /// Parses a decimal part of an address; with a leading zero, it could be octal.
    private static func part(_ text: Substring) -> UInt8? {
        text == "0" || !text.hasPrefix("0") ? UInt8(digits: text) : nil
    }

    /// Whether a host in its canonical form is one of these, whose address is known if the host is an address.
    func contains(_ host: String, _ address: [UInt8]?) -> Bool {
        switch self {
        case .all:
            return true
        case .domain(let name, let isIncluded):
            return address == nil && (isIncluded && host == name || host.hasSuffix(".\(name)"))
        case .network(let network, let bits):
            guard let address else { return false }
            // An IPv4-mapped IPv6 address is in the networks of both.
            return [address, IPAddress(bytes: address).bytes].contains { Self.agree($0, network, bits: bits) }
        }
    }

    /// Whether two addresses of one family begin with the same bits.
    private static func agree(_ one: [UInt8], _ other: [UInt8], bits: Int) -> Bool {
        guard one.count == other.count else { return false }
        let (whole, rest) = bits.quotientAndRemainder(dividingBy: 8)
        guard one.prefix(whole) == other.prefix(whole) else { return false }
        return rest == 0 || (one[whole] ^ other[whole]) >> (8 - rest) == 0
    }
}
