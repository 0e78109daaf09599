public import FoundationEssentials

/// Holds what a request sends after its head.
public struct RequestBody: Sendable {
    private enum Storage {
        case data(Data)
    }

    private let storage: Storage

    /// Returns a body of bytes in memory.
    ///
    /// - Parameter data: The bytes.
    /// - Returns: The body; it can be sent any number of times.
    public static func data(_ data: Data) -> RequestBody {
        RequestBody(storage: .data(data))
    }

    /// The bytes, if they are in memory.
    public var data: Data? {
        switch storage {
        case .data(let data): data
        }
    }

    /// How many bytes will be sent, if that is known.
    package var length: Int64? {
        switch storage {
        case .data(let data): Int64(data.count)
        }
    }

    /// Whether the body can be sent a second time.
    package var isReplayable: Bool {
        switch storage {
        case .data: true
        }
    }
}
