import CCurl
import FoundationEssentials

/// Maps a request and the session's configuration to libcurl's options.
///
/// An instance belongs to the engine. It prepares the common part of all requests of a session once.
// Safety: libcurl copies its arguments within the call.
final class TransferOptions {
    let configuration: Session.Configuration
    let environment = ProxyEnvironment()
    private let sharedFields: FieldList
    private let defaultFields: [HTTPHeader]
    private let defaultCookies: String?
    private let hasDefaultExpectation: Bool
    /// The limits of a request without its own limits: with both bodies in memory, and with other bodies.
    private let limits: (inMemory: TransferLimits, streamed: TransferLimits)
    /// Whether requests without their own proxy may use a proxy.
    let usesProxy: Bool
    /// The hosts that are reached without the session's proxy, if this is not the environment's.
    let exclusions: ProxyExclusions
    /// The hosts with fixed addresses and the hosts with replacements, in libcurl's format.
    private let overrides: FieldList?
    private let redirections: FieldList?
    /// The host of the server for DNS over HTTPS, in lower case.
    private let lookupHost: String?

    /// Whether names are looked up over HTTPS.
    var looksUpOverHTTPS: Bool { lookupHost != nil }

    /// The authorities that may have issued the servers' certificates.
    let authorities: AuthorityStore
    private let identities: ClientIdentityTable
    private let sessions = SharedTLSSessions()
    /// The mistake in the configuration for which every request fails; `nil` if there is none.
    private let issue: ConfigurationIssue?

    /// Prepares the options.
    ///
    /// - Parameters:
    ///   - configuration: The settings of an event loop, whose limits may be a share of the session's limits.
    ///   - whole: The settings of the session, which are checked.
    init(configuration: Session.Configuration, of whole: Session.Configuration? = nil) {
        self.configuration = configuration
        defaultFields = configuration.effectiveHeaders.filter { !Self.isReservedForLibcurl($0.name) }
        defaultCookies = Self.cookies(in: configuration.headers)
        hasDefaultExpectation = configuration.headers.contains("Expect")
        sharedFields = FieldList(defaultFields.map(Self.defaultLine))
        let timeouts = configuration.timeouts
        limits = (
            TransferLimits(timeouts: timeouts, isInMemory: true, startedAt: 0),
            TransferLimits(timeouts: timeouts, isInMemory: false, startedAt: 0)
        )
        usesProxy = environment.allowsUse(of: configuration.proxy)
        exclusions = if case .url(_, _, let hosts) = configuration.proxy { ProxyExclusions(hosts) } else { .init([]) }
        overrides = configuration.dns.overrideLines
        lookupHost = configuration.dns.httpsServer?.host()?.lowercased()
        redirections = configuration.dns.connectToLines
        authorities = AuthorityStore(
            Authorities(configuration.tls), proxyIdentity: configuration.tls.proxyClientIdentity)
        identities = ClientIdentityTable(configuration.tls)
        issue = ConfigurationIssue(in: whole ?? configuration)
    }

