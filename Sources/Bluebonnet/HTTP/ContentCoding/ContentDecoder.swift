/// Decodes the body of a response in small steps.
///
/// An instance belongs to the engine. Each step produces at most 16 KiB, even if its input contains much more. The
/// owner keeps the remaining input in coded form. The memory use consists of 16 KiB for each coding, and the windows of
/// the decoders. A window takes 32 KiB with gzip and deflate, at most 8 MiB with zstd, and at most 16 MiB with brotli.
// Safety: this object owns the buffers from their creation until `deinit`; other memory is used only within the call.
@safe
final class ContentDecoder {
    /// The result of a step.
    enum Step {
        /// The given number of bytes was decoded; ``ContentDecoder/output(_:)`` returns these bytes until the next
        /// step.
        case output(Int)
        /// All input so far has been decoded.
        case needsInput
        /// The allowance is used up.
        case yieldsTurn
        case failed(String)
    }

    /// The maximum number of bytes that a step produces, which is also the number of bytes that libcurl delivers at a
    /// time.
    static let stepSize = 16 * 1024

    /// One coding with its output.
    @safe
    private struct Stage {
        let decoder: any StepDecoder
        let output: UnsafeMutableRawBufferPointer
        /// The bytes of the output that the next stage has not yet consumed.
        var ready = 0..<0
        /// Whether the stage may produce more output without more input.
        var isFull = false
        /// Whether the input of the stage may end here.
        var isAtEnd = false
    }

    private let codings: [ContentCoding]
    /// The stages in order; the first stage receives the input.
    private var stages: [Stage] = []
    private var hasBegun = false

    init(_ codings: [ContentCoding]) {
        self.codings = codings
    }

    /// Creates the decoder for a response's body; `nil` if no coding of the body is removed.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - rule: Which codings are removed.
    convenience init?(of head: ReceivedHead, removing rule: RemovedCodings) {
        guard let value = head.value(for: "Content-Encoding"), rule.removes(value),
            case let codings = ContentCoding.removable(value), !codings.isEmpty
        else { return nil }
        self.init(codings)
    }

    deinit {
        for stage in stages { unsafe stage.output.deallocate() }
    }

    /// Whether the content is complete, so that the coded bytes may end at this point.
    var isComplete: Bool { !hasBegun || stages.allSatisfy { $0.isAtEnd && $0.ready.isEmpty } }

    /// Decodes the next bytes, and advances the input by the bytes that were consumed.
    ///
    /// - Parameters:
    ///   - input: The bytes to decode.
    ///   - allowance: The number of bytes that may enter and leave the decoders. A step may slightly exceed it.
    /// - Returns: The result of the step.
    func step(_ input: inout UnsafeRawBufferPointer, allowance: inout Int) -> Step {
        if !hasBegun, let flaw = begin() { return .failed(flaw) }
        while let index = runnableStage(hasInput: input.count > 0) {
            guard allowance > 0 else { return .yieldsTurn }
            let before = unsafe index == 0 ? input : unsafe waiting(behind: index - 1)
            switch unsafe stages[index].decoder.step(before, stages[index].output) {
            case .failed(let message):
                return .failed(message)
            case .made(let taken, let put, let isAtEnd):
                guard taken > 0 || put > 0 || before.count == 0 else { return .failed("it does not go on") }
                allowance -= taken + put
                if index == 0 {
                    unsafe input = UnsafeRawBufferPointer(rebasing: input[taken...])
                } else {
                    stages[index - 1].ready = stages[index - 1].ready.dropFirst(taken)
                }
                stages[index].isAtEnd = isAtEnd
                stages[index].isFull = unsafe put == stages[index].output.count && !isAtEnd
                guard index < stages.count - 1 else {
                    if put > 0 { return .output(put) }
                    continue
                }
                stages[index].ready = 0..<put
            }
        }
        return .needsInput
    }

