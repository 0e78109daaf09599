import Foundation

/// Takes apart what Foundation makes of JSON and property lists, into values that may be shared.
enum FoundationObject {
    static func sendable(_ object: Any) -> any Sendable {
        switch object {
        case let dictionary as [String: Any]: dictionary.mapValues(sendable)
        case let array as [Any]: array.map(sendable)
        case let text as String: text
        case let date as Date: date
        case let data as Data: data
        case let number as NSNumber: number
        default: NSNull()
        }
    }
}
