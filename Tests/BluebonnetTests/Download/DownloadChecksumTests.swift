import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Checksums as values, and what the response fields state (RFC 9530).
struct DownloadChecksumTests {
    private static let abc256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let abc512 =
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    private static let base256 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
    private static let base512 =
        "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="

    private static func response(_ headers: HTTPHeaders, status: Int = 200) throws -> HTTPResponse {
        HTTPResponse(url: try #require(URL(string: "https://example.com/a")), statusCode: status, headers: headers)
    }

    @Test(arguments: [1, 2, 3]) func `a digest of pieces is the digest of the whole`(size: Int) throws {
        for (algorithm, text) in [(DigestAlgorithm.sha256, Self.abc256), (.sha512, Self.abc512)] {
            let (digest, bytes) = (RunningDigest(algorithm), Data("abc".utf8))
            for start in stride(from: 0, to: 3, by: size) { digest.update(bytes[start..<min(3, start + size)]) }
            #expect(digest.count == 3)
            #expect(digest.finish() == ExpectedDigest(algorithm, text).bytes)
        }
    }

    @Test func `a checksum is the same as hexadecimal digits, as base64 and as bytes`() throws {
        let bytes = Digest.sha256(of: Data("abc".utf8))
        for checksum in [
            DownloadChecksum.sha256(Self.abc256), .sha256(Self.abc256.uppercased()), .sha256(Self.base256),
        ] {
            #expect(checksum == .sha256(bytes))
            #expect(!checksum.isFromResponse)
            try checksum.validate()
        }
        #expect(DownloadChecksum.sha512(Self.abc512) == .sha512(Self.base512))
        try DownloadChecksum.sha512(Self.abc512).validate()
        try DownloadChecksum.responseField.validate()
    }

    static let invalid: [DownloadChecksum] = [
        .sha256(""), .sha256("abc"), .sha256(Data()), .sha256(abc512), .sha512(abc256), .sha256(base512),
        .sha256(String(abc256.dropLast()) + "g"), .sha256(abc256 + "  a.bin"), .sha512(Data(count: 63)),
    ]

    @Test(arguments: invalid) func `a value that is not a digest is an error`(checksum: DownloadChecksum) {
        let error = #expect(throws: RequestError.self) { try checksum.validate() }
        expectInvalid(error)
    }

    /// The fields of a response, its status, and the algorithm of the digest that they state.
    static let fields: [(HTTPHeaders, Int, DigestAlgorithm?)] = [
        (["Repr-Digest": "sha-256=:\(base256):"], 200, .sha256),
        (["repr-digest": "sha-256=:\(base256):"], 206, .sha256),
        (["Content-Digest": "sha-256=:\(base256):"], 200, .sha256),
        (["Content-Digest": "sha-256=:\(base256):"], 206, nil),
        (["Repr-Digest": "sha-256=:\(base256):, sha-512=:\(base512):"], 200, .sha512),
        (["Repr-Digest": "sha-512=:\(base512):,sha-256=:\(base256):"], 200, .sha512),
        (["Repr-Digest": "md5=:AAAA:, sha-256=:\(base256):;a=1"], 200, .sha256),
        (["Digest": "SHA-256=\(base256),MD5=abc"], 200, .sha256), (["Digest": "sha-512=\(base512)"], 206, .sha512),
        (["Repr-Digest": "sha-256=\(base256)"], 200, nil), (["Repr-Digest": "sha-256=:\(base512):"], 200, nil),
        (["Repr-Digest": "sha=:AAAA:", "Digest": "sha-256=\(base256)"], 200, .sha256),
        (["Repr-Digest": "sha-256=:\(base256):"], 416, nil),
        (["Repr-Digest": "sha-256=:!:"], 200, nil), (["Repr-Digest": "sha-256=::"], 200, nil),
        (["Repr-Digest": "sha-256=:"], 200, nil), (["Repr-Digest": "sha-256"], 200, nil),
        (["Repr-Digest": ""], 200, nil), (["Repr-Digest": ",,=,:"], 200, nil), ([:], 200, nil),
        (["Repr-Digest": "sha-256=:\(base256):", "Content-Encoding": "gzip"], 200, nil),
    ]

    @Test(arguments: fields) func `the digest fields of a response`(row: (HTTPHeaders, Int, DigestAlgorithm?)) throws {
        let response = try Self.response(row.0, status: row.1)
        let digest = ExpectedDigest(of: response)
        #expect(digest?.algorithm == row.2)
        guard let algorithm = row.2 else {
            let error = #expect(throws: RequestError.self) {
                try DownloadChecksum.responseField.expected(for: response)
            }
            #expect(error?.kind == .download(.checksumMissing))
            return
        }
        #expect(digest == ExpectedDigest(algorithm, algorithm == .sha256 ? Self.abc256 : Self.abc512))
        #expect(try DownloadChecksum.responseField.expected(for: response) == digest)
        let stated = try DownloadChecksum.sha256(Self.base256).expected(for: response)
        #expect(stated.algorithm == .sha256, "a stated digest takes precedence")
    }
}

