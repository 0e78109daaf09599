/// What a turn of the engine and libcurl's callbacks share.
final class EngineTurn {
    /// The memory of the pieces in which bodies are handed over.
    let buffers: RecycledBuffers
    /// The time at the start of the turn, on the monotonic clock in nanoseconds.
    var now: Int64 = 0
    /// The transfers that received or sent bytes in this turn.
    var progressed: [Transfer] = []
    /// The transfers whose heads their observers are to hear of.
    var withHeads: [Transfer] = []
    /// The session's cookies, if it keeps any.
    var cookieJar: CookieJar?
    /// The transfers whose bodies are refused while libcurl waits for more of them.
    var refused: [Transfer] = []
    /// The transfers of which bytes are left to decode, and how many bytes may go in and out of decoders in this turn.
    var toBeDecoded: [Transfer] = []
    var decodingAllowance = TransferEngine.decodingAllowance
    /// Whether something came in on an HTTP/2 stream in this turn.
    var hasReceivedOnStream = false

    /// Creates what they share.
    ///
    /// - Parameter highWatermark: From how many waiting bytes on a body is held back; two pieces bring as many, unless
    ///   they would be very small or very large.
    init(highWatermark: Int) {
        buffers = RecycledBuffers(size: min(max(highWatermark / 2, 64 * 1024), 512 * 1024))
    }
}
