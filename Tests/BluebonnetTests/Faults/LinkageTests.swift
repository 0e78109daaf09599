import Foundation
import Testing

/// The libraries that a program with Bluebonnet loads.
struct LinkageTests {
    /// A program of this package that links the library and nothing else of Swift's that is large.
    private static let program = "BenchBluebonnet"

    @Test func `a program that links Bluebonnet loads neither Foundation, FoundationNetworking nor ICU`() async throws {
        let folder = try productFolder()
        let program = folder.appendingPathComponent(Self.program)
        try #require(
            FileManager.default.isExecutableFile(atPath: program.path),
            "\(program.path) is not there: build it with `swift build --product \(Self.program)`")
        let output = try await Shell.run("ldd \"$1\" && echo complete", arguments: [program.path])
        let text = String(decoding: output, as: UTF8.self)
        let libraries = text.split(separator: "\n")
            .compactMap { line in line.split(whereSeparator: \.isWhitespace).first.map(String.init) }
        #expect(libraries.last == "complete", "\(text)")
        #expect(!text.contains("not found"), "\(text)")
        #expect(libraries.contains("libcurl.so.4"), "\(text)")
        #expect(libraries.contains("libFoundationEssentials.so"), "\(text)")
        let unwanted = [
            "libFoundation.so", "libFoundationNetworking.so", "lib_FoundationICU.so",
            "libFoundationInternationalization.so",
        ]
        for library in unwanted { #expect(!libraries.contains(library), "\(text)") }
        #expect(!libraries.contains { $0.hasPrefix("libicu") || $0.hasPrefix("libFoundationXML") }, "\(text)")
    }

    /// The folder of this test bundle, which is that of the programs.
    private func productFolder() throws -> URL {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let candidates = [bundle] + CommandLine.arguments.filter { $0.hasSuffix(".xctest") }
        let path = try #require(candidates.first { $0.hasSuffix(".xctest") }, "no test bundle in \(candidates)")
        return URL(fileURLWithPath: path).deletingLastPathComponent()
    }
}
