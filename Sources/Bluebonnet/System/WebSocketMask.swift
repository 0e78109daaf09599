import BluebonnetLibc
import FoundationEssentials

/// The masked frames that a client sends (RFC 6455 §5.3).
// Safety: the memory of a frame has exactly its size and belongs to the data that frees it; the payload is used only
// within the call.
enum WebSocketMask {
    /// Returns a frame, whose payload is copied and masked at once.
    ///
    /// - Parameters:
    ///   - first: The first byte of the frame.
    ///   - payload: The bytes to mask.
    ///   - key: The key; its most significant octet is the first one.
    /// - Returns: The bytes of the frame.
    static func frame(_ first: UInt8, _ payload: Data, key: UInt32) -> Data {
        let count = payload.count
        let lengthSize = count < 126 ? 0 : count <= 0xffff ? 2 : 8
        let size = 6 + lengthSize + count
        let pool = RecycledBuffers.frames
        guard size < pool.size / 2 || size > pool.size else {
            let buffer = pool.take()
            unsafe buffer.fill(upTo: size) { room in
                guard let memory = room.baseAddress else { return 0 }
                unsafe write(first, payload, lengthSize, key, to: memory)
                return size
            }
            return pool.piece(of: buffer)
        }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
        unsafe write(first, payload, lengthSize, key, to: memory)
        return unsafe Data(
            bytesNoCopy: memory, count: size, deallocator: .custom { memory, _ in unsafe memory.deallocate() })
    }

    private static func write(
        _ first: UInt8, _ payload: Data, _ lengthSize: Int, _ key: UInt32, to memory: UnsafeMutableRawPointer
    ) {
        let count = payload.count
        unsafe memory.storeBytes(of: first, as: UInt8.self)
        let short: UInt8 = lengthSize == 0 ? UInt8(count) : lengthSize == 2 ? 126 : 127
        unsafe memory.storeBytes(of: 0x80 | short, toByteOffset: 1, as: UInt8.self)
        for index in 0..<lengthSize {
            let byte = UInt8(truncatingIfNeeded: count >> (8 * (lengthSize - 1 - index)))
            unsafe memory.storeBytes(of: byte, toByteOffset: 2 + index, as: UInt8.self)
        }
        unsafe memory.storeBytes(of: key.bigEndian, toByteOffset: 2 + lengthSize, as: UInt32.self)
        let target = unsafe memory + 6 + lengthSize
        unsafe payload.withUnsafeBytes { unsafe mask($0, key, to: target) }
    }

    private static func mask(_ bytes: UnsafeRawBufferPointer, _ key: UInt32, to target: UnsafeMutableRawPointer) {
        // In memory, the octets have the order of the frame, and eight bytes are masked at once.
        let octets = UInt64(key.bigEndian)
        let word = octets << 32 | octets
        var index = 0
        while index <= bytes.count - 8 {
            let masked = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word
            unsafe target.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < bytes.count {
            let masked = unsafe bytes[index] ^ UInt8(truncatingIfNeeded: key >> UInt32(24 - 8 * (index & 3)))
            unsafe target.storeBytes(of: masked, toByteOffset: index, as: UInt8.self)
            index += 1
        }
    }

    /// The keys that were not used yet.
    private static let keys = Locked<[UInt32]>([])

    /// Returns an unpredictable key of the system's generator (RFC 6455 §5.3).
    ///
    /// The system is asked for 64 keys at once, because each question is a system call.
    static func key() -> UInt32 {
        keys.withLock { keys in
            if keys.isEmpty {
                keys = Array(repeating: 0, count: 64)
                let isFilled = unsafe keys.withUnsafeMutableBytes { bytes in
                    guard let base = bytes.baseAddress else { return false }
                    return unsafe getentropy(base, bytes.count) == 0
                }
                if !isFilled { keys = [.random(in: .min ... .max)] }
            }
            return keys.removeLast()
        }
    }
}