    /// Sets all options of the transfer on its handle; returns the error if the configuration has a mistake.
    func apply(to easy: EasyHandle, for transfer: Transfer) -> RequestError? {
        if let issue { return issue.error }
        let (request, url) = (transfer.request, transfer.url)
        easy.transfer = transfer
        transfer.ownCookies = ownCookies(of: request)
        noteProxy(of: transfer)
        defer { if !easy.hasPlainURL { Libcurl.useUTF8() } }
        let isSecure = url.isSecure
        let identity = identities.choice(for: url)
        // A handle has no profile if libcurl would change the target of its URL.
        // Otherwise the lookup might wait for the connection of the request, and the request for the lookup.
        let isLookupServer = lookupHost != nil && lookupHost == url.host()?.lowercased()
        let isSameURL = easy.hasProfile(for: url)
        let changesTarget = !isSameURL && RequestTargets.changes(url.curlString)
        if request.hasBody, transfer.expectation == .none { transfer.expectation = expectation(of: transfer) }
        let profile =
            transfer.proxyChallenges.onlyScheme == nil && !transfer.resends.needsOwnConnection && !changesTarget
                && !transfer.resends.wasResent && transfer.expectation != .omitted
                && (isSecure || transfer.httpVersion != .http3Only) && !isLookupServer
            ? TransferProfile(of: transfer, isSecure: isSecure) : nil
        if let profile, easy.profile == profile, easy.trust === transfer.trust.policy, easy.identity === identity,
            easy.authorities == authorities.generation
        {
            easy.reuse(for: url, isSameURL: isSameURL)
            return nil
        }
        easy.reset()
        applyConstants(to: easy)
        easy.setURL(url)
        applyMethod(of: request, transfer.upload.body, to: easy)
        applyFields(
            of: request, answers: answers(of: transfer), omitsExpectation: transfer.expectation == .omitted, to: easy)
        applyVersion(of: transfer, isSecure: isSecure, to: easy)
        if limitsConnections || mayBeListed(transfer) || !request.method.isIdempotent
            || !transfer.upload.isReplayable || SlowAddresses.areGuarded
        {
            TransferCallbacks.installConnectionBegin(on: easy)
        }
        applyConnectLimit(timeouts(of: request), to: easy)
        applyPriority(of: request, to: easy)
        if let server = configuration.dns.httpsServer, !isLookupServer {
            easy.set(CURLOPT_DOH_URL, server.absoluteString)
            UnusedAuthorities.replace(on: easy)
        }
        if let error = applyProxy(of: transfer, to: easy) ?? http3Issue(of: transfer) { return error }
        if let error = applyCredential(of: transfer, to: easy) { return error }
        if changesTarget { applyTarget(of: transfer, to: easy) }
        apply(identity, to: easy)
        applyTrust(of: transfer, to: easy)
        TransferCallbacks.install(on: easy)
        transfer.trace.isOn = false
        guard easy.firstFailure != CURLE_OK else {
            easy.profile = profile
            return nil
        }
        return RequestError(.invalidRequest(.configuration(easy.failureDescription)))
    }

    /// Returns the limits for a request; the session's limits are used where the request has none.
    func limits(for request: HTTPRequest, isInMemory: Bool, now: Int64) -> TransferLimits {
        guard request.ownTimeouts == nil else {
            return TransferLimits(timeouts: timeouts(of: request), isInMemory: isInMemory, startedAt: now)
        }
        return isInMemory ? limits.inMemory.starting(at: now) : limits.streamed.starting(at: now)
    }

    private func timeouts(of request: HTTPRequest) -> Timeouts {
        request.ownTimeouts?.filled(from: configuration.timeouts) ?? configuration.timeouts
    }

    /// Whether a request may have to wait until other requests release a connection.
    var limitsConnections: Bool {
        configuration.connectionLimits.perHost != nil || configuration.connectionLimits.total != nil
    }

    private func applyConstants(to easy: EasyHandle) {
        easy.set(CURLOPT_NOSIGNAL, 1)
        BlockingLookups.avoid(on: easy)
        easy.allow(files: false)
        easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        easy.set(CURLOPT_PATH_AS_IS, 1)
        easy.set(CURLOPT_BUFFERSIZE, max(configuration.receiveBufferBytes, UnreadStreams.minimumBufferSize))
        applyConnections(to: easy)
        applyTLS(to: easy)
        if let sessions { easy.use(sessions) }
    }

