import CCurl
import FoundationEssentials

/// Owns a libcurl easy handle, and the memory that libcurl uses while a transfer runs.
///
/// An instance belongs to the engine and never leaves the loop's thread.
// Safety: the handle, the message and the lists live as long as their owner, which only the loop's thread accesses.
@safe
final class EasyHandle {
    private(set) var pointer: UnsafeMutableRawPointer
    private let message: UnsafeMutablePointer<CChar>
    /// The lists that only the current transfer uses.
    private var ownLists: [FieldList] = []
    /// The URL with which the handle is set up, as written in its request.
    private var url: String?
    /// Whether the URL that libcurl received is ASCII.
    private(set) var hasPlainURL = true
    /// The parsed URL, once another request uses the same URL.
    private var urlParts: URLParts?

    /// The transfer that uses the handle; libcurl's callbacks find the transfer through this property.
    var transfer: Transfer?
    /// The settings of the handle, if another request could use it with just a new URL.
    var profile: TransferProfile?
    /// The value of the `Cookie` field with which the handle is set up.
    private var cookies: [UInt8] = []
    /// Whether the handle uses alternative services; libcurl keeps them when the handle is reset.
    var usesAltSvc = false
    /// The policy for the servers of the connections that the handle has opened.
    var trust: TrustPolicy?
    /// The client certificate for servers that request one.
    var identity: SelectedIdentity?
    /// The generation of authorities with which the handle is set up.
    var authorities = 0
    /// The store of TLS sessions that the handle uses, instead of its own.
    private var sessions: SharedTLSSessions?
    /// The multi handle whose socket callbacks are set.
    var socketOwner: ObjectIdentifier?
    private var decodesTransferCodings = true
    /// The first option that failed since the last reset, and its error.
    private(set) var firstFailure: CURLcode = CURLE_OK
    private var firstRefused: CURLoption?

    init?() {
        guard let pointer = unsafe curl_easy_init() else { return nil }
        unsafe self.pointer = unsafe pointer
        unsafe message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(pointer)
        unsafe message.deallocate()
    }

    /// Resets all options, so that the next request inherits nothing; connections and caches are kept.
    func reset() {
        // Libcurl (`multi_done` in 7.88) keeps a transfer's receive buffer if other transfers still use its connection,
        // as with HTTP/2. The handle then refuses another buffer size, even after a reset. Such a handle is replaced,
        // which also frees the upload buffer that libcurl keeps for the same reason.
        let hasBuffer = unsafe bb_curl_set_long(pointer, CURLOPT_BUFFERSIZE, 16_384) != CURLE_OK
        if !hasBuffer || !replace() { unsafe curl_easy_reset(pointer) }
        ownLists.removeAll()
        url = nil
        urlParts = nil
        profile = nil
        cookies = []
        trust = nil
        identity = nil
        socketOwner = nil
        decodesTransferCodings = true
        unsafe message[0] = 0
        firstFailure = CURLE_OK
        firstRefused = nil
        unsafe set(CURLOPT_ERRORBUFFER, pointer: message)
    }

    /// Replaces libcurl's handle with a new one; returns `false` if there is no memory for it.
    private func replace() -> Bool {
        guard let fresh = unsafe curl_easy_init() else { return false }
        unsafe curl_easy_cleanup(pointer)
        unsafe pointer = unsafe fresh
        usesAltSvc = false
        unsafe set(CURLOPT_ERRORBUFFER, pointer: message)
        return true
    }

    /// Makes the handle use a store of TLS sessions.
    func use(_ store: SharedTLSSessions) {
        sessions = store
        unsafe set(CURLOPT_SHARE, pointer: store.pointer)
    }

    /// Prepares the handle for a request that differs from the last request at most in its URL.
    ///
    /// The caller has already compared the URLs; a second comparison takes 250 instructions.
    func reuse(for url: URL, isSameURL: Bool) {
        unsafe message[0] = 0
        if !isSameURL || urlParts == nil { setURL(url) }
    }

    /// Whether the handle has a profile and was last set up for this URL.
    func hasProfile(for url: URL) -> Bool { profile != nil && self.url == url.absoluteString }

    /// Sets the URL.
    ///
    /// Libcurl parses a URL for each transfer. A URL that is used again is therefore set in parsed form.
    func setURL(_ url: URL) {
        let text = url.absoluteString
        guard self.url != text else {
            if urlParts == nil, !Self.losesZone(of: text) { useURLParts(of: url) }
            return
        }
        if unsafe urlParts?.pointer != nil { unsafe set(CURLOPT_CURLU, pointer: nil) }
        urlParts = nil
        self.url = text
        let curlText = url.curlString
        hasPlainURL = curlText.utf8.allSatisfy { $0 < 0x80 }
        set(CURLOPT_URL, curlText)
    }

    /// Before 8.3.0, libcurl loses the zone of an IPv6 address (RFC 6874) when it copies a parsed URL.
    private static func losesZone(of url: String) -> Bool {
        guard Libcurl.version < 0x08_03_00, let end = url.firstIndex(of: "]") else { return false }
        return url[..<end].contains("%")
    }

    private func useURLParts(of url: URL) {
        let parts = URLParts(url.curlString)
        urlParts = parts
        // Libcurl rejects a URL that cannot be parsed, as without this code.
        if let pointer = unsafe parts.pointer { unsafe set(CURLOPT_CURLU, pointer: UnsafeMutableRawPointer(pointer)) }
    }