    /// Returns the decoded bytes of the last step.
    func output(_ count: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: stages[stages.count - 1].output[..<count])
    }

    /// Creates the decoders; returns a description of the problem if this fails.
    private func begin() -> String? {
        hasBegun = true
        guard codings.count <= ContentCoding.limit else { return "there are more than \(ContentCoding.limit) codings" }
        for coding in codings.reversed() {
            if case .unavailable(let library) = coding { return "the library \(library) is not installed" }
            guard let decoder = coding.makeDecoder() else { return "there is no memory for a decoder" }
            stages.append(
                unsafe Stage(decoder: decoder, output: .allocate(byteCount: Self.stepSize, alignment: 64)))
        }
        return nil
    }

    /// The last stage that has input to decode.
    ///
    /// This choice ensures that a stage does not continue before its output is consumed.
    private func runnableStage(hasInput: Bool) -> Int? {
        stages.indices.last { index in
            stages[index].isFull || (index == 0 ? hasInput : !stages[index - 1].ready.isEmpty)
        }
    }

    private func waiting(behind index: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: stages[index].output[stages[index].ready])
    }
}

/// Which content codings of a body are removed.
enum RemovedCodings: Equatable {
    case none
    case all
    /// All, but none if the given `Accept-Encoding` field does not permit all of them.
    case accepted(String?)

    /// Whether codings of a `Content-Encoding` field are removed.
    func removes(_ value: String) -> Bool {
        switch self {
        case .none: false
        case .all: true
        case .accepted(let field): ContentCoding.accepts(field, value)
        }
    }
}

/// A content coding, which compresses a body (RFC 9110 §8.4.1).
enum ContentCoding: Equatable {
    case gzip
    case deflate
    case brotli
    case zstd
    /// A coding whose library is not installed.
    case unavailable(String)

    /// The maximum number of codings that are decoded one after another; libcurl has the same limit.
    static let limit = 5

    /// The coding with a name in lower case; `nil` if the name is not known.
    private init?(_ name: String) {
        switch name {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        case "br": self = BrotliDecoder.isAvailable ? .brotli : .unavailable("brotli")
        case "zstd": self = ZstdDecoder.isAvailable ? .zstd : .unavailable("zstd")
        default: return nil
        }
    }

    /// Returns the names in a `Content-Encoding` field in lower case, in the order in which the codings were applied.
    static func names(_ value: String) -> [String] {
        value.split(separator: ",").map { $0.trimmed.lowercased() }.filter { !["", "identity", "none"].contains($0) }
    }

    /// Returns the codings in a `Content-Encoding` field that are removed, in the order in which they were applied.
    ///
    /// An unknown coding and those that were applied before it are not removed (Fetch, "handle content codings"), since
    /// the field often names something else, such as `UTF-8` or `aws-chunked`.
    static func removable(_ value: String) -> [ContentCoding] {
        let codings = names(value).map { ContentCoding($0) }
        return codings[((codings.lastIndex { $0 == nil } ?? -1) + 1)...].compactMap(\.self)
    }

    /// Returns the names of the codings in a `Content-Encoding` field that are not removed.
    static func kept(_ value: String) -> [String] {
        let names = names(value)
        return Array(names.prefix((names.lastIndex { ContentCoding($0) == nil } ?? -1) + 1))
    }

    /// Whether an `Accept-Encoding` field permits all codings of a `Content-Encoding` field.
    static func accepts(_ field: String?, _ value: String) -> Bool {
        let items = (field ?? "").split(separator: ",").map { item -> (name: String, isAccepted: Bool) in
            let parts = item.split(separator: ";").map { $0.trimmed.lowercased() }
            let isRefused = parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
            return (parts.first ?? "", !isRefused)
        }
        return names(value).allSatisfy { name in
            let item = items.first {
                $0.name == name || ContentCoding($0.name).map { $0 == ContentCoding(name) } == true
            }
            return (item ?? items.first { $0.name == "*" })?.isAccepted ?? false
        }
    }

    /// The codings that can be decoded, as a value for `Accept-Encoding` (RFC 9110 §12.5.3).
    static let acceptable: String = {
        var names = ["gzip", "deflate"]
        if BrotliDecoder.isAvailable { names.insert("br", at: 0) }
        if ZstdDecoder.isAvailable { names.append("zstd") }
        return names.enumerated().map { "\($1);q=\($0 == 0 ? "1.0" : "0.\(10 - $0)")" }.joined(separator: ", ")
    }()
}

extension ContentCoding {
    /// Whether a line of a head is the field that lists codings.
    static func isNamed(in line: Span<UInt8>) -> Bool { FieldSyntax.isField(line, named: "content-encoding") }
}