    private func applyMethod(of request: HTTPRequest, _ upload: UploadBody, to easy: EasyHandle) {
        let method = request.method
        switch method {
        case .get where !request.hasBody:
            break  // what a handle does after a reset
        case .head:
            easy.set(CURLOPT_NOBODY, 1)
        default:
            // RFC 9110 §8.6: a request sends `Content-Length: 0` if its method anticipates content and it has none.
            if request.hasBody || method == .post || method == .put || method == .patch {
                applyBody(upload, to: easy)
            }
            if method != .post || !request.hasBody { easy.set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
        }
    }

    private func applyBody(_ upload: UploadBody, to easy: EasyHandle) {
        easy.set(CURLOPT_POST, 1)
        // Without a length, the body is sent in chunks, or in frames with HTTP/2.
        easy.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: upload.length ?? -1)
        if upload.isAskedFor {
            easy.set(CURLOPT_UPLOAD_BUFFERSIZE, UploadPartSize.bufferSize(forLength: upload.length))
            if let limit = configuration.continueTimeout { easy.set(CURLOPT_EXPECT_100_TIMEOUT_MS, limit.milliseconds) }
        }
        switch upload {
        case .copied(let data) where !data.isEmpty:
            // The size must be set first, because it is the number of bytes that libcurl copies.
            unsafe data.withUnsafeBytes { bytes in
                unsafe easy.set(
                    CURLOPT_COPYPOSTFIELDS, pointer: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            }
        case .copied: easy.set(CURLOPT_POSTFIELDS, "")
        case .data, .channel, .unopened, .opening: break
        }
    }

    /// Whose `Expect` field is sent.
    ///
    /// Libcurl sends the field with bodies of more than 1 MiB or of unknown length.
    private func expectation(of transfer: Transfer) -> Transfer.Expectation {
        if hasDefaultExpectation || transfer.request.headers.contains("Expect") { return .own }
        let isLong = transfer.upload.length.map { $0 > 1 << 20 } ?? true
        return isLong && configuration.continueTimeout != nil ? .ofLibcurl : .none
    }

    /// The fields with which Bluebonnet itself answers challenges.
    private func answers(of transfer: Transfer) -> [String] {
        var fields: [String] = []
        if let value = transfer.serverChallenges.nextAnswer(to: transfer.request.method, transfer.url) {
            fields.append("Authorization: \(value)")
        }
        // Through a tunnel, the server would receive the field.
        if case .proxy = recipient(of: transfer),
            let value = transfer.proxyChallenges.nextAnswer(to: transfer.request.method, transfer.url)
        {
            fields.append("Proxy-Authorization: \(value)")
        }
        return fields
    }

    private func applyFields(
        of request: HTTPRequest, answers: [String], omitsExpectation: Bool, to easy: EasyHandle
    ) {
        let hasBody = request.hasBody
        let anticipates = request.method == .post || request.method == .put || request.method == .patch
        let priority = request.priority?.fieldValue
        let isOrdinary =
            request.headers.isEmpty && !hasBody && !anticipates && !request.omitsSessionSecrets
            && answers.isEmpty
        guard !isOrdinary || priority != nil else { return easy.set(CURLOPT_HTTPHEADER, shared: sharedFields) }
        var lines: [String] = []
        lines.reserveCapacity(request.headers.count + defaultFields.count + 1)
        for field in request.headers where !Self.isReservedForLibcurl(field.name) { lines.append(Self.line(field)) }
        if let priority, !request.headers.contains("Priority") { lines.append("Priority: \(priority)") }
        for field in defaultFields where request.takesDefault(field) {
            if priority != nil, field.name.lowercased() == "priority" { continue }
            lines.append(Self.defaultLine(request.defaultField(field)))
        }
        if hasBody || anticipates, !request.headers.contains("Content-Type") {
            // With a colon alone, libcurl does not add its own type.
            lines.append("Content-Type:")
        }
        if omitsExpectation {
            lines.removeAll { $0.prefix(7).lowercased() == "expect:" }
            lines.append("Expect:")
        } else if hasBody, configuration.continueTimeout == nil, !request.headers.contains("Expect") {
            lines.append("Expect:")
        }
        easy.set(CURLOPT_HTTPHEADER, own: lines + answers)
    }

    /// Makes libcurl open a connection for a transfer and send nothing on it.
    func applyUpgrade(to easy: EasyHandle) {
        easy.set(CURLOPT_CONNECT_ONLY, 1)
        easy.set(CURLOPT_HTTPPROXYTUNNEL, 1)
        // Libcurl would close the connection at once.
        easy.set(CURLOPT_FORBID_REUSE, 0)
    }

    /// Returns the header fields of a request that Bluebonnet itself sends, without cookies.
    func fields(of request: HTTPRequest) -> [HTTPHeader] {
        let own = request.headers.filter { !Self.isReservedForLibcurl($0.name) }
        return own + defaultFields.filter { request.takesDefault($0) && !$0.value.trimmed.isEmpty }
    }

    /// Returns the HTTP version for a request that is sent with a URL.
    ///
    /// With TLS, the handshake negotiates HTTP/2, even with prior knowledge (RFC 9113 §3.2). Otherwise, libcurl would
    /// send HTTP/2 frames even if the handshake negotiated nothing, and even on a connection that another request uses.
    func version(of request: HTTPRequest, sentTo url: URL) -> HTTPVersionPreference {
        let version = request.httpVersion ?? configuration.httpVersion
        switch version {
        case .http2PriorKnowledge: return url.isSecure ? .automatic : version
        case .http3:
            // Through a proxy, libcurl 8.21.0 and later would ask the proxy for a tunnel for QUIC.
            guard isDirect(request, to: url) else { return .automatic }
            return url.isSecure ? version : .automatic
        case .automatic, .http1_1, .http3Only: return version
        }
    }

    /// Whether a request needs neither a proxy nor a Unix domain socket, as HTTP/3 requires.
    private func isDirect(_ request: HTTPRequest, to url: URL) -> Bool {
        configuration.unixSocketPath == nil && !usesProxy(for: request, to: url)
    }

    /// Returns an error if HTTP/3 is required but cannot be used.
    private func http3Issue(of transfer: Transfer) -> RequestError? {
        let issue: String
        switch transfer.httpVersion {
        case .http3 where !Libcurl.hasHTTP3, .http3Only where !Libcurl.hasHTTP3:
            issue = "the installed libcurl, \(Libcurl.versionText), lacks HTTP/3, which requires 8.13.0 or later"
        case .http3Only where !transfer.url.isSecure: issue = "HTTP/3 requires an https URL"
        case .http3Only where configuration.unixSocketPath != nil:
            issue = "HTTP/3 is impossible with a Unix domain socket"
        case .http3Only where transfer.isProxied: issue = "HTTP/3 is impossible through a proxy"
        default: return nil
        }
        return RequestError(.invalidRequest(.configuration("httpVersion: \(issue)")))
    }

    private func applyVersion(of transfer: Transfer, isSecure: Bool, to easy: EasyHandle) {
        let version = transfer.httpVersion
        switch version {
        case .automatic:
            // The default of libcurl also permits HTTP/3 for alternative services.
            let isOpen = usesHTTP3Services && isDirect(transfer.request, to: transfer.url)
            easy.set(CURLOPT_HTTP_VERSION, isOpen ? CURL_HTTP_VERSION_NONE : CURL_HTTP_VERSION_2TLS)
            // Wait for a connection that is being opened if the request may be able to share it.
            if isSecure { easy.set(CURLOPT_PIPEWAIT, 1) }
        case .http1_1:
            easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge:
            easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
            CleartextHTTP2Streams.apply(to: easy)
        case .http3, .http3Only:
            easy.set(CURLOPT_HTTP_VERSION, version == .http3 ? CURL_HTTP_VERSION_3 : bb_curl_http_version_3only)
            easy.set(CURLOPT_PIPEWAIT, 1)
        }
    }

    /// Sets the connect limit; the engine checks the other limits.
    private func applyConnectLimit(_ timeouts: Timeouts, to easy: EasyHandle) {
        let connect = PendingConnectTime.isLeftToLibcurl(mayWait: limitsConnections) ? timeouts.connect : nil
        // 0 would select libcurl's default of 300 seconds.
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, connect?.milliseconds ?? Int(Int32.max))
    }

