import Foundation
import Testing

/// Constructs that the sources must not contain, even if they compile.
struct SourceRulesTests {
    /// The files that may contain unchecked code with a safety comment.
    private static let unsafeFiles: Set<String> = [
        "Sources/Bluebonnet/HTTP/DescriptorPieces.swift",
        "Sources/Bluebonnet/Interception/Compression/Deflater.swift",
        "Sources/Bluebonnet/Serialization/Streams/LineFramer.swift",
        "Sources/Bluebonnet/Serialization/SystemCharset.swift",
        "Sources/Bluebonnet/Tasks/SerializingTask.swift",
        "Sources/BluebonnetCallbacks/HandlerSlot.swift",
        "Sources/BluebonnetCompatibility/QueueExecutor.swift",
        "Sources/BluebonnetFoundation/Encoding/ParameterValue.swift",
        "Sources/BluebonnetFoundation/ObjectSerializers.swift",
        "Sources/BluebonnetFoundation/Streams/BodyInputStream.swift",
        "Sources/BluebonnetFoundation/Streams/ConditionLock.swift",
        "Sources/BluebonnetFoundation/Streams/RequestBody+InputStream.swift",
        "Sources/BluebonnetReachability/NameResolver.swift",
        "Sources/BluebonnetReachability/Netlink.swift",
        "Sources/BluebonnetTesting/Server/ServerCore.swift",
        "Sources/BluebonnetTesting/Wire/Socket.swift",
    ]

    /// The folders that talk to the system, to libcurl, to the decoders that it uses, and to OpenSSL.
    private static let unsafeFolders = [
        "Sources/Bluebonnet/HTTP/ContentCoding/", "Sources/Bluebonnet/System/", "Sources/Bluebonnet/Transport/Curl/",
        "Sources/Bluebonnet/Trust/OpenSSL/",
    ]

    private static func mayBeUnsafe(_ path: String) -> Bool {
        unsafeFiles.contains(path) || unsafeFolders.contains { path.hasPrefix($0) }
    }

    private let tree: SourceTree

    init() throws {
        tree = try SourceTree()
    }

    // At a declaration of our own, `@preconcurrency` lets callers in Swift 5 mode do as they did; that is no step aside.
    private static let uncheckedWords = [
        "@unchecked", "nonisolated(unsafe)", "@preconcurrency import", "assumeIsolated",
    ]

    @Test(arguments: uncheckedWords)
    func `unchecked code is only in permitted files and is justified`(_ word: String) throws {
        for file in try tree.files(in: "Sources") {
            for line in file.code where line.text.contains(word) {
                let place = "\(file.path):\(line.number)"
                // Alamofire's classes can have subclasses, which the compiler does not check.
                let isOpenClass = word == "@unchecked" && file.path.hasPrefix("Sources/BluebonnetCompatibility/")
                #expect(isOpenClass || Self.mayBeUnsafe(file.path), "\(place): \(word) may not be used here")
                guard word == "@unchecked" || word == "nonisolated(unsafe)" else { continue }
                #expect(file.isJustified(line.number), "\(place): a line with `Safety:` says why this is safe")
            }
        }
    }

