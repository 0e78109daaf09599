import CCurl

/// Makes libcurl skip the trailers of a proxy's response to CONNECT; all tested versions need this.
///
/// Otherwise, libcurl delivers them as fields of the response, repeatedly and without a limit, even if they are
/// refused. Versions 7.84.0 to 8.0.1 read freed memory if the first trailer begins with a space or a tab; see
/// ``FoldedFirstField``.
///
/// If libcurl does not decode transfer codings, it also skips trailers, and the option has no other effect on tunnels.
/// The option is therefore set until the request is about to be sent, and again when another connection is opened for
/// the request.
// Safety: the context is the handle's owner, which outlives the handle.
enum TunnelTrailers {
    /// Makes libcurl skip trailers on each connection that it opens for the handle.
    static func skip(on easy: EasyHandle) {
        let code = unsafe bb_curl_set_sockopt_callback(
            easy.pointer,
            { context, socket, _ in
                guard let context = unsafe context else { return CURL_SOCKOPT_ERROR }
                return unsafe Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    $0.decodeTransferCodings(false)
                    return $0.transfer?.socketOpens(socket) ?? CURL_SOCKOPT_OK
                }
            }, Unmanaged.passUnretained(easy).toOpaque())
        easy.note(code, CURLOPT_SOCKOPTFUNCTION)
    }
}