    /// Whether only libcurl may write a field.
    ///
    /// These are the framing fields, which must not have two values, cookies, and fields for a proxy.
    private static func isReservedForLibcurl(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == "content-length" || name == "transfer-encoding" || name == "cookie"
            || name == "proxy-authorization"
    }

    /// The cookies in the request's fields, or those in the session's fields.
    private func ownCookies(of request: HTTPRequest) -> String? {
        if request.headers.contains("Cookie") { return Self.cookies(in: request.headers) }
        return request.omitsSessionSecrets ? nil : defaultCookies
    }

    /// The cookies in header fields, combined into one value.
    private static func cookies(in headers: HTTPHeaders) -> String? {
        let values = headers.values(for: "Cookie").map { String($0.trimmed) }.filter { !$0.isEmpty }
        return values.isEmpty ? nil : values.joined(separator: "; ")
    }

    /// Returns a field in libcurl's format, in which an empty value has a semicolon instead of the colon.
    ///
    /// White space around the value is not part of it (RFC 9110 §5.5), and would make an HTTP/2 request malformed.
    private static func line(_ field: HTTPHeader) -> String {
        let value = field.value.trimmed
        return value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"
    }

    /// Returns a default field of the session in libcurl's format.
    ///
    /// An empty value removes the field that libcurl would add.
    private static func defaultLine(_ field: HTTPHeader) -> String {
        field.value.trimmed.isEmpty ? "\(field.name):" : line(field)
    }
}

