import FoundationEssentials
import Glibc

/// Decodes text piece by piece by a table of the system's (`iconv`), wherever the pieces end.
///
/// Belongs to one task at a time. It holds what the charset shifted to, the bytes of a character that is not complete
/// (never more than ``longestRest``), and, where characters combine, the last one.
// Safety: the descriptor is this object's own from its making until `deinit`; iconv sees pointers to other memory within
// the call below only, together with its size.
@safe
final class SystemTextDecoder {
    private let descriptor: iconv_t
    /// Whether escape sequences change the meaning of the bytes after them, which flushing would end.
    private let shifts: Bool
    private var rest: [UInt8] = []

    /// More bytes than the charsets of the table have in a character or in an escape sequence.
    private static let longestRest = 8

    /// Creates a decoder; `nil` when the system does not have the charset's table.
    init?(_ charset: SystemCharset) {
        let opened = unsafe iconv_open("UTF-8", charset.systemName)
        // -1 is the failure, which the importer takes for an address.
        guard let opened = unsafe opened, UInt(bitPattern: opened) != UInt.max else { return nil }
        unsafe descriptor = unsafe opened
        shifts = charset.systemName.hasPrefix("ISO-2022")
    }

    deinit {
        unsafe _ = iconv_close(descriptor)
    }

    /// Returns the text that the bytes complete.
    ///
    /// - Parameters:
    ///   - bytes: The next bytes.
    ///   - isLast: Whether no more are to come.
    ///   - repairs: Whether a malformed part becomes U+FFFD.
    /// - Returns: The text; `nil` for malformed text that is not repaired.
    func decode(_ bytes: Data, isLast: Bool, repairs: Bool) -> String? {
        let input = rest + bytes
        var text: [UInt8] = []
        text.reserveCapacity(input.count + input.count / 2)
        var start = 0
        while start < input.count {
            let stop = unsafe input.withUnsafeBufferPointer { unsafe convert($0, from: &start, into: &text) }
            switch stop {
            case nil, E2BIG: continue
            case EINVAL where !isLast && input.count - start <= Self.longestRest:
                rest = Array(input[start...])
                return String(decoding: text, as: UTF8.self)
            default:
                guard repairs else { return nil }
                // What is not complete at the end is one mistake, as it is in UTF-8.
                start = stop == EINVAL ? input.count : start + 1
                if !shifts { flush(into: &text) }
                text += "\u{FFFD}".utf8
            }
        }
        rest = []
        if isLast { flush(into: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Converts from an index on, which it moves, as far as one piece of output has room; returns why it stopped early.
    private func convert(
        _ input: UnsafeBufferPointer<UInt8>, from start: inout Int, into text: inout [UInt8]
    ) -> Int32? {
        // iconv does not write there.
        var next = unsafe UnsafeMutableRawPointer(mutating: input.baseAddress)?
            .advanced(by: start).assumingMemoryBound(to: CChar.self)
        var left = input.count - start
        let before = left
        let stop = unsafe run(&next, &left, room: left * 2 + 16, into: &text)
        start += before - left
        return stop
    }

    /// Hands out what is held back because something might be combined with it.
    private func flush(into text: inout [UInt8]) {
        var none: UnsafeMutablePointer<CChar>?
        var left = 0
        unsafe _ = run(&none, &left, room: 16, into: &text)
    }

    private func run(
        _ next: inout UnsafeMutablePointer<CChar>?, _ left: inout Int, room: Int, into text: inout [UInt8]
    ) -> Int32? {
        var stop: Int32?
        text += unsafe [UInt8](unsafeUninitializedCapacity: min(room, 64 * 1024)) { buffer, written in
            var out = unsafe UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
            var free = buffer.count
            let isNull = unsafe next == nil
            let status =
                unsafe isNull
                ? iconv(descriptor, nil, nil, &out, &free) : iconv(descriptor, &next, &left, &out, &free)
            if status == -1 { stop = errno }
            written = buffer.count - free
        }
        return stop
    }
}
