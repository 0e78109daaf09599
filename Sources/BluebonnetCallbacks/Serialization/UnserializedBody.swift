import Bluebonnet
import Foundation

/// Hands the body on as it is, or that there is none.
struct UnserializedBody: SynchronousResponseSerializer {
    func serialize(_ input: SerializerInput) -> Data? { input.data.isEmpty ? nil : input.data }
}