private func expectInvalid(_ error: RequestError?, at location: SourceLocation = #_sourceLocation) {
    if case .invalidRequest(.configuration)? = error?.kind { return }
    Issue.record("\(error as Any)", sourceLocation: location)
}

/// Ordinary downloads with a checksum.
@Suite(.timeLimit(.minutes(10))) struct DownloadChecksumWireTests {
    private static let body = Data.pattern(count: 100_000)
    private static let right = DownloadChecksum.sha256(Digest.sha256(of: body))
    private static let wrong = DownloadChecksum.sha256(Data(count: 32))

    private static var field: HTTPHeader {
        HTTPHeader(name: "Repr-Digest", value: "sha-256=:\(Digest.sha256(of: body).base64EncodedString()):")
    }

    @Test func `the right checksum is accepted`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.fields.append(Self.field) }
        let session = TestHarness.session()
        for (name, checksum) in [("a", Self.right), ("b", .responseField)] {
            let file = try await session.download(origin.url, to: .file(directory.url(name))).validate(
                checksum: checksum
            )
            .serializingURL().value
            expectSame(try Data(contentsOf: file), Self.body)
        }
        #expect(directory.names == ["a", "b"])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a file with another checksum is removed and cannot be resumed`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let answer = await session.download(
            origin.url, to: .file(directory.url("a"), options: .automaticallyResume)
        ).validate(checksum: Self.wrong).serializingURL().response
        #expect(answer.error?.kind == .download(.checksumMismatch) && answer.resumeData == nil)
        #expect(answer.error?.detail?.hasPrefix("sha-256 is ") == true)
        #expect(directory.names == [] && origin.server.requestCount == 1)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `without a digest in the response the download fails and leaves nothing`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let answer = await session.download(origin.url, to: .file(directory.url("a"))).validate(
            checksum: .responseField
        )
        .serializingURL().response
        #expect(answer.error?.kind == .download(.checksumMissing) && answer.resumeData == nil)
        #expect(directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `an invalid checksum fails before a request is sent`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let error = await session.download(origin.url, to: .file(directory.url("a"))).validate(checksum: .sha256("x"))
            .serializingURL().response.error
        expectInvalid(error)
        #expect(origin.server.requestCount == 0 && directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [right, DownloadChecksum.responseField])
    func `a download that resumes automatically is checked as a whole`(checksum: DownloadChecksum) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin {
            $0.cuts = [30_000, 30_000]
            $0.fields.append(Self.field)
        }
        let session = TestHarness.session()
        let request = session.download(origin.url, to: .file(directory.url("a"), options: .automaticallyResume))
            .validate(checksum: checksum)
        _ = try await request.serializingURL().value
        expectSame(try Data(contentsOf: directory.url("a")), Self.body)
        #expect(origin.ranges == ["all", "bytes=30000-", "bytes=60000-"])
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [true, false])
    func `the bytes of an earlier process are checked, too`(isDamaged: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [30_000] }
        let session = TestHarness.session()
        let first = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        let data = try #require(first.resumeData)
        if isDamaged {
            let file = try OpenFile.writing(directory.path(".a.part"))
            var position: Int64 = 10
            try file.write(Data("damage".utf8), at: &position)
        }
        let answer = await session.download(resumingWith: data, to: .file(directory.url("a")))
            .validate(checksum: Self.right).serializingURL().response
        #expect(origin.ranges == ["all", "bytes=30000-"])
        if isDamaged {
            #expect(answer.error?.kind == .download(.checksumMismatch) && answer.resumeData == nil)
            #expect(directory.names == [])
        } else {
            expectSame(try Data(contentsOf: try answer.result.get()), Self.body)
        }
        try await TestHarness.end(session, origin.server)
    }
}