    /// Libcurl's error text; empty if there is none.
    var errorMessage: String { unsafe String(cString: message) }

    func set(_ option: CURLoption, _ value: Int) {
        note(unsafe bb_curl_set_long(pointer, option, value), option)
    }

    func set(_ option: CURLoption, offset value: Int64) {
        note(unsafe bb_curl_set_offset(pointer, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, _ value: String) {
        note(unsafe bb_curl_set_string(pointer, option, value), option)
    }

    /// Allows only URLs with the scheme `file`, or only `http` and `https`.
    func allow(files: Bool) {
        note(unsafe bb_curl_allow(pointer, files), bb_curlopt_protocols)
    }

    /// Sets the value of the `Cookie` field; an empty value sends no field.
    func setCookies(_ value: [UInt8]) {
        guard cookies != value else { return }
        cookies = value
        unsafe (value + [0]).withUnsafeBytes { bytes in
            unsafe set(
                CURLOPT_COOKIE, pointer: value.isEmpty ? nil : UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }
    }

    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        note(unsafe bb_curl_set_pointer(pointer, option, value), option)
    }

    func set(_ option: CURLoption, bytes: Data) {
        let code = unsafe bytes.withUnsafeBytes { bytes in
            unsafe bb_curl_set_blob(pointer, option, bytes.baseAddress, bytes.count)
        }
        note(code, option)
    }

    /// Sets a list, such as header field lines, that another object owns.
    func set(_ option: CURLoption, shared lines: FieldList) {
        unsafe set(option, pointer: lines.pointer)
    }

    /// Sets a list, such as header field lines, that only the current transfer uses.
    func set(_ option: CURLoption, own lines: [String]) {
        let list = FieldList(lines)
        if list.isIncomplete { note(CURLE_OUT_OF_MEMORY, option) }
        set(option, shared: list)
        ownLists.append(list)
    }

    /// Sets whether libcurl decodes transfer codings, which is the default after a reset.
    func decodeTransferCodings(_ isWanted: Bool) {
        guard isWanted != decodesTransferCodings else { return }
        decodesTransferCodings = isWanted
        set(CURLOPT_HTTP_TRANSFER_DECODING, isWanted ? 1 : 0)
    }

    /// The verifier of the connection that the transfer uses; `nil` if it has none.
    var verifier: HandshakeVerifier? { unsafe HandshakeVerifier.of(bb_curl_get_ssl(pointer).map { OpaquePointer($0) }) }

    func long(_ info: CURLINFO) -> Int { unsafe bb_curl_get_long(pointer, info) }

    func offset(_ info: CURLINFO) -> Int64 { unsafe Int64(bb_curl_get_offset(pointer, info)) }

    /// The endpoints of the last connection of the handle.
    var connectionEnds: ConnectionEndpoints? {
        unsafe ConnectionEndpoints(
            localPort: long(CURLINFO_LOCAL_PORT), remotePort: long(CURLINFO_PRIMARY_PORT),
            remoteAddress: bb_curl_get_string(pointer, CURLINFO_PRIMARY_IP))
    }

    /// The socket of the connection that the handle has opened with `CURLOPT_CONNECT_ONLY`; negative if there is none.
    var activeSocket: Int32 { unsafe bb_curl_get_active_socket(pointer) }

    /// Sends bytes on this connection; returns libcurl's result, and the number of bytes that it has taken.
    func send(_ bytes: UnsafeRawBufferPointer) -> (CURLcode, Int) {
        var count = 0
        let code = unsafe curl_easy_send(pointer, bytes.baseAddress, bytes.count, &count)
        return (code, count)
    }

    /// Receives bytes on this connection; no bytes and no error mean that the peer has closed the connection.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> (CURLcode, Int) {
        var count = 0
        let code = unsafe curl_easy_recv(pointer, buffer.baseAddress, buffer.count, &count)
        return (code, count)
    }

    func string(_ info: CURLINFO) -> String? {
        guard let text = unsafe bb_curl_get_string(pointer, info) else { return nil }
        return unsafe String(cString: text)
    }

    /// Records the first option that libcurl refuses.
    func note(_ code: CURLcode, _ option: CURLoption) {
        guard code != CURLE_OK, firstFailure == CURLE_OK else { return }
        firstFailure = code
        firstRefused = option
    }

    /// Describes the option that libcurl refused, and the reason.
    var failureDescription: String {
        let text = unsafe String(cString: curl_easy_strerror(firstFailure))
        guard let option = firstRefused, let known = unsafe curl_easy_option_by_id(option),
            let name = unsafe known.pointee.name
        else { return text }
        return unsafe "libcurl rejected the option \(String(cString: name)): \(text)"
    }
}

/// Owns an immutable list in libcurl's format, such as header field lines, which many transfers may use.
// Safety: each user of the list also retains its owner.
@safe
final class FieldList {
    private(set) var pointer: UnsafeMutablePointer<curl_slist>?
    /// Whether some lines are missing for lack of memory.
    private(set) var isIncomplete = false

    init(_ lines: [String]) {
        for line in lines {
            guard let longer = unsafe curl_slist_append(pointer, line) else {
                isIncomplete = true
                continue
            }
            unsafe pointer = longer
        }
    }

    deinit {
        unsafe curl_slist_free_all(pointer)
    }
}
