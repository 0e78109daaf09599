import COpenSSL
import FoundationEssentials

/// Owns a reference to an OpenSSL certificate.
// Safety: OpenSSL counts references atomically, and nothing here changes a certificate after parsing. OpenSSL locks the
// certificate when it computes cached values.
@safe
final class X509Certificate: ChainLink, @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over a reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    /// Adds a reference.
    init?(retaining pointer: OpaquePointer?) {
        guard let pointer = unsafe pointer, unsafe X509_up_ref(pointer) == 1 else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    /// Parses a certificate; `nil` if the data is not exactly one certificate.
    init?(der: Data) {
        guard ExitGate.isSet else { return nil }
        defer { ERR_clear_error() }
        guard
            let pointer = unsafe OpenSSLBuffer.decoded(
                der, by: { unsafe d2i_X509(nil, $0, $1) }, or: { unsafe X509_free($0) })
        else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// Returns the certificates in PEM text, in order, up to the first malformed certificate; other text is skipped.
    static func all(inPEM text: Data) -> [X509Certificate] {
        guard let source = OpenSSLBuffer(text) else { return [] }
        var found: [X509Certificate] = []
        while let pointer = unsafe PEM_read_bio_X509(source.pointer, nil, nil, nil) {
            unsafe found.append(X509Certificate(owning: pointer))
        }
        ERR_clear_error()
        return found
    }

    var der: Data { unsafe OpenSSLBuffer.encoded { unsafe i2d_X509(pointer, $0) } }

    /// The `SubjectPublicKeyInfo` (RFC 5280 §4.1.2.7).
    var publicKey: Data {
        unsafe OpenSSLBuffer.encoded { unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(pointer), $0) }
    }

    var subject: String { unsafe Self.text(of: X509_get_subject_name(pointer)) }

    var issuer: String { unsafe Self.text(of: X509_get_issuer_name(pointer)) }

    /// The serial number in hexadecimal, like the output of `openssl x509 -serial`.
    var serialNumber: String {
        guard let number = unsafe ASN1_INTEGER_to_BN(X509_get0_serialNumber(pointer), nil) else { return "" }
        defer { unsafe BN_free(number) }
        guard let text = unsafe BN_bn2hex(number) else { return "" }
        defer { unsafe bb_free(text) }
        return unsafe String(cString: text)
    }

    var notBefore: Date { unsafe Self.date(of: X509_get0_notBefore(pointer)) }

    var notAfter: Date { unsafe Self.date(of: X509_get0_notAfter(pointer)) }

    /// The DNS names and IP addresses for which the certificate is valid.
    var names: [String] {
        var names: [String] = []
        forEachName { bytes, isAddress in
            if let name = isAddress ? IPAddress.text(of: bytes) : String(decoding: bytes, as: UTF8.self) {
                names.append(name)
            }
        }
        return names
    }

    /// Calls `body` with the bytes of each DNS name and IP address for which the certificate is valid, in order.
    private func forEachName(_ body: (_ bytes: [UInt8], _ isAddress: Bool) -> Void) {
        let value = unsafe X509_get_ext_d2i(pointer, NID_subject_alt_name, nil, nil)
        guard let value = unsafe value else { return }
        let all = OpaquePointer(value)
        defer { unsafe GENERAL_NAMES_free(all) }
        for index in 0..<(unsafe bb_general_name_count(all)) {
            guard let name = unsafe bb_general_name_at(all, index) else { continue }
            guard let host = unsafe bb_general_name_host(name) else { continue }
            body(unsafe Self.bytes(of: host), unsafe name.pointee.type == GEN_IPADD)
        }
    }

    /// The URLs of the first OCSP responders in the certificate, in order.
    var responders: [String] {
        // A certificate may contain any number of responders.
        (0..<Self.responderLimit).compactMap { index in
            guard let text = unsafe bb_x509_responder(pointer, index) else { return nil }
            defer { unsafe bb_free(text) }
            return unsafe String(cString: text)
        }
    }

    private static let responderLimit: Int32 = 4

    /// Whether the server must staple a response (RFC 7633).
    var demandsStaple: Bool { unsafe bb_x509_must_staple(pointer) == 1 }

    /// Whether the certificate has the same issuer and subject.
    var isSelfIssued: Bool {
        unsafe X509_NAME_cmp(X509_get_subject_name(pointer), X509_get_issuer_name(pointer)) == 0
    }

    /// Whether another certificate is the issuer by its name, and may sign certificates.
    ///
    /// Without the second condition, the owner of a certificate for one site could sign certificates in the name of its
    /// issuer.
    func isIssued(by issuer: X509Certificate) -> Bool {
        unsafe X509_check_issued(issuer.pointer, pointer) == X509_V_OK && X509_check_ca(issuer.pointer) != 0
    }

    /// Whether the signature was made with the key of another certificate.
    func isSigned(by issuer: X509Certificate) -> Bool {
        guard let key = unsafe X509_get0_pubkey(issuer.pointer) else { return false }
        defer { ERR_clear_error() }
        return unsafe X509_verify(pointer, key) == 1
    }

    /// The names and addresses in the certificate that are compared with hosts.
    var match: HostMatch {
        var match = HostMatch()
        forEachName { bytes, isAddress in
            if isAddress { match.addresses.append(bytes) } else { match.names.append(bytes) }
        }
        match.commonName = commonName
        return match
    }

    /// The last common name of the subject, which is the most specific, in UTF-8.
    private var commonName: [UInt8]? {
        let subject = unsafe X509_get_subject_name(pointer)
        var last: Int32 = -1
        while case let next = unsafe X509_NAME_get_index_by_NID(subject, NID_commonName, last), next >= 0 {
            last = next
        }
        guard last >= 0 else { return nil }
        var text: UnsafeMutablePointer<UInt8>?
        let value = unsafe X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last))
        let count = unsafe ASN1_STRING_to_UTF8(&text, value)
        defer { ERR_clear_error() }
        guard count >= 0, let text = unsafe text else { return nil }
        defer { unsafe bb_free(text) }
        return unsafe Array(UnsafeBufferPointer(start: text, count: Int(count)))
    }

    private static func bytes(of text: UnsafePointer<ASN1_STRING>) -> [UInt8] {
        guard let start = unsafe ASN1_STRING_get0_data(text) else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(text))))
    }

    /// Returns a distinguished name in the format of RFC 2253, in UTF-8.
    private static func text(of name: OpaquePointer?) -> String {
        guard let name = unsafe name, let target = OpenSSLBuffer() else { return "" }
        let flags = bb_x509_name_flags
        guard unsafe X509_NAME_print_ex(target.pointer, name, 0, flags) >= 0 else { return "" }
        return String(decoding: target.contents, as: UTF8.self)
    }

    private static func date(of time: UnsafePointer<ASN1_TIME>?) -> Date {
        var (days, seconds): (Int32, Int32) = (0, 0)
        let epoch = unsafe ASN1_TIME_set(nil, 0)
        defer { unsafe ASN1_TIME_free(epoch) }
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return .distantPast }
        return Date(timeIntervalSince1970: Double(days) * 86_400 + Double(seconds))
    }
}

