import CCurl
import FoundationEssentials

/// Owns one of libcurl's easy handles, and the memory that libcurl has pointers to while a transfer runs.
///
/// Belongs to the engine; never leaves the loop's thread.
// Safety: the handle, the message and the lists live as long as their owner, which the loop's thread alone knows.
@safe
final class EasyHandle {
    private(set) var pointer: UnsafeMutableRawPointer
    private let message: UnsafeMutablePointer<CChar>
    /// The lines that are this transfer's own.
    private var ownLists: [FieldList] = []
    /// The URL as its request has it, while the handle is set up for it.
    private var url: String?
    /// Whether libcurl's form of the URL is ASCII.
    private(set) var hasPlainURL = true
    /// The URL in parts, once it is used for another request.
    private var urlParts: URLParts?

    /// The transfer that the handle carries out, which libcurl's callbacks find by way of this.
    var transfer: Transfer?
    /// The settings of the handle, if another request may be made with no more than a new URL.
    var profile: TransferProfile?
    /// The share that the handle has in common with others; libcurl keeps it when the handle is reset.
    var share: CurlShare?
    /// Whether the handle uses the cookies of the share.
    var usesCookies = false
    /// Whether the handle uses alternative services; libcurl keeps them when it is reset.
    var usesAltSvc = false
    /// Whether the handle stays with its share to the end, when libcurl has it write the file of hosts that want TLS.
    var keepsShare = false
    /// Whether the handle has ever used cookies, which libcurl does not forget.
    var hasUsedCookies = false
    /// The policy for the servers of the connections that the handle has made.
    var trust: TrustPolicy?
    /// The client certificate for servers that request one.
    var identity: SelectedIdentity?
    /// The generation of authorities that the handle is set up for.
    var authorities = 0
    /// The multi handle whose socket callbacks are set.
    var socketOwner: ObjectIdentifier?
    private var decodesTransferCodings = true
    /// Why libcurl refused an option since the last reset, and which.
    private(set) var firstFailure: CURLcode = CURLE_OK
    private var firstRefused: CURLoption?

    init?() {
        guard let pointer = unsafe curl_easy_init() else { return nil }
        unsafe self.pointer = unsafe pointer
        unsafe message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        if !keepsShare { leaveShare() }
        unsafe curl_easy_cleanup(pointer)
        unsafe message.deallocate()
    }

    /// Forgets all options, so that nothing of one request reaches the next; connections and caches stay.
    func reset() {
        // Libcurl keeps a transfer's receive buffer if others continue to use the connection (`multi_done` in 7.88), as
        // with HTTP/2, and then refuses another size, also after a reset: such a handle is replaced.
        let hasBuffer = unsafe bb_curl_set_long(pointer, CURLOPT_BUFFERSIZE, 16_384) != CURLE_OK
        if !hasBuffer || !replace() { unsafe curl_easy_reset(pointer) }
        ownLists.removeAll()
        url = nil
        urlParts = nil
        profile = nil
        trust = nil
        identity = nil
        socketOwner = nil
        decodesTransferCodings = true
        unsafe message[0] = 0
        firstFailure = CURLE_OK
        firstRefused = nil
        unsafe set(CURLOPT_ERRORBUFFER, pointer: message)
    }

    /// Begins again with a handle that has no past; returns whether there was memory for one.
    func replace() -> Bool {
        guard let fresh = unsafe curl_easy_init() else { return false }
        leaveShare()
        unsafe curl_easy_cleanup(pointer)
        unsafe pointer = unsafe fresh
        hasUsedCookies = false
        usesAltSvc = false
        unsafe set(CURLOPT_ERRORBUFFER, pointer: message)
        return true
    }

    /// Makes the handle ready for a request that differs from the last one in its URL at most.
    func reuse(for url: URL) {
        unsafe message[0] = 0
        setURL(url)
    }

