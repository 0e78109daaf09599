import CCurl
import COpenSSL

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
