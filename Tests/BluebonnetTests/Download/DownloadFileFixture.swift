import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The shared parts of the tests of sinks: a request, its answers, and exchanges without a network.
protocol DownloadFileFixture {}

extension DownloadFileFixture {
    static var tagged: HTTPHeaders { ["ETag": "\"a\"", "Content-Length": "10"] }

    static var body: Data { Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }) }

    /// The URL of a file would do as well: nothing is sent.
    static var request: HTTPRequest {
        HTTPRequest(url: URL(string: "https://example.com/name.bin") ?? URL(filePath: "/name.bin"))
    }

    var request: HTTPRequest { Self.request }

    static func prepare(_ destination: DownloadDestination, _ data: Data? = nil) throws -> DownloadFile {
        try DownloadFile.prepare(destination, for: request, resumeData: data)
    }

    func prepare(_ destination: DownloadDestination, _ data: Data? = nil) throws -> DownloadFile {
        try Self.prepare(destination, data)
    }

    static func response(_ status: Int, _ headers: HTTPHeaders) throws -> HTTPResponse {
        HTTPResponse(url: request.url, statusCode: status, headers: headers)
    }

    func response(_ status: Int, _ headers: HTTPHeaders) throws -> HTTPResponse {
        try Self.response(status, headers)
    }

    /// Runs an exchange up to where its body may be complete.
    func exchange(_ sink: DownloadFile, _ response: HTTPResponse, _ pieces: String...) throws {
        _ = sink.fields(for: request)
        try #require(sink.headReceived(response).isWrite)
        for piece in pieces { try sink.write(Data(piece.utf8)) }
    }

    func write(_ pieces: String..., to sink: DownloadFile) throws {
        for piece in pieces { try sink.write(Data(piece.utf8)) }
    }

    /// Downloads a part and returns the resume data.
    func half(
        _ destination: DownloadDestination, _ text: String = "0123", _ headers: HTTPHeaders = Self.tagged
    ) throws -> Data {
        let sink = try prepare(destination)
        try exchange(sink, try response(200, headers), text)
        return try #require(sink.interrupted())
    }
}

extension DownloadFile.HeadAction {
    var isWrite: Bool { if case .write = self { true } else { false } }

    var isSendAgain: Bool { if case .sendAgain = self { true } else { false } }

    var refusal: RequestError.Kind? { if case .refuse(let error) = self { error.kind } else { nil } }
}
