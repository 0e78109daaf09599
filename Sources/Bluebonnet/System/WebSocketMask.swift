import FoundationEssentials

/// The mask of the frames that a client sends (RFC 6455 §5.3).
// Safety: the memory belongs to the data and is used only within the call; the offsets are checked against its size.
enum WebSocketMask {
    /// Combines each byte from a position on with an octet of the key by exclusive or.
    ///
    /// The most significant octet of the key is the first one.
    static func apply(_ key: UInt32, to data: inout Data, from start: Int) {
        // In memory, the octets have the order of the frame, and eight bytes are masked at once.
        let octets = UInt64(key.bigEndian)
        let word = octets << 32 | octets
        unsafe data.withUnsafeMutableBytes { buffer in
            let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
            var index = 0
            while index <= bytes.count - 8 {
                let masked = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word
                unsafe bytes.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            while index < bytes.count {
                unsafe bytes[index] ^= UInt8(truncatingIfNeeded: key >> UInt32(24 - 8 * (index & 3)))
                index += 1
            }
        }
    }
}
