import Foundation
import Testing

/// Checks that the code of the article about the older versions of Alamofire compiles.
struct OlderArticleTests {
    private static func text(_ path: String, testFile: String = #filePath) throws -> String {
        let package = URL(fileURLWithPath: testFile).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: package.appendingPathComponent(path), encoding: .utf8)
    }

    /// Code is compared without its spaces and line breaks.
    private static func squeezed(_ code: some StringProtocol) -> String { String(code.filter { !$0.isWhitespace }) }

    @Test func `every right-hand side is in a compiled file`() throws {
        let compiled = Self.squeezed(try Self.text("Tests/BluebonnetCallbacksTests/Seeds/OlderRows.swift"))
        let article = try Self.text("DocC/Bluebonnet.docc/Articles/OlderAlamofire.md")
        let rows = article.split(separator: "\n").filter { $0.hasPrefix("| ") }
            .map { $0.components(separatedBy: " | ") }
        var count = 0
        for row in rows where row != ["| Then", "Now |"] {
            try #require(row.count == 2, "\(row)")
            let side = row[1].hasPrefix("the same") ? row[0] : row[1]
            let code = side.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
            #expect(!code.isEmpty || side.hasPrefix("not "), "\(side)")
            for fragment in code {
                let isCompiled = compiled.contains(Self.squeezed(fragment))
                #expect(isCompiled, "\(fragment) is not compiled")
                count += 1
            }
        }
        #expect(count > 60)
    }
}