    /// Uses a URL, which libcurl takes to pieces for each transfer: one that is used again is handed over in pieces.
    func setURL(_ url: URL) {
        let text = url.absoluteString
        guard self.url != text else {
            if urlParts == nil { useURLParts(of: url) }
            return
        }
        if unsafe urlParts?.pointer != nil { unsafe set(CURLOPT_CURLU, pointer: nil) }
        urlParts = nil
        self.url = text
        let curlText = url.curlString
        hasPlainURL = curlText.utf8.allSatisfy { $0 < 0x80 }
        set(CURLOPT_URL, curlText)
    }

    private func useURLParts(of url: URL) {
        let parts = URLParts(url.curlString)
        urlParts = parts
        // A URL that does not parse is left to libcurl to reject, as it would without this.
        if let pointer = unsafe parts.pointer { unsafe set(CURLOPT_CURLU, pointer: UnsafeMutableRawPointer(pointer)) }
    }

    /// Libcurl's error text; empty when it had none.
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

    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        note(unsafe bb_curl_set_pointer(pointer, option, value), option)
    }

    func set(_ option: CURLoption, bytes: Data) {
        let code = unsafe bytes.withUnsafeBytes { bytes in
            unsafe bb_curl_set_blob(pointer, option, bytes.baseAddress, bytes.count)
        }
        note(code, option)
    }

    /// Uses field lines, or lines of another kind, that another object owns.
    func set(_ option: CURLoption, shared lines: FieldList) {
        unsafe set(option, pointer: lines.pointer)
    }

    /// Uses field lines that are this transfer's own, for the server or for a proxy.
    func set(_ option: CURLoption, own lines: [String]) {
        let list = FieldList(lines)
        if list.isIncomplete { note(CURLE_OUT_OF_MEMORY, option) }
        set(option, shared: list)
        ownLists.append(list)
    }

    /// Has libcurl decode transfer codings, as it does after a reset, or leave them alone.
    func decodeTransferCodings(_ isWanted: Bool) {
        guard isWanted != decodesTransferCodings else { return }
        decodesTransferCodings = isWanted
        set(CURLOPT_HTTP_TRANSFER_DECODING, isWanted ? 1 : 0)
    }

    /// The verifier of the connection that the transfer uses, if it has one.
    var verifier: HandshakeVerifier? { unsafe HandshakeVerifier.of(bb_curl_get_ssl(pointer).map { OpaquePointer($0) }) }

    func long(_ info: CURLINFO) -> Int { unsafe bb_curl_get_long(pointer, info) }

    func offset(_ info: CURLINFO) -> Int64 { unsafe Int64(bb_curl_get_offset(pointer, info)) }

    /// The ends of the connection that the handle used last.
    var connectionEnds: ConnectionEndpoints? {
        unsafe ConnectionEndpoints(
            localPort: long(CURLINFO_LOCAL_PORT), remotePort: long(CURLINFO_PRIMARY_PORT),
            remoteAddress: bb_curl_get_string(pointer, CURLINFO_PRIMARY_IP))
    }

    func string(_ info: CURLINFO) -> String? {
        guard let text = unsafe bb_curl_get_string(pointer, info) else { return nil }
        return unsafe String(cString: text)
    }

    /// Remembers the first option that libcurl refuses.
    func note(_ code: CURLcode, _ option: CURLoption) {
        guard code != CURLE_OK, firstFailure == CURLE_OK else { return }
        firstFailure = code
        firstRefused = option
    }

    /// Why libcurl refused an option, and which.
    var failureDescription: String {
        let text = unsafe String(cString: curl_easy_strerror(firstFailure))
        guard let option = firstRefused, let known = unsafe curl_easy_option_by_id(option),
            let name = unsafe known.pointee.name
        else { return text }
        return unsafe "libcurl rejected the option \(String(cString: name)): \(text)"
    }
}

/// Owns field lines in libcurl's form that many transfers use and none changes.
// Safety: each user of the list keeps its owner, too.
@safe
final class FieldList {
    private(set) var pointer: UnsafeMutablePointer<curl_slist>?
    /// Whether there was no memory for some of them.
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
