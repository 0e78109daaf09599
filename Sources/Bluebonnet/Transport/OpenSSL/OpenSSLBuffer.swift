import COpenSSL
import FoundationEssentials

/// Owns one of OpenSSL's memory buffers, to read from or to write to.
// Safety: the bytes to read are kept beside the buffer that points to them; the pointers that are handed to closures are
// used within them.
@safe
final class OpenSSLBuffer {
    let pointer: OpaquePointer
    private let bytes: UnsafeMutableRawBufferPointer?

    /// An empty buffer to write to.
    init?() {
        guard ExitGate.isSet else { return nil }
        guard let pointer = unsafe BIO_new(BIO_s_mem()) else { return nil }
        unsafe self.pointer = unsafe pointer
        unsafe bytes = nil
    }

    /// A buffer to read the bytes from.
    init?(_ data: Data) {
        guard ExitGate.isSet else { return nil }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, data.count), alignment: 1)
        unsafe data.copyBytes(to: copy)
        guard let pointer = unsafe BIO_new_mem_buf(copy.baseAddress, Int32(clamping: data.count)) else {
            unsafe copy.deallocate()
            return nil
        }
        unsafe self.pointer = unsafe pointer
        unsafe bytes = unsafe copy
    }

    deinit {
        unsafe BIO_free_all(pointer)
        unsafe bytes?.deallocate()
    }

    /// What was written so far.
    var contents: Data {
        var data = Data()
        var piece = [UInt8](repeating: 0, count: 1024)
        while case let count = unsafe BIO_read(pointer, &piece, Int32(piece.count)), count > 0 {
            data.append(contentsOf: piece.prefix(Int(count)))
        }
        return data
    }

    /// The DER form of something, by the function of OpenSSL's that writes it.
    static func encoded(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> Data {
        let count = Int(write(nil))
        guard count > 0 else { return Data() }
        var data = Data(count: count)
        unsafe data.withUnsafeMutableBytes { bytes in
            var position = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            _ = unsafe write(&position)
        }
        return data
    }
}