    @Test func `unsafe code is only in permitted files and has a safety comment`() throws {
        let word = try Regex(#"(^|[^\w.])unsafe\s|@unsafe|@safe\b|unsafeBitCast|Unmanaged|OpaquePointer"#)
        for file in try tree.files(in: "Sources") {
            guard let line = file.code.first(where: { $0.text.firstMatch(of: word) != nil }) else { continue }
            #expect(Self.mayBeUnsafe(file.path), "\(file.path):\(line.number): unsafe code may not be here")
            #expect(file.text.contains("Safety:"), "\(file.path): a line with `Safety:` says why this is safe")
        }
    }

    @Test func `the core imports FoundationEssentials and never Foundation`() throws {
        let allowed: Set<String> = [
            "FoundationEssentials", "Synchronization", "BluebonnetLibc", "BluebonnetOtherNames", "CCurl", "COpenSSL",
            "CZlib", "CSystem",
        ]
        for folder in ["Sources/Bluebonnet", "Sources/BluebonnetReachability", "Sources/BluebonnetTesting"] {
            let modules = folder.hasSuffix("/Bluebonnet") ? allowed : allowed.union(["Bluebonnet"])
            for file in try tree.files(in: folder) {
                for line in file.code {
                    guard let module = Self.importedModule(line.text) else { continue }
                    #expect(modules.contains(module), "\(file.path):\(line.number): imports \(module)")
                }
            }
        }
    }

    @Test func `C modules are not part of any interface`() throws {
        for file in try tree.files(in: "Sources") {
            for line in file.code {
                guard let module = Self.importedModule(line.text), module == "BluebonnetLibc" || module.hasPrefix("C")
                else {
                    continue
                }
                let isOpen = ["public ", "package ", "@_exported"].contains { line.text.contains($0) }
                #expect(!isOpen, "\(file.path):\(line.number): \(module) is imported for others to see")
            }
        }
    }

    @Test func `only the lowest folders and the transport use libcurl, OpenSSL and the reactor`() throws {
        let words = ["import CCurl", "import COpenSSL", "Libcurl.", "Reactor", "curl_", "OpenSSLBuffer"]
        let permitted = [
            "System/Digest.swift", "System/EventLoop/", "System/InternationalNames.swift",
            "System/Libcurl.swift", "Transport/", "Trust/OpenSSL/",
        ]
        for file in try tree.files(in: "Sources/Bluebonnet") {
            let path = file.path.dropFirst("Sources/Bluebonnet/".count)
            for line in file.code where !permitted.contains(where: path.hasPrefix) {
                #expect(!words.contains { line.text.contains($0) }, "\(file.path):\(line.number)")
            }
        }
    }

    @Test func `a workaround names the affected versions, and a test shows the effect without it`() throws {
        let tests = try tree.files(in: "Tests/BluebonnetTests").map(\.text).joined()
        for file in try tree.files(in: "Sources/Bluebonnet/Transport/Curl/Workarounds") {
            #expect(file.text.contains(/7\.8\d|8\.\d+|1\.1\.0/), "\(file.path) names no version")
            let name = file.path.split(separator: "/").last?.split(separator: ".").first ?? ""
            #expect(tests.contains("ithout ``\(name)``"), "\(file.path)")
        }
    }

    @Test func `no decision depends on the text of an error, except where libcurl offers nothing else`() throws {
        let reading = /(detail|message|errorMessage)\??\.(contains|hasPrefix|hasSuffix|firstRange|starts)\(/
        for file in try tree.files(in: "Sources/Bluebonnet")
        where !file.path.hasSuffix("/Workarounds/CurlErrorText.swift") {
            for line in file.code { #expect(!line.text.contains(reading), "\(file.path):\(line.number)") }
        }
    }

    private static func importedModule(_ line: String) -> String? {
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
            words[..<index].allSatisfy({
                ["public", "package", "internal", "private", "fileprivate"].contains($0) || $0.hasPrefix("@")
            })
        else { return nil }
        let kinds = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        let name =
            kinds.contains(String(words[index + 1])) && index + 2 < words.count ? words[index + 2] : words[index + 1]
        return String(name.prefix { $0 != "." })
    }

    @Test(arguments: [#"try!"#, #" as! "#, #"fatalError("#, #"DispatchQueue"#, #"Thread.sleep"#, #"Task.sleep"#])
    func `nothing in the library traps, blocks or sleeps`(_ word: String) throws {
        for file in try ["Sources/Bluebonnet", "Sources/BluebonnetReachability"].flatMap(tree.files) {
            for line in file.code {
                #expect(!line.text.contains(word), "\(file.path):\(line.number): \(word)")
            }
        }
    }
}