/// The settings of a handle other than the URL, for a request without its own header fields and body.
///
/// A handle that is already set up with the same profile is reused without a reset. A reset takes a tenth of the time
/// of a small request.
struct TransferProfile: Equatable {
    private let isHead: Bool
    private let isSecure: Bool
    private let isProxied: Bool
    private let version: HTTPVersionPreference
    /// The request's own limits; the session's are the same for all of its handles.
    private let timeouts: TimeoutsBox?

    init?(of transfer: Transfer, isSecure: Bool) {
        guard transfer.request.isPlain else { return nil }
        switch transfer.request.method {
        case .get: isHead = false
        case .head: isHead = true
        default: return nil
        }
        self.isSecure = isSecure
        isProxied = transfer.isProxied
        version = transfer.httpVersion
        timeouts = transfer.request.timeoutsBox
    }
}

extension Duration {
    /// The duration in milliseconds; at least 1, because 0 means no limit in libcurl.
    var milliseconds: Int {
        Int(min(Int64(Int32.max), max(1, nanoseconds / 1_000_000)))
    }
}

/// Sets the options for connections.
extension TransferOptions {
    /// Sets the configuration's options for connections.
    private func applyConnections(to easy: EasyHandle) {
        let limits = configuration.connectionLimits
        easy.set(CURLOPT_MAXAGE_CONN, Int(limits.idleLifetime.components.seconds))
        if let lifetime = limits.lifetime { easy.set(CURLOPT_MAXLIFETIME_CONN, Int(lifetime.components.seconds)) }
        if let path = configuration.unixSocketPath { easy.set(CURLOPT_UNIX_SOCKET_PATH, path) }
        if let interface = configuration.interface {
            // Without a prefix, libcurl would also look up a host with this name, and wait for the response.
            easy.set(CURLOPT_INTERFACE, (IPAddress.bytes(of: interface) != nil ? "host!" : "if!") + interface)
        }
        switch configuration.addressFamily {
        case .any: break
        case .ipv4: easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .ipv6: easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
        if let timeout = configuration.happyEyeballsTimeout {
            easy.set(CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, timeout.milliseconds)
        }
        if let keepAlive = configuration.keepAlive {
            easy.set(CURLOPT_TCP_KEEPALIVE, 1)
            easy.set(CURLOPT_TCP_KEEPIDLE, Int(keepAlive.idle.components.seconds))
            easy.set(CURLOPT_TCP_KEEPINTVL, Int(keepAlive.interval.components.seconds))
        }
        if let overrides { easy.set(CURLOPT_RESOLVE, shared: overrides) }
        if let redirections { easy.set(CURLOPT_CONNECT_TO, shared: redirections) }
        applyAltSvc(to: easy)
        let servers = configuration.dns.servers
        if !servers.isEmpty { easy.set(CURLOPT_DNS_SERVERS, servers.joined(separator: ",")) }
    }

    /// Whether HTTP/3 is used for alternative services.
    ///
    /// Before 8.18.0, libcurl does not fall back to TCP if the service cannot be reached over QUIC.
    private var usesHTTP3Services: Bool {
        configuration.altSvc != .off && Libcurl.hasHTTP3 && Libcurl.version >= 0x08_12_00
    }

    private func applyAltSvc(to easy: EasyHandle) {
        guard configuration.altSvc != .off, !easy.usesAltSvc else { return }
        easy.usesAltSvc = true
        let versions = CURLALTSVC_H1 | CURLALTSVC_H2 | (usesHTTP3Services ? CURLALTSVC_H3 : 0)
        easy.set(CURLOPT_ALTSVC_CTRL, Int(versions | CURLALTSVC_READONLYFILE))
        if case .file(let path) = configuration.altSvc { easy.set(CURLOPT_ALTSVC, path) }
    }

    /// Sets the request's priority on its connection; the `Priority` field is among the other fields.
    private func applyPriority(of request: HTTPRequest, to easy: EasyHandle) {
        if let priority = request.priority { easy.set(CURLOPT_STREAM_WEIGHT, priority.weight) }
    }
}

extension Session.Configuration.DNS {
    /// The overrides in libcurl's format; `nil` if there are none.
    fileprivate var overrideLines: FieldList? {
        guard !overrides.isEmpty else { return nil }
        return FieldList(overrides.map { "\($0):\($1.joined(separator: ","))" }.sorted())
    }

