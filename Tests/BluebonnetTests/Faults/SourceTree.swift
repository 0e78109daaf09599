import Foundation
import Testing

/// Reads the sources of the package that the tests belong to.
struct SourceTree {
    /// A source file.
    struct File {
        /// The path within the package.
        let path: String
        let text: String

        /// The lines without their comments, each with its number.
        var code: [(number: Int, text: String)] {
            text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { index, line in
                (index + 1, line.firstRange(of: "//").map { String(line[..<$0.lowerBound]) } ?? String(line))
            }
        }

        /// Whether a comment that begins with `Safety:` is on the line, or right before the declaration that it is in.
        func isJustified(_ number: Int) -> Bool {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            var index = number - 1
            while index >= 0 {
                let line = lines[index]
                if line.contains("Safety:") { return true }
                let trimmed = line.drop { $0 == " " }
                guard index == number - 1 || trimmed.hasPrefix("//") || trimmed.hasPrefix("@") else { return false }
                index -= 1
            }
            return false
        }
    }

    let root: URL

    init(testFile: String = #filePath) throws {
        var folder = URL(fileURLWithPath: testFile).deletingLastPathComponent()
        while !FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path) {
            let parent = folder.deletingLastPathComponent()
            try #require(parent.path != folder.path, "there is no Package.swift above \(testFile)")
            folder = parent
        }
        root = folder
    }

    /// The Swift files in a folder of the package, all the way down.
    func files(in folder: String) throws -> [File] {
        let start = root.appendingPathComponent(folder)
        let names = try #require(FileManager.default.enumerator(atPath: start.path)).compactMap { $0 as? String }
        return try names.filter { $0.hasSuffix(".swift") }.sorted()
            .map { name in
                let text = try String(contentsOf: start.appendingPathComponent(name), encoding: .utf8)
                return File(path: "\(folder)/\(name)", text: text)
            }
    }
}
