import CCurl
import COpenSSL

/// The functions that libcurl calls with what a transfer receives and when it wants something to send.
///
/// They run on the loop's thread, inside a call that the engine made. Safety: the context is the handle's owner, which
/// outlives the handle.
enum TransferCallbacks {
    static func install(on easy: EasyHandle, isUploading: Bool) {
        let context = unsafe Unmanaged.passUnretained(easy).toOpaque()
        unsafe easy.set(CURLOPT_PRIVATE, pointer: context)
        unsafe easy.set(
            CURLOPT_HEADERFUNCTION,
            callback: { bytes, size, count, context in
                guard let transfer = unsafe TransferCallbacks.transfer(at: context) else { return 0 }
                let head = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
                return unsafe transfer.receivedHead(head) ? head.count : TransferCallbacks.refusal(of: head.count)
            })
        unsafe easy.set(CURLOPT_HEADERDATA, pointer: context)
        unsafe easy.set(
            CURLOPT_WRITEFUNCTION,
            callback: { bytes, size, count, context in
                guard let transfer = unsafe TransferCallbacks.transfer(at: context) else { return 0 }
                let body = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
                switch unsafe transfer.receivedBody(body) {
                case .accept: return body.count
                case .pause: return bb_curl_writefunc_pause
                case .refuse: return TransferCallbacks.refusal(of: body.count)
                }
            })
        unsafe easy.set(CURLOPT_WRITEDATA, pointer: context)
        unsafe easy.setBeginning(
            callback: { context, address, _, remotePort, localPort in
                let begins =
                    unsafe TransferCallbacks.transfer(at: context)?.requestBegins(
                        ConnectionEnds(
                            localPort: Int(localPort), remotePort: Int(remotePort), remoteAddress: address)) ?? false
                return begins ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            }, context: context)
        guard isUploading else { return }
        unsafe easy.set(
            CURLOPT_READFUNCTION,
            callback: { bytes, size, count, context in
                guard let transfer = unsafe TransferCallbacks.transfer(at: context) else {
                    return bb_curl_readfunc_abort
                }
                let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
                return unsafe transfer.provideBody(into: buffer)
            })
        unsafe easy.set(CURLOPT_READDATA, pointer: context)
        unsafe easy.setSeek { context, offset, origin in
            guard let transfer = unsafe TransferCallbacks.transfer(at: context), origin == SEEK_SET else {
                return CURL_SEEKFUNC_CANTSEEK
            }
            return transfer.rewindBody(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
        }
        unsafe easy.set(CURLOPT_SEEKDATA, pointer: context)
    }

    /// Any number but the one that was offered ends the transfer.
    private static func refusal(of count: Int) -> Int { count == 0 ? 1 : 0 }

    static func transfer(at context: UnsafeMutableRawPointer?) -> Transfer? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.transfer }
    }
}

/// The function that libcurl calls when a connection with TLS is made.
// Safety: the context is the handle's owner, which outlives the handle.
extension TransferCallbacks {
    static func installContext(on easy: EasyHandle) {
        unsafe easy.setContext(
            callback: { _, context, owner in
                guard let context = unsafe context, let transfer = unsafe TransferCallbacks.transfer(at: owner),
                    unsafe transfer.prepare(OpaquePointer(context))
                else { return CURLE_SSL_CACERT_BADFILE }
                return CURLE_OK
            }, context: Unmanaged.passUnretained(easy).toOpaque())
    }
}
