import BluebonnetLibc
import FoundationEssentials

/// A charset that is decoded with a `gconv` module of the system.
///
/// Only names from the table below are passed to the system, regardless of the response.
struct SystemCharset: Hashable, Sendable {
    /// The preferred name in the IANA registry.
    let name: String
    /// The name for `iconv_open`, which is the name of the superset that the Encoding Standard uses.
    let systemName: String

    /// Returns the charset with this lowercase name.
    static func named(_ name: String) -> SystemCharset? { names[name] }

    /// Whether the system has the module for the charset.
    ///
    /// Small container images do not contain most modules.
    var isAvailable: Bool { SystemTextDecoder(self) != nil }

    /// All charsets of the table.
    static var all: Set<SystemCharset> { Set(names.values) }

    private static let names: [String: SystemCharset] = {
        var names: [String: SystemCharset] = [:]
        for line in table.split(separator: "\n") {
            let words = line.split(separator: " ").map { String($0) }
            let charset = SystemCharset(name: words[0], systemName: words[1])
            for label in [words[0]] + words[2...] { names[label] = charset }
        }
        return names
    }()

    /// Each line contains the preferred name, the system's name, and the other names in the Encoding Standard or the
    /// IANA registry.
    private static let table = """
        ibm437 CP437 cp437 437
        ibm850 CP850 cp850 850
        ibm852 CP852 cp852 852
        ibm866 IBM866 cp866 866 csibm866
        iso-8859-2 ISO-8859-2 csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
        iso-8859-3 ISO-8859-3 csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
        iso-8859-4 ISO-8859-4 csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
        iso-8859-5 ISO-8859-5 csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
        iso-8859-6 ISO-8859-6 arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e \
            iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
        iso-8859-7 ISO-8859-7 csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 \
            iso_8859-7 iso_8859-7:1987 sun_eu_greek
        iso-8859-8 ISO-8859-8 csiso88598e csiso88598i csisolatinhebrew hebrew iso-8859-8-e iso-8859-8-i iso-ir-138 \
            iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 logical visual
        iso-8859-10 ISO-8859-10 csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6
        iso-8859-13 ISO-8859-13 iso8859-13 iso885913
        iso-8859-14 ISO-8859-14 iso8859-14 iso885914
        iso-8859-15 ISO-8859-15 csisolatin9 iso8859-15 iso885915 iso_8859-15 l9 latin-9 latin9
        iso-8859-16 ISO-8859-16 iso8859-16 iso885916 iso_8859-16 l10 latin10
        koi8-r KOI8-R cskoi8r koi koi8 koi8_r
        koi8-u KOI8-U koi8-ru
        macintosh MACINTOSH csmacintosh mac x-mac-roman
        x-mac-cyrillic MAC-CYRILLIC x-mac-ukrainian
        windows-874 CP874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620
        windows-1250 CP1250 cp1250 x-cp1250
        windows-1251 CP1251 cp1251 x-cp1251
        windows-1253 CP1253 cp1253 x-cp1253
        windows-1254 CP1254 cp1254 x-cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 \
            iso_8859-9:1989 l5 latin5
        windows-1255 CP1255 cp1255 x-cp1255
        windows-1256 CP1256 cp1256 x-cp1256
        windows-1257 CP1257 cp1257 x-cp1257
        windows-1258 CP1258 cp1258 x-cp1258
        gbk GB18030 chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk cp936 ms936 \
            windows-936
        gb18030 GB18030
        big5 BIG5-HKSCS big5-hkscs cn-big5 csbig5 x-x-big5
        euc-jp EUC-JP-MS cseucpkdfmtjapanese x-euc-jp
        iso-2022-jp ISO-2022-JP csiso2022jp
        shift_jis CP932 csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis
        euc-kr UHC cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 \
            windows-949 cp949
        """
}

/// Decodes chunks of text with `iconv`, regardless of chunk boundaries.
///
/// Only one task may use the decoder at a time. The decoder keeps the shift state of the charset and up to
/// ``longestRest`` bytes of an incomplete character. For charsets with combining characters, it also keeps the last
/// character.
// Safety: Only this object uses the descriptor, and `deinit` closes it. Other pointers are passed to iconv with the
// size of their memory, and iconv does not keep them after the call.
@safe
final class SystemTextDecoder {
    private let descriptor: iconv_t
    /// Whether escape sequences change the meaning of later bytes.
    ///
    /// Flushing would reset this state.
    private let shifts: Bool
    private var rest: [UInt8] = []

    /// An upper limit for the length of a character or an escape sequence in these charsets.
    private static let longestRest = 8

    /// Creates a decoder, or returns `nil` if the system does not have the module for the charset.
    init?(_ charset: SystemCharset) {
        let opened = unsafe iconv_open("UTF-8", charset.systemName)
        // A result of -1, which Swift imports as an address, means failure.
        guard let opened = unsafe opened, UInt(bitPattern: opened) != UInt.max else { return nil }
        unsafe descriptor = unsafe opened
        shifts = charset.systemName.hasPrefix("ISO-2022")
    }

    deinit {
        unsafe _ = iconv_close(descriptor)
    }

    /// Decodes the next bytes.
    ///
    /// - Parameters:
    ///   - bytes: The next bytes of the text.
    ///   - isLast: Whether these are the last bytes.
    ///   - repairs: Whether malformed parts are replaced by U+FFFD.
    /// - Returns: The decoded text, or `nil` if it is malformed and `repairs` is `false`.
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
                // An incomplete character at the end counts as one error, as in UTF-8.
                start = stop == EINVAL ? input.count : start + 1
                if !shifts { flush(into: &text) }
                text += "\u{FFFD}".utf8
            }
        }
        rest = []
        if isLast { flush(into: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Converts bytes from an index until the output buffer is full, and advances the index.
    ///
    /// The method returns the reason if the conversion stops early.
    private func convert(
        _ input: UnsafeBufferPointer<UInt8>, from start: inout Int, into text: inout [UInt8]
    ) -> Int32? {
        // iconv does not write to its input.
        var next = unsafe UnsafeMutableRawPointer(mutating: input.baseAddress)?
            .advanced(by: start).assumingMemoryBound(to: CChar.self)
        var left = input.count - start
        let before = left
        let stop = unsafe run(&next, &left, room: left * 2 + 16, into: &text)
        start += before - left
        return stop
    }

    /// Appends the text that iconv keeps because a combining character may follow.
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
