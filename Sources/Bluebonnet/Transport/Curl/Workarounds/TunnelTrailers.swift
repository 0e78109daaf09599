import CCurl

/// Keeps libcurl from taking in the trailers of a proxy's answer to CONNECT, of all versions tried.
///
/// It passes them on as fields of the response, without a limit and again and again, and continues when they are
/// refused. Versions 7.84.0 to 8.0.1 read freed memory when the first begins with a space or a tab; see
/// ``FoldedFirstField``.
///
/// The option that has libcurl leave transfer codings alone has it skip trailers, and tunnels do not heed it otherwise.
/// It is on until the request is about to be sent, and once more when another connection is opened for it.
// Safety: the context is the handle's owner, which outlives the handle.
enum TunnelTrailers {
    /// Has libcurl skip them on each connection that it opens for the handle.
    static func skip(on easy: EasyHandle) {
        let code = unsafe bb_curl_set_sockopt_callback(
            easy.pointer,
            { context, _, _ in
                guard let context = unsafe context else { return CURL_SOCKOPT_ERROR }
                unsafe Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    $0.decodeTransferCodings(false)
                    $0.transfer?.connectionBegins()
                }
                return CURL_SOCKOPT_OK
            }, Unmanaged.passUnretained(easy).toOpaque())
        easy.note(code, CURLOPT_SOCKOPTFUNCTION)
    }
}
