import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Revocation lists and the certificates that they cover.
@Suite(.timeLimit(.minutes(10))) struct RevocationListTests {
    /// Files beside the root's list, and the verdicts on a good server and on one that is revoked, each without and with the
    /// demand to know; the letters are those of ``RevocationMatrixTests``.
    static let rows = [
        (["int.pem"], "--RR"),
        (["int.der"], "--RR"),
        // The root's list is all there is then.
        ([], "-N-N"),
        (["expired.pem"], "-SRR"),
        (["future.pem"], "-SRR"),
        (["expired.pem", "int.pem"], "--RR"),
        // Another authority's, and another's by the same name.
        (["branch.pem"], "-N-N"),
        (["forged.pem"], "-T-T"),
        (["forged.pem", "int.pem"], "--RR"),
        // Lists that are not about all certificates: what is not on them may be revoked for all they say.
        (["only-authorities.pem"], "-NRR"),
        (["some-reasons.pem"], "-NRR"),
        (["another-point.pem"], "-NRR"),
        (["delta.pem"], "-NRR"),
        (["delta.pem", "int.pem"], "--RR"),
    ]

    @Test(arguments: rows)
    func `revocation lists decide about servers`(_ names: [String], _ verdicts: String) async throws {
        let files = try RevocationFiles()
        let lists = try (names + ["root.pem"]).flatMap { name throws in
            try CertificateRevocationList.all(inFile: files.url("crls/\(name)"))
        }
        try await expect(lists, verdicts)
    }

    @Test func `a list of the root only or of the issuer only does not cover the chain`() async throws {
        let files = try RevocationFiles()
        try await expect(try CertificateRevocationList.all(inFile: files.url("crls/int.pem")), "-NRR")
        try await expect([], "-N-N")
    }

    @Test func `a file can contain many lists, and a directory many files`() async throws {
        let files = try RevocationFiles()
        let lists = try CertificateRevocationList.all(inFile: files.url("crls/all.pem"))
        #expect(lists.count == 3)
        try await expect(lists, "--RR")
        let hashed = try CertificateRevocationList.all(inDirectory: files.url("crls/hashed"))
        #expect(hashed.count == 2)
        try await expect(hashed, "--RR")
        let all = try CertificateRevocationList.all(inDirectory: files.url("crls"))
        #expect(all.count > 10)
        try await expect(all, "--RR")
    }

    @Test func `a file with a list that cannot be used is refused`() throws {
        let directory = try TestDirectory()
        let files = try RevocationFiles()
        let list = try String(decoding: Data(contentsOf: files.url("crls/int.pem")), as: UTF8.self)
        let damaged = list.replacing("-----BEGIN X509 CRL-----\nM", with: "-----BEGIN X509 CRL-----\nA")
        let certificate = try String(decoding: Data(contentsOf: files.url("int.pem")), as: UTF8.self)
        let (cut, half) = (String(list.dropLast(30)), list + String(list.prefix(200)))
        let cases: [(String, Int?)] = [
            (list, 1), (list + list, 2), ("A list:\n" + certificate + list + "that was it\n", 1), (damaged, nil),
            (list + damaged, nil), (damaged + list, nil), (cut, nil), (half, nil), (certificate, nil), ("", nil),
            ("30", nil),
        ]
        let (file, folder) = (directory.url("lists.pem"), directory.url)
        for (text, count) in cases {
            try directory.write(text, to: "lists.pem")
            guard let count else {
                let error = #expect(throws: RequestError.self) {
                    try CertificateRevocationList.all(inFile: file)
                }
                #expect(error?.kind == .trust(.configuration))
                continue
            }
            #expect(try CertificateRevocationList.all(inFile: file).count == count)
            #expect(try CertificateRevocationList.all(inDirectory: folder).count == count)
        }
    }

    @Test func `a directory without lists and a missing file are refused`() throws {
        let directory = try TestDirectory()
        try directory.write("nothing", to: "lists.txt")
        let (folder, missing) = (directory.url, directory.url("missing"))
        #expect(throws: RequestError.self) { try CertificateRevocationList.all(inDirectory: folder) }
        #expect(throws: RequestError.self) { try CertificateRevocationList.all(inDirectory: missing) }
        #expect(throws: RequestError.self) { try CertificateRevocationList.all(inFile: missing) }
    }

    private func expect(_ lists: [CertificateRevocationList], _ verdicts: String) async throws {
        let options = [RevocationTrustEvaluator.Options.crl, [.crl, .requirePositiveResponse]]
        let cells = ["none", "none-revoked"].flatMap { row in options.map { (row, $0) } }
        for ((row, options), letter) in zip(cells, verdicts) {
            let error = try await RevocationFixture.error(of: row, .revocation(options: options, lists: lists))
            let reason = RevocationMatrixTests.reason(letter)
            #expect(error?.kind == reason.map { .trust(.revocationCheckFailed($0)) }, "\(row) \(options)")
        }
    }
}