/// Owns an OpenSSL memory buffer for reading or writing.
// Safety: the bytes to read are stored together with the buffer that points to them; pointers that are passed to
// closures are used only within them.
@safe
final class OpenSSLBuffer {
    let pointer: OpaquePointer
    private let bytes: UnsafeMutableRawBufferPointer?

    /// Creates an empty buffer for writing.
    init?() {
        guard ExitGate.isSet else { return nil }
        guard let pointer = unsafe BIO_new(BIO_s_mem()) else { return nil }
        unsafe self.pointer = unsafe pointer
        unsafe bytes = nil
    }

    /// Creates a buffer for reading the given bytes.
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

    /// The bytes that have been written so far.
    var contents: Data {
        var data = Data()
        var piece = [UInt8](repeating: 0, count: 1024)
        while case let count = unsafe BIO_read(pointer, &piece, Int32(piece.count)), count > 0 {
            data.append(contentsOf: piece.prefix(Int(count)))
        }
        return data
    }

    /// Parses DER with an OpenSSL function; frees the value and returns `nil` if other bytes follow it.
    static func decoded(
        _ data: Data, by read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?,
        or free: (OpaquePointer) -> Void
    ) -> OpaquePointer? {
        unsafe data.withUnsafeBytes { bytes -> OpaquePointer? in
            var position = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
            let end = unsafe position.map { unsafe $0 + bytes.count }
            guard let made = unsafe read(&position, bytes.count) else { return nil }
            if unsafe position == end { return unsafe made }
            unsafe free(made)
            return nil
        }
    }

    /// Returns the DER form of a value, using the OpenSSL function that writes it.
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
