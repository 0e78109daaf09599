import CCurl
import COpenSSL

/// The functions that libcurl calls when a connection is made, and before a request is sent on one.
// Safety: the context is the handle's owner, which outlives the handle.
extension TransferCallbacks {
    static func installTrust(on easy: EasyHandle) {
        unsafe easy.setTrust(
            context: { _, context, argument in
                guard let context = unsafe context, let transfer = unsafe TransferCallbacks.transfer(at: argument),
                    transfer.appointJudge(for: unsafe OpaquePointer(context))
                else { return CURLE_SSL_CERTPROBLEM }
                return CURLE_OK
            },
            beforeRequest: { argument, _, _, _, _ in
                guard let transfer = unsafe TransferCallbacks.transfer(at: argument) else { return CURL_PREREQFUNC_ABORT }
                return transfer.mayUseConnection() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            }, argument: Unmanaged.passUnretained(easy).toOpaque())
    }
}
