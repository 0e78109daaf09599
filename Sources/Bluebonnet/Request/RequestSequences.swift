/// The sequences of a request that somebody has asked for.
struct RequestSequences {
    var downloadProgress: Broadcast<TransferProgress>?
    var uploadProgress: Broadcast<TransferProgress>?
    var requests: Broadcast<HTTPRequest>?
    var responses: Broadcast<HTTPResponse>?

    var isEmpty: Bool {
        downloadProgress == nil && uploadProgress == nil && requests == nil && responses == nil
    }

    /// Ends them all.
    func finish() {
        downloadProgress?.finish()
        uploadProgress?.finish()
        requests?.finish()
        responses?.finish()
    }
}
