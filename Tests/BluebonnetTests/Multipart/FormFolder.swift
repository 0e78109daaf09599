import Foundation

/// Creates a folder for the files of a test, and removes the folder and its contents at the end.
final class FormFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-form-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// Creates a file.
    func file(_ name: String, _ contents: some DataProtocol) throws -> URL {
        let file = url.appending(path: name)
        try Data(contents).write(to: file)
        return file
    }

    /// Creates a large sparse file.
    func sparseFile(_ name: String, size: UInt64) throws -> URL {
        let file = try file(name, Data())
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: size)
        try handle.close()
        return file
    }

    /// The names of the files in the folder.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
    }

    /// How many descriptors of this process are open on files of the folder.
    var openDescriptors: Int {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                return target?.hasPrefix(url.path) == true
            }
        }
    }
}