    /// The replacements of hosts in libcurl's format, with the more specific entries first; `nil` if there are none.
    var connectToLines: FieldList? {
        connectTo.isEmpty ? nil : FieldList(replacements.map { "\($0.key):\($0.value)" })
    }

    private var replacements: [(key: String, value: String)] {
        connectTo.sorted {
            let (first, second) = (Self.openness(of: $0.key), Self.openness(of: $1.key))
            return first == second ? $0.key < $1.key : first < second
        }
    }

    /// Returns the host to connect to instead of the given host and port; `nil` for the host itself.
    func replacement(for host: String, _ port: Int) -> String? {
        guard !connectTo.isEmpty else { return nil }
        let keys = ["\(host):\(port)", "\(host):", ":\(port)", ":"]
        guard let entry = replacements.first(where: { keys.contains($0.key.lowercased()) }),
            let end = entry.value.lastIndex(of: ":"), end > entry.value.startIndex
        else { return nil }
        return entry.value[..<end].lowercased()
    }

    /// Returns a number for the parts that an entry leaves open: no part, the port, the host, or both.
    private static func openness(of key: String) -> Int { (key.hasSuffix(":") ? 1 : 0) + (key.hasPrefix(":") ? 2 : 0) }
}

/// Applies the policy for the servers of a transfer's connection.
extension TransferOptions {
    /// If there is a policy, makes it evaluate servers instead of libcurl.
    private func applyTrust(of transfer: Transfer, to easy: EasyHandle) {
        easy.trust = transfer.trust.policy
        if transfer.resends.needsOwnConnection { easy.set(CURLOPT_FRESH_CONNECT, 1) }
        guard let policy = transfer.trust.policy else { return }
        // A resumed TLS session transmits no certificate, so no evaluator would run.
        easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        // Libcurl compares the host name after the handshake, regardless of the evaluator's decision.
        if policy.evaluatesHost { easy.set(CURLOPT_SSL_VERIFYHOST, 0) }
        if policy.evaluatesProxy { easy.set(CURLOPT_PROXY_SSL_VERIFYHOST, 0) }
    }
}
