import CCurl
import COpenSSL

/// The functions that libcurl calls with a transfer's received bytes, and when it needs bytes to send.
///
/// They run on the loop's thread, inside a call from the engine. Safety: the context is the handle's owner, which
/// outlives the handle.
enum TransferCallbacks {
    /// Sets all callbacks.
    ///
    /// No callback is left at its default, because the defaults are functions of the C library that use the standard
    /// streams of the process. Libcurl 8.14.1, for example, may rewind the body of an earlier request of the handle,
    /// and then standard input.
    static func install(on easy: EasyHandle) {
        let context = unsafe Unmanaged.passUnretained(easy).toOpaque()
        unsafe easy.set(CURLOPT_PRIVATE, pointer: context)
        let header = unsafe bb_curl_set_header_callback(
            easy.pointer,
            { bytes, size, count, context in
                guard let transfer = unsafe TransferCallbacks.transfer(at: context) else { return 0 }
                let head = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
                return unsafe transfer.receivedHead(head) ? head.count : TransferCallbacks.refusal(of: head.count)
            }, context)
        easy.note(header, CURLOPT_HEADERFUNCTION)
        let write = unsafe bb_curl_set_write_callback(
            easy.pointer,
            { bytes, size, count, context in
                guard let transfer = unsafe TransferCallbacks.transfer(at: context) else { return 0 }
                let body = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
                let isLimited = transfer.speed != nil
                switch unsafe isLimited ? transfer.receivedLimitedBody(body) : transfer.receivedBody(body) {
                case .accept: return body.count
                case .pause:
                    transfer.receivingChanged(isPaused: true)
                    return bb_curl_writefunc_pause
                case .refuse: return TransferCallbacks.refusal(of: body.count)
                }
            }, context)
        easy.note(write, CURLOPT_WRITEFUNCTION)
        let prereq = unsafe bb_curl_set_prereq_callback(
            easy.pointer,
            { context, address, _, remotePort, localPort in
                let ends = unsafe ConnectionEndpoints(
                    localPort: Int(localPort), remotePort: Int(remotePort), remoteAddress: address)
                let begins = unsafe TransferCallbacks.transfer(at: context)?.requestBegins(ends) ?? false
                return begins ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            }, context)
        easy.note(prereq, CURLOPT_PREREQFUNCTION)
        let read = unsafe bb_curl_set_read_callback(
            easy.pointer,
            { bytes, size, count, context in
                guard let transfer = unsafe TransferCallbacks.transfer(at: context) else {
                    return bb_curl_readfunc_abort
                }
                let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
                return unsafe transfer.provideLimitedBody(into: buffer)
            }, context)
        easy.note(read, CURLOPT_READFUNCTION)
        let seek = unsafe bb_curl_set_seek_callback(
            easy.pointer,
            { context, offset, origin in
                guard let transfer = unsafe TransferCallbacks.transfer(at: context), origin == SEEK_SET else {
                    return CURL_SEEKFUNC_CANTSEEK
                }
                transfer.libcurlRewinds(to: Int64(offset))
                return CURL_SEEKFUNC_OK
            }, context)
        easy.note(seek, CURLOPT_SEEKFUNCTION)
        let debug = unsafe bb_curl_set_debug_callback(
            easy.pointer,
            { _, type, bytes, count, context in
                guard type == CURLINFO_TEXT, let transfer = unsafe TransferCallbacks.transfer(at: context) else {
                    return 0
                }
                unsafe transfer.traced(UnsafeRawBufferPointer(start: bytes, count: count))
                return 0
            }, context)
        easy.note(debug, CURLOPT_DEBUGFUNCTION)
    }

    /// Reports when libcurl begins to look up or to open a connection for the handle.
    ///
    /// Before this, the transfer may wait for a free connection, or for the HTTP version of another connection. There
    /// are two callbacks: a host with a known address needs no lookup, and a host whose lookup fails gets no socket.
    /// The second callback also starts ``SlowAddresses``.
    static func installConnectionBegin(on easy: EasyHandle) {
        let context = unsafe Unmanaged.passUnretained(easy).toOpaque()
        let lookup = unsafe bb_curl_set_resolver_start_callback(
            easy.pointer,
            { _, _, context in
                unsafe TransferCallbacks.transfer(at: context)?.connectionBegins() == false ? 1 : 0
            }, context)
        easy.note(lookup, CURLOPT_RESOLVER_START_FUNCTION)
        let socket = unsafe bb_curl_set_sockopt_callback(
            easy.pointer,
            { context, socket, _ in
                unsafe TransferCallbacks.transfer(at: context)?.socketOpens(socket) ?? CURL_SOCKOPT_OK
            }, context)
        easy.note(socket, CURLOPT_SOCKOPTFUNCTION)
    }

    /// Any number other than the number of offered bytes ends the transfer.
    private static func refusal(of count: Int) -> Int { count == 0 ? 1 : 0 }

    static func transfer(at context: UnsafeMutableRawPointer?) -> Transfer? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.transfer }
    }
}

/// The function that libcurl calls when it sets up TLS for a connection.
// Safety: the context is the handle's owner, which outlives the handle.
extension TransferCallbacks {
    static func installContext(on easy: EasyHandle) {
        let code = unsafe bb_curl_set_ssl_ctx_callback(
            easy.pointer,
            { handle, context, owner in
                guard let context = unsafe context, let transfer = unsafe TransferCallbacks.transfer(at: owner),
                    unsafe transfer.prepare(OpaquePointer(context), of: handle)
                else { return CURLE_SSL_CACERT_BADFILE }
                return CURLE_OK
            }, Unmanaged.passUnretained(easy).toOpaque())
        easy.note(code, CURLOPT_SSL_CTX_FUNCTION)
    }
}
