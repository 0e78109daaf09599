import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@testable import BluebonnetTesting

/// Bodies that are larger than their allowed memory.
///
/// Each test has its own process, so that its memory can be measured.
@Suite(.timeLimit(.minutes(10))) struct LargeUploadTests {
    private static let limitKiB = 32 << 10

    @Test(.measuresMemory) func `100 MiB of a sequence arrive completely and use little memory`() async throws {
        await #expect(processExitsWith: .success) {
            let server = try await LocalServer { router in
                router.streaming("/a") { _, body in
                    let digest = BodyDigest()
                    for try await piece in body { digest.update(piece) }
                    return .text("\(body.bytesRead) \(digest.finish())")
                }
            }
            let session = TestHarness.session()
            // The pattern is as long as a piece, so that all of them together are those of the whole.
            let piece = Pieces(1, of: 251 * 400)
            let count = 1044
            let whole = Pieces(count, of: piece.size)
            _ = try await session.upload(piece, to: server.url("/a")).serializingString().value
            let before = try ProcessResources.now().residentKiB
            let text = try await session.upload(whole, to: server.url("/a")).serializingString().value
            let peak = try residentPeak()
            #expect(text == "\(whole.length) \(digestOfPattern(count: count, size: piece.size))")
            #expect(peak < before + LargeUploadTests.limitKiB, "\(before) to \(peak) KiB")
            await session.shutdown()
        }
    }

    @Test(.measuresMemory, arguments: [true, false])
    func `a file of 1 GiB in a form uses little memory`(asksFirst: Bool) async throws {
        try await ExitTestInput.pass(asksFirst) {
            await #expect(processExitsWith: .success) {
                let asksFirst = try ExitTestInput.value(as: Bool.self)
                let length = 1 << 30
                let directory = try TestDirectory()
                try directory.write("", to: "zeros")
                try directory.resize("zeros", to: Int64(length))
                var options = LocalServer.Options()
                options.maximumBodyBytes = 2 << 30
                let server = try await LocalServer(options: options) { router in
                    router.streaming("/a") { _, body in .text("\(try await body.discard()) \(body.length ?? -1)") }
                }
                let session = TestHarness.session { if !asksFirst { $0.continueTimeout = nil } }
                func upload(_ file: String) async throws -> String {
                    try await session.upload(
                        multipartFormData: { form in
                            form.append("before", withName: "a")
                            form.append(
                                directory.url(file), withName: "b", fileName: "n", mimeType: "application/octet-stream")
                            form.append("after", withName: "c")
                        }, to: server.url("/a")
                    ).serializingString().value
                }
                try directory.write("", to: "empty")
                let words = try await upload("empty").split(separator: " ")
                let overhead = try #require(words.first.flatMap { Int($0) })
                let before = try ProcessResources.now().residentKiB
                #expect(try await upload("zeros") == "\(length + overhead) \(length + overhead)")
                let peak = try residentPeak()
                #expect(peak < before + LargeUploadTests.limitKiB, "\(before) to \(peak) KiB")
                await session.shutdown()
            }
        }
    }
}

/// The largest resident size of this process so far, in KiB.
private func residentPeak() throws -> Int {
    let status = try String(decoding: Data(contentsOf: URL(filePath: "/proc/self/status")), as: UTF8.self)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
}

/// The digest of so many pieces that each restart the pattern.
private func digestOfPattern(count: Int, size: Int) -> String {
    let piece = Pieces.bytes(size)
    let digest = BodyDigest()
    for _ in 0..<count { digest.update(piece) }
    return digest.finish()
}
